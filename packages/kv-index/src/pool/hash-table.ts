const SHARD_BITS = 8
const SHARDS = 1 << SHARD_BITS
const HOME_BITS = 32 - SHARD_BITS
const HOME_MASK = (1 << HOME_BITS) - 1
const HOME_SCALE = 1 / (1 << HOME_BITS)
const SMALLEST = 4
const GROWTH = 1.5
const FULLEST = 0.75
const NONE = new Uint32Array(2)

/**
 * Open addressing from a 32-bit fingerprint to a number, several numbers a fingerprint: the caller compares what the numbers
 * stand for. Slots are `(fingerprint, value + 1)` pairs, linear probing, removal by backward shift. The top bits choose a shard of
 * its own, and shards start at different sizes, so that the table grows a small part at a time: no call pays for all of it.
 */
export class HashTable {
  size = 0
  readonly #shards: Uint32Array[] = Array.from({ length: SHARDS }, () => NONE)
  readonly #counts = new Uint32Array(SHARDS)
  // Where the last `seek` or `next` stands.
  #shard: Uint32Array = NONE
  #slot = 0

  /** Slots, taken or not. Eight bytes each. */
  get capacity(): number {
    let words = 0
    for (const shard of this.#shards) words += shard === NONE ? 0 : shard.length
    return words >> 1
  }

  /** First value under a fingerprint, -1 when there is none. */
  seek(fingerprint: number): number {
    const shard = this.#shards[fingerprint >>> HOME_BITS]!
    this.#shard = shard
    let slot = homeOf(fingerprint, shard.length >> 1)
    let value = shard[2 * slot + 1]!
    while (value !== 0 && shard[2 * slot] !== fingerprint) {
      slot = 2 * slot + 2 === shard.length ? 0 : slot + 1
      value = shard[2 * slot + 1]!
    }
    this.#slot = slot
    return value - 1
  }

  /** The value after the one that `seek` or `next` gave, -1 when there is none. */
  next(fingerprint: number): number {
    const shard = this.#shard
    let slot = this.#slot
    let value: number
    do {
      slot = 2 * slot + 2 === shard.length ? 0 : slot + 1
      value = shard[2 * slot + 1]!
    } while (value !== 0 && shard[2 * slot] !== fingerprint)
    this.#slot = slot
    return value - 1
  }

  /** Adds a value, whatever is there. Ends a walk. */
  insert(fingerprint: number, value: number): void {
    const index = fingerprint >>> HOME_BITS
    let shard = this.#shards[index]!
    const count = ++this.#counts[index]!
    if (count > (shard.length >> 1) * FULLEST) shard = this.#grow(index)
    put(shard, fingerprint, value + 1)
    this.size++
  }

  /** Like `insert`, right after `seek` or `next` found nothing more. */
  insertHere(fingerprint: number, value: number): void {
    const index = fingerprint >>> HOME_BITS
    const shard = this.#shard
    const count = this.#counts[index]! + 1
    if (count > (shard.length >> 1) * FULLEST) {
      this.insert(fingerprint, value)
      return
    }
    this.#counts[index] = count
    shard[2 * this.#slot] = fingerprint
    shard[2 * this.#slot + 1] = value + 1
    this.size++
  }

  /** Replaces a value under a fingerprint. */
  replace(fingerprint: number, value: number, by: number): void {
    let found = this.seek(fingerprint)
    while (found !== value) found = this.next(fingerprint)
    this.#shard[2 * this.#slot + 1] = by + 1
  }

  /** Removes a value, which must be there. Ends a walk. */
  remove(fingerprint: number, value: number): void {
    let found = this.seek(fingerprint)
    while (found !== value) found = this.next(fingerprint)
    const shard = this.#shard
    const slots = shard.length >> 1
    let hole = this.#slot
    let slot = hole
    for (;;) {
      slot = slot + 1 === slots ? 0 : slot + 1
      const moved = shard[2 * slot + 1]!
      if (moved === 0) break
      const home = homeOf(shard[2 * slot]!, slots)
      // An entry may fill the hole unless its home lies behind it.
      if (hole <= slot ? home <= hole || home > slot : home <= hole && home > slot) {
        shard[2 * hole] = shard[2 * slot]!
        shard[2 * hole + 1] = moved
        hole = slot
      }
    }
    shard[2 * hole + 1] = 0
    this.size--
    const index = fingerprint >>> HOME_BITS
    const count = --this.#counts[index]!
    if (slots > 2 * SMALLEST * GROWTH && count < slots * (FULLEST / (GROWTH * GROWTH * GROWTH)))
      this.#resize(index, Math.ceil(slots / GROWTH))
  }

  #grow(index: number): Uint32Array {
    const slots = this.#shards[index]!.length >> 1
    const first = Math.ceil(SMALLEST * GROWTH ** (index / SHARDS))
    return this.#resize(index, slots <= 1 ? first : Math.ceil(slots * GROWTH))
  }

  #resize(index: number, slots: number): Uint32Array {
    const from = this.#shards[index]!
    const shard = new Uint32Array(2 * slots)
    for (let at = 0; at < from.length; at += 2) {
      if (from[at + 1] !== 0) put(shard, from[at]!, from[at + 1]!)
    }
    this.#shards[index] = shard
    return shard
  }
}

/** Fingerprint of a 64-bit key in halves and a number beside it; unsigned. */
export function fingerprintOf(low: number, high: number, salt: number): number {
  let mixed = low ^ Math.imul(high, 0x9e37_79b1) ^ Math.imul(salt, 0x85eb_ca77)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function homeOf(fingerprint: number, slots: number): number {
  return ((fingerprint & HOME_MASK) * slots * HOME_SCALE) | 0
}

function put(shard: Uint32Array, fingerprint: number, stored: number): void {
  let at = 2 * homeOf(fingerprint, shard.length >> 1)
  while (shard[at + 1] !== 0) at = at + 2 === shard.length ? 0 : at + 2
  shard[at] = fingerprint
  shard[at + 1] = stored
}
