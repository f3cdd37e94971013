const FIRST_SLOTS = 16

/**
 * Salt by engine hash, for one rank. Grows and shrinks with what it holds: at most 24 bytes an entry plus each distinct salt once.
 * Every operation is `O(1)` on average.
 */
export class SaltTable {
  #size = 0
  #low = new Uint32Array(FIRST_SLOTS)
  #high = new Uint32Array(FIRST_SLOTS)
  /** Index into `#salts`; 0 = the slot is empty. */
  #saltIds = new Uint32Array(FIRST_SLOTS)
  readonly #salts: (string | undefined)[] = [undefined]
  readonly #references: number[] = [0]
  readonly #freeIds: number[] = []
  readonly #idOfSalt = new Map<string, number>()

  /** Entries. */
  get size(): number {
    return this.#size
  }

  get(low: number, high: number): string | undefined {
    return this.#size === 0 ? undefined : this.#salts[this.#saltIds[this.#slotOf(low, high)]!]
  }

  set(low: number, high: number, salt: string): void {
    if (this.#size * 2 >= this.#saltIds.length) this.#resize(this.#saltIds.length * 2)
    const slot = this.#slotOf(low, high)
    const before = this.#saltIds[slot]!
    this.#saltIds[slot] = this.#acquire(salt)
    if (before === 0) {
      this.#low[slot] = low
      this.#high[slot] = high
      this.#size++
    } else {
      this.#release(before)
    }
  }

  delete(low: number, high: number): void {
    if (this.#size === 0) return
    const slot = this.#slotOf(low, high)
    const saltId = this.#saltIds[slot]!
    if (saltId === 0) return
    this.#release(saltId)
    this.#close(slot)
    this.#size--
    if (this.#saltIds.length > FIRST_SLOTS && this.#size * 8 < this.#saltIds.length)
      this.#resize(this.#saltIds.length / 2)
  }

  /** The slot of the hash, or the empty one where it would stand. */
  #slotOf(low: number, high: number): number {
    const mask = this.#saltIds.length - 1
    let slot = homeOf(low, high, mask)
    while (this.#saltIds[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high))
      slot = (slot + 1) & mask
    return slot
  }

  /** Empties a slot and moves the entries behind it forward, so that no search stops too early. */
  #close(slot: number): void {
    const mask = this.#saltIds.length - 1
    let hole = slot
    for (let next = (hole + 1) & mask; this.#saltIds[next] !== 0; next = (next + 1) & mask) {
      const home = homeOf(this.#low[next]!, this.#high[next]!, mask)
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      this.#low[hole] = this.#low[next]!
      this.#high[hole] = this.#high[next]!
      this.#saltIds[hole] = this.#saltIds[next]!
      hole = next
    }
    this.#saltIds[hole] = 0
  }

  #resize(slots: number): void {
    const [low, high, saltIds] = [this.#low, this.#high, this.#saltIds]
    this.#low = new Uint32Array(slots)
    this.#high = new Uint32Array(slots)
    this.#saltIds = new Uint32Array(slots)
    for (let index = 0; index < saltIds.length; index++) {
      if (saltIds[index] === 0) continue
      const slot = this.#slotOf(low[index]!, high[index]!)
      this.#low[slot] = low[index]!
      this.#high[slot] = high[index]!
      this.#saltIds[slot] = saltIds[index]!
    }
  }

  #acquire(salt: string): number {
    const known = this.#idOfSalt.get(salt)
    const id = known ?? this.#freeIds.pop() ?? this.#salts.length
    if (known === undefined) {
      this.#salts[id] = salt
      this.#references[id] = 0
      this.#idOfSalt.set(salt, id)
    }
    this.#references[id]!++
    return id
  }

  #release(id: number): void {
    if (--this.#references[id]! > 0) return
    this.#idOfSalt.delete(this.#salts[id]!)
    this.#salts[id] = undefined
    this.#freeIds.push(id)
  }
}

function homeOf(low: number, high: number, mask: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
  return (mixed ^ (mixed >>> 15)) & mask
}
