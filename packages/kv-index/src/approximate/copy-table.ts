import { EntryPool, NONE, grown } from './entry-pool.js'
import { KeyPool } from './key-pool.js'
import { LinkedLists } from './linked-lists.js'

/**
 * Copies of blocks: a block is found by (life of a rank, sequence hash) and has one copy or more. Copies without references stand in
 * eviction lists, numbered by the owner, next to go first. `O(1)` an operation; allocates only to grow.
 */
export class CopyTable {
  readonly #blocks = new KeyPool()
  readonly #copies = new EntryPool()
  #block = new Uint32Array(this.#copies.capacity)
  /** By copy. */
  references = new Uint32Array(this.#copies.capacity)
  #position = new Uint32Array(this.#copies.capacity)
  #age = new Float64Array(this.#copies.capacity)
  #made = 0
  /** The list of a block is its id, the oldest copy first. */
  readonly #ofBlock = new LinkedLists(this.#copies.capacity, this.#blocks.capacity)
  readonly evictable = new LinkedLists(this.#copies.capacity, 1)

  /** Copies in memory. */
  get size(): number {
    return this.#copies.size
  }

  /** The oldest copy of a block, or `NONE`. */
  firstOf(life: number, low: number, high: number): number {
    const block = this.#blocks.find(life, low, high)
    return block === NONE ? NONE : this.#ofBlock.head[block]!
  }

  /** A new copy without references, in no eviction list. */
  add(life: number, low: number, high: number): number {
    let block = this.#blocks.find(life, low, high)
    if (block === NONE) {
      block = this.#blocks.add(life, low, high)
      this.#ofBlock.growLists(this.#blocks.capacity)
    }
    const copy = this.#copies.take()
    if (this.#copies.capacity > this.#block.length) this.#grow()
    this.#block[copy] = block
    this.references[copy] = 0
    this.#age[copy] = this.#made++
    this.#ofBlock.append(block, copy)
    return copy
  }

  /** Where the block stands in the prompt that refers to it. */
  setPosition(copy: number, position: number): void {
    this.#position[copy] = position
  }

  /**
   * Puts a copy into an eviction list among those of its release epoch, which are behind `fence` (`NONE` = all of the list): deeper
   * positions first, then older copies. `O(1)` when copies come deepest first.
   */
  offer(list: number, copy: number, fence: number): void {
    let before = this.evictable.tail[list]!
    while (before !== fence && this.#goesBefore(copy, before)) before = this.evictable.previous[before]!
    this.evictable.insertAfter(list, before, copy)
  }

  #goesBefore(copy: number, other: number): boolean {
    const deeper = this.#position[copy]! - this.#position[other]!
    return deeper > 0 || (deeper === 0 && this.#age[copy]! < this.#age[other]!)
  }

  /** Forgets a copy that is in no eviction list; true = it was the last of its block, whose key stays readable until the next `add`. */
  delete(copy: number): boolean {
    const block = this.#block[copy]!
    this.#ofBlock.unlink(block, copy)
    this.#copies.give(copy)
    if (this.#ofBlock.head[block] !== NONE) return false
    this.#blocks.delete(block)
    return true
  }

  lowOf(copy: number): number {
    return this.#blocks.low[this.#block[copy]!]!
  }

  highOf(copy: number): number {
    return this.#blocks.high[this.#block[copy]!]!
  }

  #grow(): void {
    const { capacity } = this.#copies
    this.#block = grown(this.#block, capacity)
    this.references = grown(this.references, capacity)
    this.#position = grown(this.#position, capacity)
    this.#age = grown(this.#age, capacity)
    this.#ofBlock.growMembers(capacity)
    this.evictable.growMembers(capacity)
  }
}
