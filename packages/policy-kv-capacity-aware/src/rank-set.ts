const minimumSlots = 64

/** Most ranks that a set remembers; one more forgets them all. */
export const maximumRanks = 65_536

/**
 * Ranks by the halves of their worker id, in open addressing. `has` allocates nothing. At most 65,536 ranks, at most half of
 * the slots taken.
 */
export class RankSet {
  #slots = minimumSlots
  #high = new Uint32Array(minimumSlots)
  #low = new Uint32Array(minimumSlots)
  #dpRank = new Uint32Array(minimumSlots)
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
    this.#high[slot] = workerIdHigh
    this.#low[slot] = workerIdLow
    this.#dpRank[slot] = dpRank
  }

  clear(): void {
    this.#isTaken.fill(0)
    this.#size = 0
  }

  /** The slot of a rank, or the free one where it would go. */
  #slotOf(workerIdHigh: number, workerIdLow: number, dpRank: number): number {
    const mixed = Math.imul(
      workerIdLow ^ Math.imul(workerIdHigh, 0x9e37_79b1) ^ Math.imul(dpRank, 0x85eb_ca6b),
      0xc2b2_ae35,
    )
    const last = this.#slots - 1
    let slot = (mixed ^ (mixed >>> 16)) & last
    while (this.#isTaken[slot] === 1) {
      const isSame =
        this.#low[slot] === workerIdLow && this.#high[slot] === workerIdHigh && this.#dpRank[slot] === dpRank
      if (isSame) break
      slot = (slot + 1) & last
    }
    return slot
  }

  #grow(): void {
    const old = {
      slots: this.#slots,
      high: this.#high,
      low: this.#low,
      dpRank: this.#dpRank,
      isTaken: this.#isTaken,
    }
    this.#slots = old.slots * 2
    this.#high = new Uint32Array(this.#slots)
    this.#low = new Uint32Array(this.#slots)
    this.#dpRank = new Uint32Array(this.#slots)
    this.#isTaken = new Uint8Array(this.#slots)
    this.#size = 0
    for (let slot = 0; slot < old.slots; slot++) {
      if (old.isTaken[slot] === 1) this.add(old.high[slot]!, old.low[slot]!, old.dpRank[slot]!)
    }
  }
}
