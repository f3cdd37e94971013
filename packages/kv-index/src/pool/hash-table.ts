const SHARDS = 256
const PREFIX_SHIFT = 20
const SMALLEST = 8
const FULLEST = 0.75
const EMPTIEST = 0.15
const NONE = new Int32Array(2)

/**
 * Open addressing from a 32-bit fingerprint to a number, several numbers a fingerprint: the caller compares what the numbers
 * stand for. Slots are `(fingerprint, value + 1)` pairs, linear probing, removal by backward shift. The top bits choose a shard; the
 * largest shard gets twice the share of the smallest, so that they double one after the other: no call pays for the whole table,
 * and its load as a whole hardly changes.
 *
 * A run of keys is first touched, then worked on: the loads of the first pass do not wait for one another.
 */
export class HashTable {
  size = 0
  /** After `insertRun`: pairs of a value that stood under the fingerprint of a new one, and the new one. */
  readonly suspects: number[] = []
  /** Keeps the loads of the touching pass alive. */
  touched = 0
  readonly #shards: Int32Array[] = Array.from({ length: SHARDS }, () => NONE)
  readonly #counts = new Int32Array(SHARDS)
  // The most entries of each shard, and the fewest.
  readonly #limits = new Int32Array(SHARDS)
  readonly #floors = new Int32Array(SHARDS)
  #fingerprints = new Int32Array(64)
  // Where the last `seek` or `next` stands.
  #shard: Int32Array = NONE
  #slot = 0

  /** Slots, taken or not. Eight bytes each. */
  get capacity(): number {
    let words = 0
    for (const shard of this.#shards) words += shard === NONE ? 0 : shard.length
    return words >> 1
  }

  /** First value under a fingerprint, -1 when there is none. */
  seek(fingerprint: number): number {
    const shard = this.#shards[shardOf[fingerprint >>> PREFIX_SHIFT]!]!
    this.#shard = shard
    let at = homeOf(fingerprint, shard.length)
    let value = shard[at + 1]!
    while (value !== 0 && shard[at] !== fingerprint) {
      at = (at + 2) & (shard.length - 1)
      value = shard[at + 1]!
    }
    this.#slot = at
    return value - 1
  }

  /** The value after the one that `seek` or `next` gave, -1 when there is none. */
  next(fingerprint: number): number {
    const shard = this.#shard
    let at = this.#slot
    let value: number
    do {
      at = (at + 2) & (shard.length - 1)
      value = shard[at + 1]!
    } while (value !== 0 && shard[at] !== fingerprint)
    this.#slot = at
    return value - 1
  }

  /** Adds a value, whatever is there. Ends a walk. */
  insert(fingerprint: number, value: number): void {
    put(this.#room(shardOf[fingerprint >>> PREFIX_SHIFT]!), fingerprint, value + 1)
    this.size++
  }

  /** Adds `value`, `value + 1` ... under the keys of a run: hashes `at / 2` and on of `words`. Fills `suspects`. Ends a walk. */
  insertRun(words: Int32Array, at: number, count: number, value: number): void {
    this.#touch(words, at, count)
    if (this.suspects.length > 0) this.suspects.length = 0
    const shards = this.#shards
    const counts = this.#counts
    const limits = this.#limits
    const fingerprints = this.#fingerprints
    for (let index = 0; index < count; index++) {
      const fingerprint = fingerprints[index]!
      const place = shardOf[fingerprint >>> PREFIX_SHIFT]!
      const entries = counts[place]! + 1
      counts[place] = entries
      const shard = entries > limits[place]! ? this.#grow(place) : shards[place]!
      let slot = homeOf(fingerprint, shard.length)
      while (shard[slot + 1] !== 0) {
        if (shard[slot] === fingerprint) this.suspects.push(shard[slot + 1]! - 1, value + index)
        slot = (slot + 2) & (shard.length - 1)
      }
      shard[slot] = fingerprint
      shard[slot + 1] = value + index + 1
    }
    this.size += count
  }

  /** Replaces a value under a fingerprint. */
  replace(fingerprint: number, value: number, by: number): void {
    let found = this.seek(fingerprint)
    while (found !== value) found = this.next(fingerprint)
    this.#shard[this.#slot + 1] = by + 1
  }

  /** Removes a value, which must be there. Ends a walk. */
  remove(fingerprint: number, value: number): void {
    const place = shardOf[fingerprint >>> PREFIX_SHIFT]!
    take(this.#shards[place]!, fingerprint, value + 1)
    this.size--
    if (--this.#counts[place]! < this.#floors[place]!) this.#shrink(place)
  }

  /** Removes `value`, `value + 1` ... under the keys of a run. Ends a walk. */
  removeRun(words: Int32Array, at: number, count: number, value: number): void {
    this.#touch(words, at, count)
    const shards = this.#shards
    const counts = this.#counts
    const floors = this.#floors
    const fingerprints = this.#fingerprints
    for (let index = 0; index < count; index++) {
      const fingerprint = fingerprints[index]!
      const place = shardOf[fingerprint >>> PREFIX_SHIFT]!
      take(shards[place]!, fingerprint, value + index + 1)
      const entries = counts[place]! - 1
      counts[place] = entries
      if (entries < floors[place]!) this.#shrink(place)
    }
    this.size -= count
  }

  /** Fingerprints of a run, and its first slots into the cache. */
  #touch(words: Int32Array, at: number, count: number): void {
    if (this.#fingerprints.length < count) this.#fingerprints = new Int32Array(2 * count)
    const fingerprints = this.#fingerprints
    const shards = this.#shards
    let touched = 0
    for (let index = 0; index < count; index++) {
      const fingerprint = fingerprintOf(words[at + 2 * index]!, words[at + 2 * index + 1]!, 0)
      const shard = shards[shardOf[fingerprint >>> PREFIX_SHIFT]!]!
      fingerprints[index] = fingerprint
      touched ^= shard[homeOf(fingerprint, shard.length)]!
    }
    this.touched = touched
  }

  /** The shard, with room for one more entry, which is counted. */
  #room(index: number): Int32Array {
    const count = ++this.#counts[index]!
    return count > this.#limits[index]! ? this.#grow(index) : this.#shards[index]!
  }

  #grow(index: number): Int32Array {
    const slots = this.#shards[index]!.length >> 1
    return this.#resize(index, slots <= 1 ? SMALLEST : 2 * slots)
  }

  #resize(index: number, slots: number): Int32Array {
    const from = this.#shards[index]!
    const shard = new Int32Array(2 * slots)
    for (let at = 0; at < from.length; at += 2) {
      if (from[at + 1] !== 0) put(shard, from[at]!, from[at + 1]!)
    }
    this.#shards[index] = shard
    this.#limits[index] = Math.floor(slots * FULLEST)
    this.#floors[index] = slots > SMALLEST ? Math.ceil(slots * EMPTIEST) : 0
    return shard
  }

  #shrink(index: number): void {
    this.#resize(index, this.#shards[index]!.length >> 2)
  }
}

/** Shard by the top bits of a fingerprint: shares grow from the first shard to the last one by the factor 2. */
const shardOf = Uint8Array.from({ length: 2 ** (32 - PREFIX_SHIFT) }, (_, prefix) =>
  Math.floor(SHARDS * Math.log2(1 + prefix / 2 ** (32 - PREFIX_SHIFT))),
)

/**
 * Fingerprint of a 64-bit key in halves and a number beside it; signed, as all words are here: a small integer for the engine.
 * Keys are hashes already, or small numbers in tests: one round is enough.
 */
export function fingerprintOf(low: number, high: number, salt: number): number {
  const mixed = Math.imul(low ^ Math.imul(high ^ Math.imul(salt, 0x85eb_ca77), 0x9e37_79b1), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 15)
}

/** Word of the first slot where an entry may stand. `words` = length of its shard. */
function homeOf(fingerprint: number, words: number): number {
  return (fingerprint << 1) & (words - 2)
}

function put(shard: Int32Array, fingerprint: number, stored: number): void {
  let at = homeOf(fingerprint, shard.length)
  while (shard[at + 1] !== 0) at = (at + 2) & (shard.length - 1)
  shard[at] = fingerprint
  shard[at + 1] = stored
}

/** Removes an entry that is there. */
function take(shard: Int32Array, fingerprint: number, stored: number): void {
  const mask = shard.length - 1
  let hole = homeOf(fingerprint, shard.length)
  while (shard[hole + 1] !== stored) hole = (hole + 2) & mask
  for (let at = (hole + 2) & mask; shard[at + 1] !== 0; at = (at + 2) & mask) {
    // An entry may fill the hole unless its home lies behind it.
    const home = homeOf(shard[at]!, shard.length)
    if (((at - home) & mask) < ((at - hole) & mask)) continue
    shard[hole] = shard[at]!
    shard[hole + 1] = shard[at + 1]!
    hole = at
  }
  shard[hole + 1] = 0
}
