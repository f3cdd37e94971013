const minimumSlots = 64
const slotFields = 3

/** Most ranks that a set remembers; one more forgets them all. */
export const maximumRanks = 65_536

/**
 * Ranks by the halves of their worker id, in open addressing. `has` allocates nothing. At most 65,536 ranks, at most half of
 * the slots taken.
 */
export class RankSet {
  #slots = minimumSlots
  /** Per slot: upper half, lower half, rank. */
  #keys = new Uint32Array(minimumSlots * slotFields)
  #isTaken = new Uint8Array(minimumSlots)
  #size = 0

  /** Ranks in the set. */
  get size(): number {
    return this.#size
  }

  has(workerIdHigh: number, workerIdLow: number, dpRank: number): boolean {
    return this.#isTaken[this.#slotOf(workerIdHigh, workerIdLow, dpRank)] === 1
  }

  add(workerIdHigh: number, workerIdLow: number, dpRank: number): void {
    if (this.#size >= maximumRanks) this.clear()
    if (this.#size * 2 >= this.#slots) this.#grow()
    const slot = this.#slotOf(workerIdHigh, workerIdLow, dpRank)
    if (this.#isTaken[slot] === 0) this.#size++
    this.#isTaken[slot] = 1
    this.#keys[slot * slotFields] = workerIdHigh
    this.#keys[slot * slotFields + 1] = workerIdLow
    this.#keys[slot * slotFields + 2] = dpRank
  }

  clear(): void {
    this.#isTaken.fill(0)
    this.#size = 0
  }

  /** The slot of a rank, or the free one where it would go. */
  #slotOf(workerIdHigh: number, workerIdLow: number, dpRank: number): number {
    const keys = this.#keys
    const isTaken = this.#isTaken
    const last = this.#slots - 1
    let mixed = Math.imul(workerIdLow ^ Math.imul(workerIdHigh, 0x9e37_79b1), 0x85eb_ca6b) + dpRank
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35)
    let slot = (mixed ^ (mixed >>> 16)) & last
    while (isTaken[slot] === 1) {
      const key = slot * slotFields
      if (keys[key + 1] === workerIdLow && keys[key] === workerIdHigh && keys[key + 2] === dpRank) break
      slot = (slot + 1) & last
    }
    return slot
  }

  #grow(): void {
    const oldKeys = this.#keys
    const wasTaken = this.#isTaken
    this.#slots *= 2
    this.#keys = new Uint32Array(this.#slots * slotFields)
    this.#isTaken = new Uint8Array(this.#slots)
    this.#size = 0
    for (let slot = 0; slot < wasTaken.length; slot++) {
      const key = slot * slotFields
      if (wasTaken[slot] === 1) this.add(oldKeys[key]!, oldKeys[key + 1]!, oldKeys[key + 2]!)
    }
  }
}
