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
  #tokenStart = 0
  #objects: WireEvent['objects']

  constructor(hasher: BlockHasher) {
    this.#hasher = hasher
  }

  /** Hashes of the last `compute`, from index 0 on; valid until the next one. */
  get words(): HashWords {
    return this.#hashes.local
  }

  /** The event whose blocks are hashed from now on, a store of the partition's block size; complete blocks, at most one an engine hash. */
  prepare(event: WireEvent, salt: string | undefined, imageToken: number | undefined): number {
    const options = this.#options
    const { blockSize, isEagle } = event
    options.blockSize = blockSize
    options.isEagle = isEagle
    options.loraName = event.loraName
    options.cacheSalt = salt
    options.imageToken = imageToken
    this.#objects = event.objects
    this.#tokenStart = event.tokenStart
    const complete = Math.floor((event.tokenCount - (isEagle ? 1 : 0)) / blockSize)
    return Math.max(0, Math.min(event.hashCount, complete))
  }

  /** Hashes `count` blocks of the event, all of them complete. */
  compute(tokens: Uint32Array, first: number, count: number): void {
    const options = this.#options
    const { blockSize, isEagle } = options
    const start = this.#tokenStart + first * blockSize
    options.objectsByBlock = first === 0 ? this.#objects : this.#objects?.slice(first, first + count)
    this.#hasher.hashLocal(
      tokens,
      options,
      this.#hashes,
      start,
      start + count * blockSize + (isEagle ? 1 : 0),
    )
  }
}
