import type { HashWords } from '@router/kv-index'

const chunkBits = 16
const chunkHashes = 1 << chunkBits
const positionMask = chunkHashes - 1
const largestClass = 12

/** Hashes of the longest run; longer paths are several runs. */
export const maximumRun = 1 << largestClass

/**
 * Runs of 64-bit hashes, addressed by one number and never moved. Chunks hold interleaved halves as signed words: a word above 2^31 in a
 * plain variable would be boxed. Sizes are powers of two, freed runs are used again by size; growing adds a chunk and copies nothing.
 */
export class RunPool {
  /** Hashes in chunks, used or not. */
  capacity = 0
  /** Hashes given out, rounded up to sizes. */
  taken = 0
  readonly #chunks: Int32Array[] = []
  // Free runs by size, each holding the address of the next; -1 ends a list.
  readonly #heads = new Int32Array(largestClass + 1).fill(-1)
  #end = 0

  /** Stores `count` hashes from index `from`. At most `maximumRun`. */
  store(hashes: HashWords, from: number, count: number): number {
    const address = this.#take(count)
    const words = this.#chunks[address >>> chunkBits]!
    const to = 2 * (address & positionMask)
    const first = 2 * from
    for (let word = 0; word < 2 * count; word++) words[to + word] = hashes[first + word]!
    return address
  }

  /** A new run of `count` hashes of another, from its position `from`. */
  copy(source: number, from: number, count: number): number {
    const address = this.#take(count)
    const words = this.#chunks[address >>> chunkBits]!
    const sourceWords = this.#chunks[source >>> chunkBits]!
    const to = 2 * (address & positionMask)
    const first = 2 * ((source & positionMask) + from)
    for (let word = 0; word < 2 * count; word++) words[to + word] = sourceWords[first + word]!
    return address
  }

  /** Gives a run of `count` hashes back. */
  release(address: number, count: number): void {
    const size = sizeClassOf(count)
    this.#chunks[address >>> chunkBits]![2 * (address & positionMask)] = this.#heads[size]!
    this.#heads[size] = address
    this.taken -= 1 << size
  }

  /** How many leading hashes of a run equal those from index `from`; at most `limit`. */
  matching(address: number, limit: number, hashes: HashWords, from: number): number {
    const words = this.#chunks[address >>> chunkBits]!
    const own = 2 * (address & positionMask)
    const other = 2 * from
    let word = 0
    while (
      word < 2 * limit &&
      words[own + word] === (hashes[other + word]! | 0) &&
      words[own + word + 1] === (hashes[other + word + 1]! | 0)
    )
      word += 2
    return word >> 1
  }

  /** Low half of a run's first hash, signed. */
  firstLow(address: number): number {
    return this.#chunks[address >>> chunkBits]![2 * (address & positionMask)]!
  }

  /** High half of a run's first hash, signed. */
  firstHigh(address: number): number {
    return this.#chunks[address >>> chunkBits]![2 * (address & positionMask) + 1]!
  }

  #take(count: number): number {
    const size = sizeClassOf(count)
    this.taken += 1 << size
    const head = this.#heads[size]!
    if (head >= 0) {
      this.#heads[size] = this.firstLow(head)
      return head
    }
    const rest = this.capacity - this.#end
    if (rest < 1 << size) this.#addChunk(rest)
    const address = this.#end
    this.#end += 1 << size
    return address
  }

  /** Hands what is left of the last chunk to the lists, and starts another. */
  #addChunk(rest: number): void {
    let left = rest
    while (left > 0) {
      const size = 31 - Math.clz32(left)
      this.taken += 1 << size
      this.release(this.#end, 1 << size)
      this.#end += 1 << size
      left -= 1 << size
    }
    this.#chunks.push(new Int32Array(2 * chunkHashes))
    this.capacity += chunkHashes
  }
}

function sizeClassOf(count: number): number {
  return 32 - Math.clz32(count - 1)
}
