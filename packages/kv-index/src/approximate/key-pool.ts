import { EntryPool, NONE, grown } from './entry-pool.js'

const FIRST_SLOTS = 128
/** Slots of the old table that one new entry moves: it is empty long before the new one is half full. */
const MOVED_AT_ONCE = 8
/** An entry that left the old table; probes go on behind it. */
const MOVED = 0xffff_ffff

/**
 * Entries found by (scope, 64-bit hash): a pool with an open-addressing table over it. While the table grows both the old one and
 * the new one are asked and each new entry moves a few, so that no call waits for a million. `O(1)`; allocates only to grow.
 */
export class KeyPool {
  readonly #pool = new EntryPool()
  /** Key columns by id. */
  scope = new Uint32Array(this.#pool.capacity)
  low = new Uint32Array(this.#pool.capacity)
  high = new Uint32Array(this.#pool.capacity)
  /** Ids; 0 = empty. A power of two of slots, at most half of them taken. */
  #slots = new Uint32Array(FIRST_SLOTS)
  #old: Uint32Array | undefined
  /** Slots of the old table below this one are moved. */
  #moved = 0

  /** Columns of this length hold every id. */
  get capacity(): number {
    return this.#pool.capacity
  }

  /** Entries. */
  get size(): number {
    return this.#pool.size
  }

  /** Id of the entry, or `NONE`. */
  find(scope: number, low: number, high: number): number {
    const hash = mixed(scope, low, high)
    const id = this.#slots[this.#slotOf(this.#slots, hash, scope, low, high)]!
    if (id !== NONE || this.#old === undefined) return id
    return this.#old[this.#slotOf(this.#old, hash, scope, low, high)]!
  }

  /** A new entry; the key must not have one. The owner's columns must then be as long as `capacity`. */
  add(scope: number, low: number, high: number): number {
    const id = this.#pool.take()
    if (this.#pool.capacity > this.low.length) this.#growKeys()
    this.scope[id] = scope
    this.low[id] = low
    this.high[id] = high
    if (2 * this.#pool.size > this.#slots.length) {
      this.#old = this.#slots
      this.#moved = 0
      this.#slots = new Uint32Array(2 * this.#old.length)
    }
    this.#place(id)
    this.#moveSome()
    return id
  }

  delete(id: number): void {
    const scope = this.scope[id]!
    const low = this.low[id]!
    const high = this.high[id]!
    const hash = mixed(scope, low, high)
    const slot = this.#slotOf(this.#slots, hash, scope, low, high)
    if (this.#slots[slot] === id) this.#vacate(slot)
    else this.#old![this.#slotOf(this.#old!, hash, scope, low, high)] = MOVED
    this.#pool.give(id)
  }

  /** The slot of the key, or the empty one where the search ended. */
  #slotOf(slots: Uint32Array, hash: number, scope: number, low: number, high: number): number {
    const mask = slots.length - 1
    let slot = hash & mask
    for (let id = slots[slot]!; id !== NONE; id = slots[slot]!) {
      // Of a moved entry the columns are not read: it may be another by now, or none.
      if (id !== MOVED && this.low[id] === low && this.high[id] === high && this.scope[id] === scope)
        return slot
      slot = (slot + 1) & mask
    }
    return slot
  }

  #place(id: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = this.#homeOf(id, mask)
    while (slots[slot] !== NONE) slot = (slot + 1) & mask
    slots[slot] = id
  }

  #homeOf(id: number, mask: number): number {
    return mixed(this.scope[id]!, this.low[id]!, this.high[id]!) & mask
  }

  /** Empties a slot; entries behind it that would no longer be found move up. */
  #vacate(vacant: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let hole = vacant
    for (let slot = (hole + 1) & mask; slots[slot] !== NONE; slot = (slot + 1) & mask) {
      const home = this.#homeOf(slots[slot]!, mask)
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue
      slots[hole] = slots[slot]!
      hole = slot
    }
    slots[hole] = NONE
  }

  #moveSome(): void {
    const old = this.#old
    if (old === undefined) return
    const end = Math.min(old.length, this.#moved + MOVED_AT_ONCE)
    for (; this.#moved < end; this.#moved++) {
      const id = old[this.#moved]!
      if (id === NONE || id === MOVED) continue
      old[this.#moved] = MOVED
      this.#place(id)
    }
    if (end === old.length) this.#old = undefined
  }

  #growKeys(): void {
    this.scope = grown(this.scope, this.capacity)
    this.low = grown(this.low, this.capacity)
    this.high = grown(this.high, this.capacity)
  }
}

/** Spreads a key; its low bits are a slot. */
function mixed(scope: number, low: number, high: number): number {
  let hash = low ^ Math.imul(high, 0x9e37_79b1) ^ Math.imul(scope, 0x85eb_ca77)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a_2d39)
  return hash ^ (hash >>> 15)
}
