const minimumPositions = 32
const slotsPerPosition = 2

/** Most ranks that a set remembers; one more forgets them all. */
export const maximumRanks = 65_536

/**
 * Ranks by the halves of their worker id, in order of addition: who asks in that order again need not search, as the next position
 * answers. Anybody else finds a position by open addressing. Asking allocates nothing. At most 65,536 ranks.
 */
export class RankSet {
  /** Upper halves of the worker ids by position; entries at and past `size` are left-overs. */
  workerIdHigh = new Uint32Array(minimumPositions)
  /** Lower halves. */
  workerIdLow = new Uint32Array(minimumPositions)
  dpRank = new Uint32Array(minimumPositions)
  /** Ranks in the set. */
  size = 0
  /** Position + 1 of the rank in a slot; 0 = free. At most half are taken. */
  #slots = new Int32Array(minimumPositions * slotsPerPosition)

  /** Position of a rank; -1 = not in the set. */
  positionOf(workerIdHigh: number, workerIdLow: number, dpRank: number): number {
    return this.#slots[this.#slotOf(workerIdHigh, workerIdLow, dpRank)]! - 1
  }

  /** Adds a rank that is not in the set. */
  add(workerIdHigh: number, workerIdLow: number, dpRank: number): void {
    if (this.size >= maximumRanks) this.clear()
    if (this.size >= this.dpRank.length) this.#grow()
    const position = this.size++
    this.workerIdHigh[position] = workerIdHigh
    this.workerIdLow[position] = workerIdLow
    this.dpRank[position] = dpRank
    this.#slots[this.#slotOf(workerIdHigh, workerIdLow, dpRank)] = position + 1
  }

  clear(): void {
    this.#slots.fill(0)
    this.size = 0
  }

  /** The slot of a rank, or the free one where it would go. */
  #slotOf(workerIdHigh: number, workerIdLow: number, dpRank: number): number {
    const slots = this.#slots
    const last = slots.length - 1
    let mixed = Math.imul(workerIdLow ^ Math.imul(workerIdHigh, 0x9e37_79b1), 0x85eb_ca6b) + dpRank
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35)
    let slot = (mixed ^ (mixed >>> 16)) & last
    for (; slots[slot] !== 0; slot = (slot + 1) & last) {
      const position = slots[slot]! - 1
      if (this.workerIdLow[position] !== workerIdLow || this.dpRank[position] !== dpRank) continue
      if (this.workerIdHigh[position] === workerIdHigh) break
    }
    return slot
  }

  #grow(): void {
    const positions = this.dpRank.length * 2
    this.workerIdHigh = grown(this.workerIdHigh, positions)
    this.workerIdLow = grown(this.workerIdLow, positions)
    this.dpRank = grown(this.dpRank, positions)
    this.#slots = new Int32Array(positions * slotsPerPosition)
    for (let position = 0; position < this.size; position++) {
      const slot = this.#slotOf(
        this.workerIdHigh[position]!,
        this.workerIdLow[position]!,
        this.dpRank[position]!,
      )
      this.#slots[slot] = position + 1
    }
  }
}

function grown(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length)
  larger.set(array)
  return larger
}
