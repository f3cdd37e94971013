import { type HashWords, hashAt, highOf, lowOf } from '../hash-words.js'
import type { BlockHashes } from './block-hashes.js'
import { type BlockLayout, checkBlockSize, hashedBlocks, windowTokens } from './block-layout.js'
import { type TokenIds, checkHashes, checkToken, checkTokens } from './checks.js'
import { HashMemory, passBlocks, passTokens, scratchWords } from './hash-memory.js'
import { replaceRuns } from './multimodal.js'
import { type HashSeed, RequestSeeds } from './request-seed.js'
import { writeUtf8 } from './utf8.js'

/** What sets the blocks of one request apart from equal tokens of another: blocks of different ones never match. */
export interface HashNamespace {
  /** Empty = absent. */
  readonly loraName?: string | null | undefined
  /** Empty = absent. */
  readonly cacheSalt?: string | null | undefined
  /** Takes the place of both: what `seedOf` gave for them. */
  readonly seed?: HashSeed | undefined
}

/** How the tokens of one request or event are hashed. */
export interface HashingOptions extends BlockLayout, HashNamespace {
  /**
   * Hashes of the multimodal objects that each block overlaps, by block of the given tokens, in any order; 64 bits, signed or unsigned. An
   * object that stands twice counts twice. Missing lists are empty, surplus ones ignored.
   */
  readonly objectsByBlock?: readonly (readonly bigint[])[] | undefined
  /**
   * Image token of a model whose engines pad, for the blocks of events: in a block that has it and objects, its runs are replaced as
   * by `replaceImageTokens`, with the objects of the block, which then are not hashed. Prompts are replaced as a whole beforehand.
   */
  readonly imageToken?: number | undefined
}

/** Whether sequence hashes are made, and whether the first one follows the hash that the memory remembers. */
type Chaining = 'none' | 'start' | 'continue'

// Copied one by one, which costs no view.
const fewTokens = 256

const none: readonly bigint[] = []
const objectSeed = { low: 0, high: 0 }

/**
 * Hashes token blocks: the local hash of a block is XXH3-64 over its tokens as 32-bit little-endian words, the sequence hash chains the
 * local hashes from the left. A prompt of up to 131,072 tokens in up to 8,192 blocks is one call of the kernel; there is a
 * WebAssembly kernel and a plain one, with equal results.
 *
 * A hasher has 0.7 MiB of memory that never grows and serves any number of partitions, one call at a time. Warm it allocates nothing
 * but a view for tokens from the middle or beyond one pass, and what blocks with objects or of over 16,384 tokens need.
 */
export class BlockHasher {
  readonly #memory: HashMemory
  readonly #seeds: RequestSeeds
  // The first 1, 2, 4 ... blocks of the hashes: what is copied, so that no view is made for each call.
  readonly #localViews: HashWords[]
  readonly #sequenceViews: HashWords[]

  /** `webAssembly` false = the plain kernel even where the other could run. */
  constructor({ webAssembly = true }: { readonly webAssembly?: boolean | undefined } = {}) {
    const memory = new HashMemory(webAssembly)
    this.#memory = memory
    this.#seeds = new RequestSeeds((text, seed) => this.#hashText(text, { low: seed, high: 0 }))
    this.#localViews = viewsOf(memory.local)
    this.#sequenceViews = viewsOf(memory.sequence)
  }

  /** Whether the WebAssembly kernel is the one in use. */
  get usesWebAssembly(): boolean {
    return this.#memory.usesWebAssembly
  }

  /**
   * Local and sequence hashes of the complete blocks of a prompt, replacing what `target` had. `O(tokens)`.
   * Throws `KV_INDEX_BLOCK_SIZE_INVALID`, `KV_INDEX_TOKEN_INVALID`, `KV_INDEX_HASH_INVALID`; `target` then is as it was.
   */
  hash(tokens: TokenIds, options: HashingOptions, target: BlockHashes): void {
    check(tokens, options)
    target.count = 0
    this.#append(tokens, options, target, 'start')
  }

  /** `hash` of a prompt whose first block follows a block with this sequence hash. */
  hashAfter(
    previousLow: number,
    previousHigh: number,
    tokens: TokenIds,
    options: HashingOptions,
    target: BlockHashes,
  ): void {
    check(tokens, options)
    target.count = 0
    this.#memory.setPrevious(previousLow | 0, previousHigh | 0)
    this.#append(tokens, options, target, 'continue')
  }

  /** Appends the blocks of a prompt that grew: `tokens` are those from the end of the blocks in `target` on. Otherwise as `hash`. */
  extend(tokens: TokenIds, options: HashingOptions, target: BlockHashes): void {
    check(tokens, options)
    const { sequence, count } = target
    if (count > 0) this.#memory.continueAfter(sequence, count - 1)
    this.#append(tokens, options, target, count === 0 ? 'start' : 'continue')
  }

  /**
   * The local hashes alone, as events need them, of the tokens `[start, end)`; sequence hashes in `target` then mean nothing.
   * Otherwise as `hash`.
   */
  hashLocal(
    tokens: TokenIds,
    options: HashingOptions,
    target: BlockHashes,
    start = 0,
    end = tokens.length,
  ): void {
    const last = Math.min(end, tokens.length)
    check(tokens, options, start, last)
    target.count = 0
    this.#append(tokens, options, target, 'none', start, last)
  }

  /**
   * Local hash of the one block that starts at a token, to `out` at a block index. The objects are those of `objectsByBlock[0]`.
   * False where the tokens do not cover the block; nothing is written then. Throws as `hash`, for tokens before the end of the block.
   */
  hashBlock(
    tokens: TokenIds,
    start: number,
    options: HashingOptions,
    out: HashWords,
    index: number,
  ): boolean {
    checkBlockSize(options.blockSize)
    const length = windowTokens(options)
    if (start + length > tokens.length) return false
    check(tokens, options, start, start + length)
    const objects = options.objectsByBlock?.[0] ?? none
    this.#hashWindow(tokens, start, length, options, this.#seedFor(options), objects, 0)
    this.#copyOne(out, index)
    return true
  }

  /** Sequence hashes of the local hashes that `target` has. */
  chain(target: BlockHashes): void {
    const memory = this.#memory
    for (let done = 0; done < target.count;) {
      const blocks = Math.min(passBlocks, target.count - done)
      for (let word = 0; word < 2 * blocks; word++) memory.local[word] = target.local[2 * done + word]!
      memory.chain(blocks, done === 0)
      memory.continueAfter(memory.sequence, blocks - 1)
      target.reserve(done + roomFor(blocks))
      target.sequence.set(viewFor(this.#sequenceViews, blocks), 2 * done)
      done += blocks
    }
  }

  /** XXH3-64 of bytes, to `out` at an index; for engines whose block hashes are bytes, with seed 0. */
  hashBytes(bytes: Uint8Array, seed: HashSeed, out: HashWords, index: number): void {
    const { scratchBytes } = this.#memory
    if (bytes.length > scratchBytes.length) this.#memory.hashOutside(bytes, seed, 0)
    else {
      scratchBytes.set(bytes)
      this.#memory.hashScratch(bytes.length, seed, 0)
    }
    this.#copyOne(out, index)
  }

  /** The seed of a request's blocks, to be kept and given as `seed`. */
  seedOf(loraName?: string | null, cacheSalt?: string | null): HashSeed {
    return { ...this.#seeds.seedOf(loraName, cacheSalt) }
  }

  /**
   * The hash of a multimodal object by its identifier: 64 hexadecimal digits stand for the u64 of their first 16, any other text is
   * hashed. `undefined` for an empty one: no object.
   */
  objectHash(identifier: string): bigint | undefined {
    if (identifier === '') return undefined
    if (/^[0-9a-f]{64}$/i.test(identifier)) return BigInt(`0x${identifier.slice(0, 16)}`)
    this.#hashText(identifier, objectSeed)
    return hashAt(this.#memory.local, 0)
  }

  #seedFor({ seed, loraName, cacheSalt }: HashNamespace): HashSeed {
    return seed ?? this.#seeds.seedOf(loraName, cacheSalt)
  }

  /** Everything given is checked. */
  #append(
    tokens: TokenIds,
    options: HashingOptions,
    target: BlockHashes,
    chaining: Chaining,
    start = 0,
    end = tokens.length,
  ): void {
    const { blockSize } = options
    // Before anything is in the memory: the seed may have to be hashed there.
    const seed = this.#seedFor(options)
    const length = windowTokens(options)
    const count = hashedBlocks(end - start, options)
    // 0 = a block does not fit.
    const perPass = Math.min(passBlocks, Math.floor((passTokens - length + blockSize) / blockSize))
    let next = chaining
    for (let done = 0; done < count;) {
      const blocks = Math.min(Math.max(1, perPass), count - done)
      if (perPass > 0) this.#hashPass(tokens, start, done, blocks, options, seed, next)
      else {
        const objects = options.objectsByBlock?.[done] ?? none
        this.#hashWindow(tokens, start + done * blockSize, length, options, seed, objects, 0)
        this.#chainPass(1, next)
      }
      this.#copyOut(target, blocks, next)
      if (next === 'start') next = 'continue'
      done += blocks
    }
  }

  #hashPass(
    tokens: TokenIds,
    start: number,
    first: number,
    blocks: number,
    options: HashingOptions,
    seed: HashSeed,
    chaining: Chaining,
  ): void {
    const { blockSize, objectsByBlock } = options
    const length = windowTokens(options)
    this.#load(tokens, start + first * blockSize, blocks * blockSize + length - blockSize)
    if (objectsByBlock === undefined && chaining !== 'none') {
      this.#memory.hashChained(length, blockSize, blocks, seed, chaining === 'start')
      this.#memory.continueAfter(this.#memory.sequence, blocks - 1)
      return
    }
    this.#memory.hashBlocks(length, blockSize, blocks, seed)
    for (let block = 0; objectsByBlock !== undefined && block < blocks; block++) {
      const objects = objectsByBlock[first + block] ?? none
      if (objects.length > 0)
        this.#hashWindow(tokens, start + (first + block) * blockSize, length, options, seed, objects, block)
    }
    this.#chainPass(blocks, chaining)
  }

  #chainPass(blocks: number, chaining: Chaining): void {
    if (chaining === 'none') return
    this.#memory.chain(blocks, chaining === 'start')
    this.#memory.continueAfter(this.#memory.sequence, blocks - 1)
  }

  #load(tokens: TokenIds, start: number, count: number): void {
    const { input } = this.#memory
    if (!(tokens instanceof Uint32Array) || count <= fewTokens) {
      copyTokens(tokens, start, count, input)
    } else if (start === 0 && tokens.length <= input.length) input.set(tokens)
    else input.set(tokens.subarray(start, start + count))
  }

  /** One block with its objects, to `local` hash `index`. */
  #hashWindow(
    tokens: TokenIds,
    start: number,
    length: number,
    { imageToken }: HashingOptions,
    seed: HashSeed,
    objects: readonly bigint[],
    index: number,
  ): void {
    const words = length + 2 * objects.length
    const isOutside = words > scratchWords
    const window = isOutside ? new Uint32Array(words) : this.#memory.scratch
    copyTokens(tokens, start, length, window)
    let used = length
    const isReplaced = imageToken !== undefined && replaceRuns(window, length, imageToken, objects)
    if (!isReplaced && objects.length > 0) {
      for (const hash of BigUint64Array.from(objects).sort()) {
        window[used++] = lowOf(hash)
        window[used++] = highOf(hash)
      }
    }
    if (isOutside) this.#memory.hashOutside(new Uint8Array(window.buffer, 0, 4 * used), seed, index)
    else this.#memory.hashScratch(4 * used, seed, index)
  }

  #hashText(text: string, seed: HashSeed): HashSeed {
    const { scratchBytes, local } = this.#memory
    const isOutside = 3 * text.length > scratchBytes.length
    const bytes = isOutside ? new Uint8Array(3 * text.length) : scratchBytes
    const length = writeUtf8(text, bytes)
    if (isOutside) this.#memory.hashOutside(bytes.subarray(0, length), seed, 0)
    else this.#memory.hashScratch(length, seed, 0)
    return { low: local[0]!, high: local[1]! }
  }

  #copyOut(target: BlockHashes, blocks: number, chaining: Chaining): void {
    const start = target.count
    target.reserve(start + roomFor(blocks))
    target.local.set(viewFor(this.#localViews, blocks), 2 * start)
    if (chaining !== 'none') target.sequence.set(viewFor(this.#sequenceViews, blocks), 2 * start)
    target.count = start + blocks
  }

  #copyOne(out: HashWords, index: number): void {
    out[2 * index] = this.#memory.local[0]!
    out[2 * index + 1] = this.#memory.local[1]!
  }
}

/** Throws before anything changed. */
function check(tokens: TokenIds, options: HashingOptions, start = 0, end = tokens.length): void {
  checkBlockSize(options.blockSize)
  checkTokens(tokens, start, end)
  if (options.objectsByBlock !== undefined) for (const objects of options.objectsByBlock) checkHashes(objects)
  if (options.imageToken !== undefined) checkToken(options.imageToken)
}

/** Two loops, so that each reads one kind of list: a loop that reads both makes an object of each large token. */
function copyTokens(tokens: TokenIds, start: number, count: number, target: Uint32Array): void {
  if (tokens instanceof Uint32Array) {
    for (let index = 0; index < count; index++) target[index] = tokens[start + index]!
  } else {
    for (let index = 0; index < count; index++) target[index] = tokens[start + index]!
  }
}

function viewsOf(words: HashWords): HashWords[] {
  const views: HashWords[] = []
  for (let blocks = 1; 2 * blocks <= words.length; blocks *= 2) views.push(words.subarray(0, 2 * blocks))
  return views
}

/** The smallest view that holds so many blocks, from 1 on. */
function viewFor(views: readonly HashWords[], blocks: number): HashWords {
  return views[32 - Math.clz32(blocks - 1)]!
}

/** Blocks of that view. */
function roomFor(blocks: number): number {
  return 2 ** (32 - Math.clz32(blocks - 1))
}
