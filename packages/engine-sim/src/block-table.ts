/**
 * Blocks by dense number. A block is known by a 64-bit key that stands for its tokens and all before them, or, without one, only to the
 * request that made it. A number is taken while a request or the pool refers to it, and given again afterwards: so there are at
 * most the blocks of the pool and of the live requests. Nothing is allocated but to grow.
 */
export class BlockTable {
  /** The oldest and the newest cached copy of each block, as places of the pool; -1 = none. The pool keeps them. */
  firstCopy = new Int32Array(64).fill(-1)
  lastCopy = new Int32Array(64).fill(-1)
  #low = new Uint32Array(64)
  #high = new Uint32Array(64)
  #references = new Int32Array(64)
  #isKeyed = new Uint8Array(64)
  #free = new Int32Array(64)
  #freeCount = 0
  #used = 0
  /** Open addressing with linear steps: number + 1, 0 = empty; at most half full. */
  #places = new Int32Array(128)
  #mask = 127

  /** Numbers in use. */
  get size(): number {
    return this.#used - this.#freeCount
  }

  /** The block of this key, with one reference more. Amortised O(1). */
  acquire(low: number, high: number): number {
    let place = placeOf(low, high) & this.#mask
    for (let entry = this.#places[place]!; entry !== 0; entry = this.#places[place]!) {
      const block = entry - 1
      if (this.#low[block] === low && this.#high[block] === high) {
        this.#references[block]!++
        return block
      }
      place = (place + 1) & this.#mask
    }
    const block = this.#take()
    this.#low[block] = low
    this.#high[block] = high
    this.#isKeyed[block] = 1
    this.#insert(block)
    return block
  }

  /** A block that no key leads to, with one reference. */
  acquireUnique(): number {
    const block = this.#take()
    this.#isKeyed[block] = 0
    return block
  }

  /** One reference more. */
  retain(block: number): void {
    this.#references[block]!++
  }

  /** One reference less; the last one gives the number back. */
  release(block: number): void {
    if (--this.#references[block]! > 0) return
    if (this.#isKeyed[block] === 1) this.#remove(block)
    this.#free[this.#freeCount++] = block
  }

  #take(): number {
    if (this.#freeCount === 0 && this.#used === this.#low.length) this.#grow()
    const block = this.#freeCount > 0 ? this.#free[--this.#freeCount]! : this.#used++
    this.#references[block] = 1
    return block
  }

  #insert(block: number): void {
    let place = placeOf(this.#low[block]!, this.#high[block]!) & this.#mask
    while (this.#places[place] !== 0) place = (place + 1) & this.#mask
    this.#places[place] = block + 1
  }

  #remove(block: number): void {
    const places = this.#places
    const mask = this.#mask
    let hole = placeOf(this.#low[block]!, this.#high[block]!) & mask
    while (places[hole] !== block + 1) hole = (hole + 1) & mask
    // Entries behind the hole move up, unless that would put them before their own place.
    for (let next = (hole + 1) & mask; places[next] !== 0; next = (next + 1) & mask) {
      const home = placeOf(this.#low[places[next]! - 1]!, this.#high[places[next]! - 1]!) & mask
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      places[hole] = places[next]!
      hole = next
    }
    places[hole] = 0
  }

  #grow(): void {
    const capacity = this.#low.length * 2
    this.firstCopy = grown(this.firstCopy, new Int32Array(capacity).fill(-1))
    this.lastCopy = grown(this.lastCopy, new Int32Array(capacity).fill(-1))
    this.#low = grown(this.#low, new Uint32Array(capacity))
    this.#high = grown(this.#high, new Uint32Array(capacity))
    this.#references = grown(this.#references, new Int32Array(capacity))
    this.#isKeyed = grown(this.#isKeyed, new Uint8Array(capacity))
    this.#free = grown(this.#free, new Int32Array(capacity))
    this.#places = new Int32Array(capacity * 2)
    this.#mask = capacity * 2 - 1
    for (let block = 0; block < this.#used; block++) if (this.#isKeyed[block] === 1) this.#insert(block)
  }
}

function placeOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/** `to` with the values of `from` at its start. */
export function grown<Column extends Int32Array | Uint32Array | Uint8Array>(
  from: Column,
  to: Column,
): Column {
  to.set(from)
  return to
}
