import type { HashWords } from '@router/kv-index'

const FIRST_SLOTS = 256
const MOST_STAMPS = 0xffff_ffff

/** Finds hashes that stand twice among the runs of one group. Emptying it costs nothing; it keeps the size of the largest group. */
export class RepeatFinder {
  #words = new Uint32Array(2 * FIRST_SLOTS)
  /** Group that filled the slot. */
  #stamps = new Uint32Array(FIRST_SLOTS)
  #group = 1
  #size = 0

  /** Starts a new, empty group. */
  begin(): void {
    this.#size = 0
    if (this.#stamps.length > 65_536) {
      this.#words = new Uint32Array(2 * FIRST_SLOTS)
      this.#stamps = new Uint32Array(FIRST_SLOTS)
    }
    if (this.#group === MOST_STAMPS) this.#stamps.fill(0)
    this.#group = this.#group === MOST_STAMPS ? 1 : this.#group + 1
  }

  /** Adds a hash; false = the group has it already. */
  add(low: number, high: number): boolean {
    if ((this.#size + 1) * 2 > this.#stamps.length) this.#grow()
    const slot = this.#slotOf(low, high)
    if (this.#stamps[slot] === this.#group) return false
    this.#words[2 * slot] = low
    this.#words[2 * slot + 1] = high
    this.#stamps[slot] = this.#group
    this.#size++
    return true
  }

  /** Adds a range of hashes; false = at least one was there already. */
  addAll(hashes: HashWords, start: number, count: number): boolean {
    let areNew = true
    for (let index = start; index < start + count; index++)
      areNew = this.add(hashes[2 * index]!, hashes[2 * index + 1]!) && areNew
    return areNew
  }

  #slotOf(low: number, high: number): number {
    const mask = this.#stamps.length - 1
    const mixed = Math.imul(low ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
    let slot = (mixed ^ (mixed >>> 15)) & mask
    while (
      this.#stamps[slot] === this.#group &&
      (this.#words[2 * slot] !== low || this.#words[2 * slot + 1] !== high)
    )
      slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const [words, stamps] = [this.#words, this.#stamps]
    this.#words = new Uint32Array(words.length * 2)
    this.#stamps = new Uint32Array(stamps.length * 2)
    for (let index = 0; index < stamps.length; index++) {
      if (stamps[index] !== this.#group) continue
      const slot = this.#slotOf(words[2 * index]!, words[2 * index + 1]!)
      this.#words[2 * slot] = words[2 * index]!
      this.#words[2 * slot + 1] = words[2 * index + 1]!
      this.#stamps[slot] = this.#group
    }
  }
}
