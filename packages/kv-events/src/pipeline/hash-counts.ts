const FIRST_SLOTS = 16

/**
 * A small count by 64-bit hash; a hash without a count has 0. Open addressing in typed arrays, 12 bytes a slot, at most half full;
 * grows and shrinks with what it holds. Every operation is `O(1)` on average and allocates nothing unless the table changes size.
 */
export class HashCounts {
  #size = 0
  #words = new Uint32Array(2 * FIRST_SLOTS)
  /** 0 = the slot is empty. */
  #counts = new Uint32Array(FIRST_SLOTS)

  /** Hashes with a count. */
  get size(): number {
    return this.#size
  }

  get(low: number, high: number): number {
    return this.#size === 0 ? 0 : this.#counts[this.#slotOf(low, high)]!
  }

  /** 0 deletes. */
  set(low: number, high: number, count: number): void {
    if (count === 0) {
      this.#delete(low, high)
      return
    }
    if ((this.#size + 1) * 2 > this.#counts.length) this.#resize(this.#counts.length * 2)
    const slot = this.#slotOf(low, high)
    if (this.#counts[slot] === 0) {
      this.#words[2 * slot] = low
      this.#words[2 * slot + 1] = high
      this.#size++
    }
    this.#counts[slot] = count
  }

  #delete(low: number, high: number): void {
    if (this.#size === 0) return
    const slot = this.#slotOf(low, high)
    if (this.#counts[slot] === 0) return
    this.#close(slot)
    this.#size--
    if (this.#counts.length > FIRST_SLOTS && this.#size * 8 < this.#counts.length)
      this.#resize(this.#counts.length / 2)
  }

  /** The slot of the hash, or the empty one where it would stand. */
  #slotOf(low: number, high: number): number {
    const mask = this.#counts.length - 1
    let slot = homeOf(low, high) & mask
    while (this.#counts[slot] !== 0 && (this.#words[2 * slot] !== low || this.#words[2 * slot + 1] !== high))
      slot = (slot + 1) & mask
    return slot
  }

  /** Empties a slot and moves the entries behind it forward, so that no search stops too early. */
  #close(slot: number): void {
    const mask = this.#counts.length - 1
    let hole = slot
    for (let next = (hole + 1) & mask; this.#counts[next] !== 0; next = (next + 1) & mask) {
      const home = homeOf(this.#words[2 * next]!, this.#words[2 * next + 1]!) & mask
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      this.#words[2 * hole] = this.#words[2 * next]!
      this.#words[2 * hole + 1] = this.#words[2 * next + 1]!
      this.#counts[hole] = this.#counts[next]!
      hole = next
    }
    this.#counts[hole] = 0
  }

  #resize(slots: number): void {
    const [words, counts] = [this.#words, this.#counts]
    this.#words = new Uint32Array(2 * slots)
    this.#counts = new Uint32Array(slots)
    for (let index = 0; index < counts.length; index++) {
      if (counts[index] === 0) continue
      const slot = this.#slotOf(words[2 * index]!, words[2 * index + 1]!)
      this.#words[2 * slot] = words[2 * index]!
      this.#words[2 * slot + 1] = words[2 * index + 1]!
      this.#counts[slot] = counts[index]!
    }
  }
}

function homeOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
