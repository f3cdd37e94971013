import { BlockHashes, type BlockHasher, type HashWords, type HashingOptions } from '@router/kv-index'
import type { WireEvent } from '../decode/wire-event.js'

type Options = { -readonly [Key in keyof HashingOptions]: HashingOptions[Key] }

/** Local hashes of the blocks of one event. Allocates nothing warm, but for objects. */
export class LocalHashes {
  readonly #hasher: BlockHasher
  readonly #hashes = new BlockHashes()
  readonly #options: Options = {
    blockSize: 1,
    isEagle: false,
    loraName: undefined,
    cacheSalt: undefined,
    objectsByBlock: undefined,
    imageToken: undefined,
  }

  constructor(hasher: BlockHasher) {
    this.#hasher = hasher
  }

  /** Hashes from block 0 on; valid until the next `compute`. */
  get words(): HashWords {
    return this.#hashes.local
  }

  /** Hashes the complete blocks of a store of the partition's block size; how many there are, at most one an engine hash. */
  compute(
    event: WireEvent,
    tokens: Uint32Array,
    salt: string | undefined,
    imageToken: number | undefined,
  ): number {
    const options = this.#options
    const { blockSize, isEagle, tokenStart } = event
    options.blockSize = blockSize
    options.isEagle = isEagle
    options.loraName = event.loraName
    options.cacheSalt = salt
    options.objectsByBlock = event.objects
    options.imageToken = imageToken
    const extra = isEagle ? 1 : 0
    const complete = Math.floor((event.tokenCount - extra) / blockSize)
    const count = Math.max(0, Math.min(event.hashCount, complete))
    this.#hasher.hashLocal(tokens, options, this.#hashes, tokenStart, tokenStart + count * blockSize + extra)
    return count
  }
}
