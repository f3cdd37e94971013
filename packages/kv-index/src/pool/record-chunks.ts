const CHUNK_BITS = 18
const CHUNK_WORDS = 1 << CHUNK_BITS
const SMALLEST_WORDS = 1 << 10

/** Chunk of a record's address. */
export const RECORD_SHIFT = CHUNK_BITS
/** Word of a record within its chunk: `chunks[address >>> RECORD_SHIFT][address & RECORD_MASK]`. */
export const RECORD_MASK = CHUNK_WORDS - 1

/**
 * Records of 32-bit words that never move, addressed by one number. Grows by whole chunks (the first one by doubling), so that no
 * call copies much; freed records are reused by size.
 */
export class RecordChunks {
  readonly chunks: Int32Array[] = [new Int32Array(SMALLEST_WORDS)]
  #end = 0
  // Head of the list of freed records, by size; each holds the address of the next + 1.
  readonly #freed = new Map<number, number>()

  /** Words reserved so far. */
  get words(): number {
    return (this.chunks.length - 1) * CHUNK_WORDS + this.chunks.at(-1)!.length
  }

  get(address: number): number {
    return this.chunks[address >>> CHUNK_BITS]![address & RECORD_MASK]!
  }

  set(address: number, value: number): void {
    this.chunks[address >>> CHUNK_BITS]![address & RECORD_MASK] = value
  }

  add(address: number, value: number): void {
    this.chunks[address >>> CHUNK_BITS]![address & RECORD_MASK]! += value
  }

  /** Address of a record of `words` words, contents undefined. At most `RECORD_MASK + 1` words. */
  allocate(words: number): number {
    const freed = this.#freed.get(words) ?? 0
    if (freed !== 0) {
      const address = freed - 1
      this.#freed.set(words, this.chunks[address >>> CHUNK_BITS]![address & RECORD_MASK]!)
      return address
    }
    let offset = this.#end & RECORD_MASK
    const chunk = this.#end >>> CHUNK_BITS
    if (chunk >= this.chunks.length || offset + words > CHUNK_WORDS) {
      if (chunk < this.chunks.length) this.#end = (chunk + 1) << CHUNK_BITS
      this.chunks.push(new Int32Array(CHUNK_WORDS))
      offset = 0
    }
    this.#ensure(offset + words)
    const address = this.#end
    this.#end += words
    return address
  }

  /** Forgets every record but those in the first `words` words, which were allocated first, and gives the chunks back. */
  reset(words: number): void {
    this.chunks.length = 1
    this.chunks[0] = this.chunks[0]!.slice(0, SMALLEST_WORDS)
    this.#end = words
    this.#freed.clear()
  }

  release(address: number, words: number): void {
    this.chunks[address >>> CHUNK_BITS]![address & RECORD_MASK] = this.#freed.get(words) ?? 0
    this.#freed.set(words, address + 1)
  }

  /** Only the first chunk is ever shorter than a whole one. */
  #ensure(words: number): void {
    const last = this.chunks.length - 1
    const chunk = this.chunks[last]!
    if (chunk.length >= words) return
    const grown = new Int32Array(Math.min(CHUNK_WORDS, Math.max(2 * chunk.length, words)))
    grown.set(chunk)
    this.chunks[last] = grown
  }
}
