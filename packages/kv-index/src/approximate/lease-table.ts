import { EntryPool, NONE, grown } from './entry-pool.js'
import { KeyPool } from './key-pool.js'
import { LinkedLists } from './linked-lists.js'

/**
 * What live attempts refer to: a lease by (life of a rank, attempt), with the copies it refers to, the last one first, and its
 * private blocks. Leases stand in lists, numbered by the owner. `O(1)` a reference; allocates only to grow.
 */
export class LeaseTable {
  readonly #keys = new KeyPool()
  /** By lease: blocks that no other request can share. */
  privateBlocks = new Float64Array(this.#keys.capacity)
  #lastReference = new Uint32Array(this.#keys.capacity)
  readonly lists = new LinkedLists(this.#keys.capacity, 1)
  readonly #references = new EntryPool()
  #copy = new Uint32Array(this.#references.capacity)
  #previousReference = new Uint32Array(this.#references.capacity)

  /** The lease, or `NONE`. */
  find(life: number, attempt: number): number {
    return this.#keys.find(life, lowOf(attempt), highOf(attempt))
  }

  /** A new lease without references, at the end of a list; the attempt must not have one. */
  add(life: number, attempt: number, list: number): number {
    const lease = this.#keys.add(life, lowOf(attempt), highOf(attempt))
    const { capacity } = this.#keys
    if (capacity > this.#lastReference.length) {
      this.privateBlocks = grown(this.privateBlocks, capacity)
      this.#lastReference = grown(this.#lastReference, capacity)
      this.lists.growMembers(capacity)
    }
    this.privateBlocks[lease] = 0
    this.#lastReference[lease] = NONE
    this.lists.append(list, lease)
    return lease
  }

  refer(lease: number, copy: number): void {
    const reference = this.#references.take()
    const { capacity } = this.#references
    if (capacity > this.#copy.length) {
      this.#copy = grown(this.#copy, capacity)
      this.#previousReference = grown(this.#previousReference, capacity)
    }
    this.#copy[reference] = copy
    this.#previousReference[reference] = this.#lastReference[lease]!
    this.#lastReference[lease] = reference
  }

  /** Takes back the last reference and returns its copy; `NONE` = there is none left. */
  pop(lease: number): number {
    const reference = this.#lastReference[lease]!
    if (reference === NONE) return NONE
    this.#lastReference[lease] = this.#previousReference[reference]!
    this.#references.give(reference)
    return this.#copy[reference]!
  }

  /** Forgets a lease that has no references left. */
  delete(lease: number, list: number): void {
    this.lists.unlink(list, lease)
    this.#keys.delete(lease)
  }
}

function lowOf(attempt: number): number {
  return attempt >>> 0
}

function highOf(attempt: number): number {
  return Math.floor(attempt / 2 ** 32) >>> 0
}
