import type { HashWords } from '@router/kv-index'

/** Up to so many hashes every pair is compared. */
const FEW = 6
const KEPT_SLOTS = 1 << 16

/** Finds a hash that stands twice in a list. `O(n)` but for crafted hashes; allocates only for a longer list than before. */
export class RepeatedHashes {
  /** Index of a hash plus one. */
  #slots = new Uint32Array(256)
  /** Search that wrote the slot. */
  #stamps = new Uint32Array(256)
  #stamp = 0

  /** Whether one of `count` hashes from `start` on stands there twice. */
  has(words: HashWords, start: number, count: number): boolean {
    return count <= FEW ? hasAmongFew(words, start, count) : this.#hasAmongMany(words, start, count)
  }

  #hasAmongMany(words: HashWords, start: number, count: number): boolean {
    this.#prepare(count)
    const [slots, stamps, stamp] = [this.#slots, this.#stamps, this.#stamp]
    const mask = slots.length - 1
    let stepsLeft = 16 * count
    for (let index = start; index < start + count; index++) {
      const low = words[2 * index]!
      const high = words[2 * index + 1]!
      const mixed = Math.imul(low ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
      let slot = (mixed ^ (mixed >>> 15)) & mask
      while (stamps[slot] === stamp) {
        const other = slots[slot]!
        if (words[2 * other] === low && words[2 * other + 1] === high) return true
        if (--stepsLeft === 0) return hasAmongSorted(words, start, count)
        slot = (slot + 1) & mask
      }
      stamps[slot] = stamp
      slots[slot] = index
    }
    return false
  }

  #prepare(count: number): void {
    let slots = this.#slots.length > KEPT_SLOTS ? KEPT_SLOTS : this.#slots.length
    while (slots < 2 * count) slots *= 2
    if (slots !== this.#slots.length) {
      this.#slots = new Uint32Array(slots)
      this.#stamps = new Uint32Array(slots)
      this.#stamp = 0
    }
    if (this.#stamp === 0xffff_ffff) {
      this.#stamps.fill(0)
      this.#stamp = 0
    }
    this.#stamp++
  }
}

/** For hashes that crowd into few slots, by chance or by intent: `O(n log n)` whatever they are. */
function hasAmongSorted(words: HashWords, start: number, count: number): boolean {
  const sorted = new BigUint64Array(words.slice(2 * start, 2 * (start + count)).buffer).sort()
  return sorted.some((hash, index) => index > 0 && sorted[index - 1] === hash)
}

function hasAmongFew(words: HashWords, start: number, count: number): boolean {
  for (let one = start; one < start + count; one++) {
    for (let other = one + 1; other < start + count; other++) {
      if (words[2 * one] === words[2 * other] && words[2 * one + 1] === words[2 * other + 1]) return true
    }
  }
  return false
}
