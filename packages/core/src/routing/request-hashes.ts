import {
  type BlockHasher,
  BlockHashes,
  type HashWords,
  type PromptBlocks,
  TrackingHashes,
} from '@router/kv-index'
import type { PrefixHashes, WyRand } from '@router/sdk'
import { checkCount } from '../load/booking-checks.js'
import { checkBlocks } from './checks.js'
import type { PromptRequest } from './prompt-request.js'
import type { ResolvedConfig } from './router-config.js'

/** Halves of hashes in columns of their own, as policies read them. */
class SplitHashes implements PrefixHashes {
  count = 0
  high: Uint32Array = new Uint32Array(64)
  low: Uint32Array = new Uint32Array(64)

  set(words: HashWords, count: number): this {
    if (this.low.length < count) {
      this.high = new Uint32Array(2 * count)
      this.low = new Uint32Array(2 * count)
    }
    for (let block = 0; block < count; block++) {
      this.low[block] = words[2 * block]!
      this.high[block] = words[2 * block + 1]!
    }
    this.count = count
    return this
  }
}

/** Hashes of the current request: those that the index knows, and those that the books share blocks by. Reused from request to request. */
export class RequestHashes {
  /** Blocks as the index knows them. */
  blocks: PromptBlocks
  promptTokens = 0
  /** Content chunks; `undefined` = the prompt is known by its blocks. */
  chunks: PromptBlocks | undefined
  /** Tracking hashes; `undefined` = the books track no blocks. */
  tracked: HashWords | undefined
  readonly #hasher: BlockHasher
  readonly #own = new BlockHashes()
  readonly #split = new SplitHashes()
  readonly #unshared = new TrackingHashes()
  readonly #assumesKvReuse: boolean
  readonly #random: WyRand
  readonly #tracksBlocks: boolean
  readonly #options: {
    readonly blockSize: number
    loraName: string | null | undefined
    cacheSalt: string | null | undefined
    objectsByBlock: readonly (readonly bigint[])[] | undefined
    isEagle: boolean | undefined
  }

  constructor(config: ResolvedConfig, tracksBlocks: boolean, hasher: BlockHasher, random: WyRand) {
    const { blockSize } = config
    this.#hasher = hasher
    this.#random = random
    this.#tracksBlocks = tracksBlocks
    this.#assumesKvReuse = config.assumesKvReuse
    this.#options = {
      blockSize,
      loraName: undefined,
      cacheSalt: undefined,
      objectsByBlock: undefined,
      isEagle: undefined,
    }
    this.blocks = this.#own
  }

  /** Of how many blocks the books know a hash. */
  get trackedCount(): number {
    return this.tracked === undefined ? 0 : (this.chunks ?? this.blocks).count
  }

  /** The tracking hashes as a policy sees them; `undefined` = none are tracked. */
  get prefixHashes(): PrefixHashes | undefined {
    return this.tracked === undefined ? undefined : this.#split
  }

  /**
   * Takes a request. Errors: `ROUTER_BAD_REQUEST`, those of `BlockHasher.hash`; the hashes then are of no use.
   * @param isQuery draws of random hashes are taken back
   */
  take(request: PromptRequest, isQuery: boolean): void {
    this.#random.mark()
    if (request.chunks !== undefined) checkBlocks(request.chunks.hashes)
    this.chunks = request.chunks?.hashes
    if (request.tokens === undefined) {
      checkBlocks(request.blocks)
      checkCount('promptTokens', request.promptTokens)
      this.blocks = request.blocks
      this.promptTokens = request.promptTokens
    } else {
      const options = this.#options
      options.loraName = request.loraName
      options.cacheSalt = request.cacheSalt
      options.objectsByBlock = request.objectsByBlock
      options.isEagle = request.isEagle
      this.#hasher.hash(request.tokens, options, this.#own)
      this.blocks = this.#own
      this.promptTokens = request.tokens.length
    }
    const known = this.chunks ?? this.blocks
    this.tracked = this.trackedWords(known, request.assumesKvReuse)
    if (this.tracked !== undefined) this.#split.set(this.tracked, known.count)
    if (isQuery) this.takeBack()
  }

  /** The request of the last `take` came to nothing: what it drew is drawn again. */
  takeBack(): void {
    this.#random.rewind()
  }

  /** Hashes that the books know blocks by, until the next call; drawn anew where no block is shared. `undefined` = none are tracked. */
  trackedWords(
    { sequence, count }: PromptBlocks,
    assumesKvReuse = this.#assumesKvReuse,
  ): HashWords | undefined {
    if (!this.#tracksBlocks) return undefined
    if (assumesKvReuse) return sequence
    this.#unshared.setUnshared(count, this.#random)
    return this.#unshared.words
  }
}
