import type { BlockTable } from './block-table.js'
import type { PassLog } from './pass-log.js'

/**
 * The KV cache in pages. A block is private (owned by one request, not full), active (cached and referenced) or inactive (cached, not
 * referenced, in a list by age). There may be several copies of one block: hits take the oldest. Only cached copies have a place, a
 * number below `capacity`; of private blocks the number is all there is to know. Nothing is allocated after construction.
 */
export class KvPool {
  /** Blocks of the pool. */
  readonly capacity: number
  /** Private, active and inactive blocks. */
  total = 0
  /** Inactive blocks. */
  inactive = 0
  readonly #table: BlockTable
  readonly #log: PassLog
  readonly #blockAt: Int32Array
  readonly #references: Int32Array
  /** Places of one block, oldest first. */
  readonly #olderCopy: Int32Array
  readonly #newerCopy: Int32Array
  /** Inactive places by age; entry `capacity` is both ends. */
  readonly #older: Int32Array
  readonly #younger: Int32Array
  readonly #free: Int32Array
  #freeCount: number

  constructor(capacity: number, table: BlockTable, log: PassLog) {
    this.capacity = capacity
    this.#table = table
    this.#log = log
    this.#blockAt = new Int32Array(capacity)
    this.#references = new Int32Array(capacity)
    this.#olderCopy = new Int32Array(capacity)
    this.#newerCopy = new Int32Array(capacity)
    this.#older = new Int32Array(capacity + 1).fill(capacity)
    this.#younger = new Int32Array(capacity + 1).fill(capacity)
    this.#free = Int32Array.from({ length: capacity }, (_, index) => capacity - 1 - index)
    this.#freeCount = capacity
  }

  /** Private and active blocks. */
  get active(): number {
    return this.total - this.inactive
  }

  /** Takes `count` private blocks, evicting the oldest inactive ones for them; false and nothing done when that is not enough. */
  reserve(count: number): boolean {
    const missing = count - (this.capacity - this.total)
    if (missing > this.inactive) return false
    for (let evicted = 0; evicted < missing; evicted++) this.#evict()
    this.total += count
    return true
  }

  /** Gives `count` private blocks back. */
  releasePrivate(count: number): void {
    this.total -= count
  }

  /** A private block is full and becomes cached, as another copy if there is one. Returns its place, referenced once. */
  cache(block: number, request: number, index: number): number {
    const place = this.#free[--this.#freeCount]!
    const { firstCopy, lastCopy } = this.#table
    const last = lastCopy[block]!
    this.#blockAt[place] = block
    this.#references[place] = 1
    this.#olderCopy[place] = last
    this.#newerCopy[place] = -1
    lastCopy[block] = place
    if (last === -1) {
      firstCopy[block] = place
      this.#log.stored(block, request, index)
    } else this.#newerCopy[last] = place
    this.#table.retain(block)
    return place
  }

  /** How many of the first `limit` blocks are cached, up to the first that is not. */
  hits(blocks: Int32Array, limit: number): number {
    const { firstCopy } = this.#table
    let count = 0
    while (count < limit && firstCopy[blocks[count]!]! >= 0) count++
    return count
  }

  /** How many of the first `count` blocks, all cached, have a referenced oldest copy. */
  activeHits(blocks: Int32Array, count: number): number {
    const { firstCopy } = this.#table
    let active = 0
    for (let index = 0; index < count; index++)
      if (this.#references[firstCopy[blocks[index]!]!]! > 0) active++
    return active
  }

  /** Refers to the oldest copy of a cached block; returns its place. */
  pin(block: number): number {
    const place = this.#table.firstCopy[block]!
    if (this.#references[place]!++ === 0) {
      this.#unlink(place)
      this.inactive--
    }
    return place
  }

  /** Gives a reference back; the last one makes the copy the youngest inactive one. */
  unpin(place: number): void {
    if (--this.#references[place]! > 0) return
    const ends = this.capacity
    const youngest = this.#older[ends]!
    this.#older[place] = youngest
    this.#younger[place] = ends
    this.#younger[youngest] = place
    this.#older[ends] = place
    this.inactive++
  }

  #evict(): void {
    const place = this.#younger[this.capacity]!
    const block = this.#blockAt[place]!
    this.#unlink(place)
    this.inactive--
    this.total--
    const { firstCopy, lastCopy } = this.#table
    const older = this.#olderCopy[place]!
    const newer = this.#newerCopy[place]!
    if (older === -1) firstCopy[block] = newer
    else this.#newerCopy[older] = newer
    if (newer === -1) lastCopy[block] = older
    else this.#olderCopy[newer] = older
    if (older === -1 && newer === -1) this.#log.removed(block)
    this.#free[this.#freeCount++] = place
    this.#table.release(block)
  }

  #unlink(place: number): void {
    const older = this.#older[place]!
    const younger = this.#younger[place]!
    this.#younger[older] = younger
    this.#older[younger] = older
  }
}
