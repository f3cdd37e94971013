/** No entry: ids of pools start at 1, so that fresh columns and links say so by themselves. */
export const NONE = 0

const FIRST_CAPACITY = 64

/** A longer copy of a column. */
export function grown<T extends Uint32Array | Float64Array>(column: T, capacity: number): T {
  const larger = new (column.constructor as new (length: number) => T)(capacity)
  larger.set(column)
  return larger
}

/**
 * Ids of entries whose fields are columns of the owner: given out from 1, taken back and given out again. The owner lengthens its
 * columns to `capacity` when that has grown. Allocates only to grow; never shrinks.
 */
export class EntryPool {
  /** Columns of this length hold every id. */
  capacity = FIRST_CAPACITY
  /** Entries that are out. */
  size = 0
  #unused = 1
  #free = NONE
  #nextFree = new Uint32Array(FIRST_CAPACITY)

  take(): number {
    this.size++
    const id = this.#free
    if (id !== NONE) {
      this.#free = this.#nextFree[id]!
      return id
    }
    if (this.#unused === this.capacity) {
      this.capacity *= 2
      this.#nextFree = grown(this.#nextFree, this.capacity)
    }
    return this.#unused++
  }

  give(id: number): void {
    this.size--
    this.#nextFree[id] = this.#free
    this.#free = id
  }
}
