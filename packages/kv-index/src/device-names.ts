import type { DeviceTree } from './device-tree.js'
import { LatestPlaces } from './latest-places.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import { CUT, START } from './pool/edge-holders.js'
import { HashTable, fingerprintOf } from './pool/hash-table.js'

/** Engine hashes of all blocks that somebody holds, for all holders in one table: a name may stand at several places. */
export class DeviceNames {
  readonly #tree: DeviceTree
  readonly #table = new HashTable()
  readonly #latest = new LatestPlaces()
  // How many entries stand beside another one of the same name. 0 = every name has one place, and most work is spared.
  #shared = 0

  constructor(tree: DeviceTree) {
    this.#tree = tree
  }

  /** Blocks in the table. */
  get size(): number {
    return this.#table.size
  }

  /** Slots of the table. */
  get capacity(): number {
    return this.#table.capacity
  }

  /** Names that one holder has at several places. */
  get ambiguous(): number {
    return this.#latest.size
  }

  /** Position of the block that a holder has under a name, the latest one; -1 = none. */
  placeOf(holder: number, low: number, high: number): number {
    if (this.#latest.size > 0) {
      const latest = this.#latest.get(holder, low, high)
      if (latest !== undefined) return latest
    }
    return this.#find(holder, low, high, -1)
  }

  /** Whether `holder` has the name of this block at another place too. */
  isAmbiguous(holder: number, position: number): boolean {
    if (this.#latest.size === 0) return false
    const words = this.#tree.pool.engine[position >>> BLOCK_SHIFT]!
    const at = 2 * (position & BLOCK_MASK)
    return this.#latest.get(holder, words[at]!, words[at + 1]!) !== undefined
  }

  /** The holder is about to lose the name everywhere. */
  forget(holder: number, low: number, high: number): void {
    if (this.#latest.size > 0) this.#latest.delete(holder, low, high)
  }

  forgetHolder(holder: number): void {
    this.#latest.forget(holder)
  }

  /** Puts a run of blocks of one chunk into the table. */
  add(position: number, blocks: number): void {
    const words = this.#tree.pool.engine[position >>> BLOCK_SHIFT]!
    const table = this.#table
    table.insertRun(words, 2 * (position & BLOCK_MASK), blocks, position)
    if (table.suspects.length > 0) this.#countShared(table.suspects)
  }

  /** Takes a run of blocks of one chunk out of the table. */
  remove(position: number, blocks: number): void {
    const words = this.#tree.pool.engine[position >>> BLOCK_SHIFT]!
    const first = 2 * (position & BLOCK_MASK)
    if (this.isPlain) {
      this.#table.removeRun(words, first, blocks, position)
      return
    }
    for (let block = 0; block < blocks; block++) {
      const at = first + 2 * block
      this.#table.remove(fingerprintOf(words[at]!, words[at + 1]!, 0), position + block)
      if (this.#isPlaced(words[at]!, words[at + 1]!)) this.#shared--
    }
  }

  /** Whether every name has one place: then a run that was found goes on where it lies. */
  get isPlain(): boolean {
    return this.#shared === 0
  }

  /** @param suspects pairs of an entry and a new one under the same fingerprint, in the order of the new ones */
  #countShared(suspects: readonly number[]): void {
    let last = -1
    for (let at = 0; at < suspects.length; at += 2) {
      const added = suspects[at + 1]!
      const words = this.#tree.pool.engine[added >>> BLOCK_SHIFT]!
      const word = 2 * (added & BLOCK_MASK)
      if (added === last || !this.#tree.pool.hasEngine(suspects[at]!, words[word]!, words[word + 1]!))
        continue
      this.#shared++
      last = added
    }
  }

  /** A holder stored these blocks just now: where it has one of their names elsewhere, this place is the latest. */
  noteStored(holder: number, position: number, blocks: number): void {
    if (this.#shared === 0) return
    const words = this.#tree.pool.engine[position >>> BLOCK_SHIFT]!
    for (let block = position; block < position + blocks; block++) {
      const at = 2 * (block & BLOCK_MASK)
      if (this.#find(holder, words[at]!, words[at + 1]!, block) < 0) continue
      this.#latest.set(holder, words[at]!, words[at + 1]!, block)
    }
  }

  #isPlaced(low: number, high: number): boolean {
    const fingerprint = fingerprintOf(low, high, 0)
    let found = this.#table.seek(fingerprint)
    while (found >= 0 && !this.#tree.pool.hasEngine(found, low, high)) found = this.#table.next(fingerprint)
    return found >= 0
  }

  #find(holder: number, low: number, high: number, except: number): number {
    const fingerprint = fingerprintOf(low, high, 0)
    let found = this.#table.seek(fingerprint)
    while (found >= 0) {
      if (found !== except && this.#tree.pool.hasEngine(found, low, high) && this.#holds(holder, found))
        return found
      found = this.#table.next(fingerprint)
    }
    return -1
  }

  #holds(holder: number, position: number): boolean {
    const { records, holders } = this.#tree
    const edge = this.#tree.pool.ownerOf(position)
    const entry = holders.find(edge, holder)
    return entry >= 0 && records.get(entry + CUT) > position - records.get(edge + START)
  }
}
