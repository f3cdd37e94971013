const CHUNK_BITS = 16
const CHUNK_BLOCKS = 1 << CHUNK_BITS
const SMALLEST_BLOCKS = 1 << 8
const CLASSES = CHUNK_BITS + 1
/** With more than this share of the pool free, a shorter run is given out before the pool grows. */
const SPARE = 1 / 8
const TRIES = 4
const NO_WORDS = new Int32Array(0)

/** Chunk of a block's position. */
export const BLOCK_SHIFT = CHUNK_BITS
/** Block within its chunk. */
export const BLOCK_MASK = CHUNK_BLOCKS - 1

/**
 * Runs of blocks, addressed by the position of their first block; runs never move. A block has a local hash, an engine hash and an owner
 * (the edge it belongs to; 0 = free). Free extents coalesce with their neighbours and hang in lists by size, kept in the words of
 * the free blocks themselves: first block: next, previous (position + 1), size; last block: size.
 */
export class BlockPool {
  /** Local hashes by chunk, two words a block. */
  readonly local: Int32Array[] = [new Int32Array(2 * SMALLEST_BLOCKS)]
  /** Engine hashes by chunk, two words a block. */
  readonly engine: Int32Array[] = [new Int32Array(2 * SMALLEST_BLOCKS)]
  /** Edge by chunk and block. */
  readonly owner: Int32Array[] = [new Int32Array(SMALLEST_BLOCKS)]
  /** Blocks of the run that `allocate` gave last. */
  granted = 0
  /** Blocks reserved, free or not. */
  capacity = SMALLEST_BLOCKS
  freeBlocks = 0
  readonly #heads = new Int32Array(CLASSES)
  #classes = 0
  // A chunk kept although all of it is free, -1 = none; and chunks that were given back, whose positions may be used again.
  #spare = -1
  readonly #returned: number[] = []

  constructor() {
    this.release(0, SMALLEST_BLOCKS)
  }

  /** Position of a run of at most `blocks` blocks; how many it has is in `granted`. The caller writes all three columns. */
  allocate(blocks: number): number {
    const wanted = Math.min(blocks, CHUNK_BLOCKS)
    let extent = this.#fitting(wanted)
    if (extent < 0 && this.freeBlocks > this.capacity * SPARE && this.capacity >= CHUNK_BLOCKS) {
      extent = this.#heads[31 - Math.clz32(this.#classes)]! - 1
    }
    if (extent < 0) {
      this.#grow(wanted)
      extent = this.#fitting(wanted)
    }
    const size = this.#sizeOf(extent)
    this.granted = Math.min(wanted, size)
    this.#take(extent, size, this.granted)
    return extent
  }

  /** Takes up to `blocks` free blocks that begin exactly at a position; how many. */
  extend(position: number, blocks: number): number {
    if ((position & BLOCK_MASK) === 0) return 0
    const owner = this.owner[position >>> CHUNK_BITS]!
    if ((position & BLOCK_MASK) >= owner.length || owner[position & BLOCK_MASK] !== 0) return 0
    const size = this.#sizeOf(position)
    const taken = Math.min(size, blocks)
    this.#take(position, size, taken)
    return taken
  }

  /** Gives blocks back. They must be allocated and lie in one chunk. */
  release(position: number, blocks: number): void {
    const chunk = position >>> CHUNK_BITS
    const owner = this.owner[chunk]!
    let first = position
    let size = blocks
    const offset = position & BLOCK_MASK
    this.own(position, blocks, 0)
    this.freeBlocks += blocks
    if (offset > 0 && owner[offset - 1] === 0) {
      const before = this.engine[chunk]![2 * (offset - 1) + 1]!
      first -= before
      size += before
      this.#unlink(first, before)
    }
    if (offset + blocks < owner.length && owner[offset + blocks] === 0) {
      const behind = this.engine[chunk]![2 * (offset + blocks)]!
      size += behind
      this.#unlink(position + blocks, behind)
    }
    if (size === CHUNK_BLOCKS && chunk > 0) this.#freeChunk(chunk)
    else this.#link(first, size)
  }

  /** Edge of a block; 0 = free. */
  ownerOf(position: number): number {
    return this.owner[position >>> CHUNK_BITS]![position & BLOCK_MASK]!
  }

  /** Whether a block has this local hash, as signed halves. */
  hasLocal(position: number, low: number, high: number): boolean {
    const words = this.local[position >>> CHUNK_BITS]!
    const at = 2 * (position & BLOCK_MASK)
    return words[at] === low && words[at + 1] === high
  }

  /** Whether a block has this engine hash, as signed halves. */
  hasEngine(position: number, low: number, high: number): boolean {
    const words = this.engine[position >>> CHUNK_BITS]!
    const at = 2 * (position & BLOCK_MASK)
    return words[at] === low && words[at + 1] === high
  }

  /** Makes an edge the owner of a run of blocks. */
  own(position: number, blocks: number, edge: number): void {
    const offset = position & BLOCK_MASK
    const owner = this.owner[position >>> CHUNK_BITS]!
    if (blocks < 16) for (let block = offset; block < offset + blocks; block++) owner[block] = edge
    else owner.fill(edge, offset, offset + blocks)
  }

  /** All of a chunk is free: one such chunk is kept, so that a load that goes up and down a little allocates nothing. */
  #freeChunk(chunk: number): void {
    const spare = this.#spare
    const isSpareFree =
      spare > 0 && spare !== chunk && this.engine[spare]![0] === CHUNK_BLOCKS && this.owner[spare]![0] === 0
    if (!isSpareFree) {
      this.#spare = chunk
      this.#link(chunk * CHUNK_BLOCKS, CHUNK_BLOCKS)
      return
    }
    this.local[chunk] = NO_WORDS
    this.engine[chunk] = NO_WORDS
    this.owner[chunk] = NO_WORDS
    this.#returned.push(chunk)
    this.capacity -= CHUNK_BLOCKS
    this.freeBlocks -= CHUNK_BLOCKS
  }

  #fitting(blocks: number): number {
    const atLeast = 32 - Math.clz32(blocks - 1)
    const larger = this.#classes & (-1 << atLeast)
    if (larger !== 0) return this.#heads[31 - Math.clz32(larger & -larger)]! - 1
    let extent = this.#heads[31 - Math.clz32(blocks)]! - 1
    for (let tries = TRIES; extent >= 0 && tries > 0; tries--) {
      if (this.#sizeOf(extent) >= blocks) return extent
      extent = this.local[extent >>> CHUNK_BITS]![2 * (extent & BLOCK_MASK)]! - 1
    }
    return -1
  }

  #sizeOf(extent: number): number {
    return this.engine[extent >>> CHUNK_BITS]![2 * (extent & BLOCK_MASK)]!
  }

  #take(extent: number, size: number, taken: number): void {
    this.#unlink(extent, size)
    this.freeBlocks -= taken
    if (size > taken) this.#link(extent + taken, size - taken)
  }

  #link(extent: number, size: number): void {
    const chunk = extent >>> CHUNK_BITS
    const first = extent & BLOCK_MASK
    const last = first + size - 1
    const sizeClass = 31 - Math.clz32(size)
    const next = this.#heads[sizeClass]!
    const local = this.local[chunk]!
    const engine = this.engine[chunk]!
    local[2 * first] = next
    local[2 * first + 1] = 0
    engine[2 * first] = size
    engine[2 * last + 1] = size
    if (next > 0) this.local[(next - 1) >>> CHUNK_BITS]![2 * ((next - 1) & BLOCK_MASK) + 1] = extent + 1
    this.#heads[sizeClass] = extent + 1
    this.#classes |= 1 << sizeClass
  }

  #unlink(extent: number, size: number): void {
    const local = this.local[extent >>> CHUNK_BITS]!
    const first = 2 * (extent & BLOCK_MASK)
    const next = local[first]!
    const previous = local[first + 1]!
    if (next > 0) this.local[(next - 1) >>> CHUNK_BITS]![2 * ((next - 1) & BLOCK_MASK) + 1] = previous
    if (previous > 0) {
      this.local[(previous - 1) >>> CHUNK_BITS]![2 * ((previous - 1) & BLOCK_MASK)] = next
      return
    }
    const sizeClass = 31 - Math.clz32(size)
    this.#heads[sizeClass] = next
    if (next === 0) this.#classes &= ~(1 << sizeClass)
  }

  /** One more chunk, or a longer first one. */
  #grow(blocks: number): void {
    const only = this.owner[0]!.length
    if (only >= CHUNK_BLOCKS) {
      const chunk = this.#returned.pop() ?? this.owner.length
      this.local[chunk] = new Int32Array(2 * CHUNK_BLOCKS)
      this.engine[chunk] = new Int32Array(2 * CHUNK_BLOCKS)
      this.owner[chunk] = new Int32Array(CHUNK_BLOCKS)
      this.capacity += CHUNK_BLOCKS
      this.freeBlocks += CHUNK_BLOCKS
      this.#link(chunk * CHUNK_BLOCKS, CHUNK_BLOCKS)
      return
    }
    const length = Math.min(CHUNK_BLOCKS, Math.max(2 * only, only + blocks))
    this.local[0] = longer(this.local[0]!, 2 * length)
    this.engine[0] = longer(this.engine[0]!, 2 * length)
    this.owner[0] = longer(this.owner[0]!, length)
    this.capacity = length
    this.release(only, length - only)
    if (this.#fitting(blocks) < 0) this.#grow(blocks)
  }
}

function longer(words: Int32Array, length: number): Int32Array {
  const grown = new Int32Array(length)
  grown.set(words)
  return grown
}
