import { isUtf8 } from 'node:buffer'
import { type BlockHasher, type BlockHashes, hashedBlocks } from '@router/kv-index'
import { ChunkHasher, type ChunkLayout, chunkBytesPerToken } from '../content/chunk-hasher.js'
import { writeConversation, writeText } from '../content/prompt-text.js'
import type { PromptEndpoint } from '../endpoint.js'
import { bodyError } from './body-errors.js'
import type { BodyReading } from './body-reading.js'
import { JsonScanner } from './json-scanner.js'
import { JsonView, absent } from './json-view.js'
import { promptListAt } from './prompt-list.js'
import { readRequest } from './read-request.js'
import { readSelection } from './read-selection.js'
import { type ObjectScan, entriesOf } from './scan-object.js'

/** What counts in a body beside its prompt. */
export interface BodyOptions {
  /** Whether `nvext` counts. Default true. */
  readonly nvext?: boolean | undefined
  /** What `scan` found in these bytes, which did not change since: they are not walked over again, unless others were meanwhile. */
  readonly scan?: ObjectScan | undefined
}

/**
 * Reads what requests are routed on from the bytes of their bodies: no tokenizer, no parse of long strings, and one walk over the bytes.
 * One reader serves request after request. It keeps no body; what it keeps between bodies is below 4 MiB.
 *
 * Bytes that are not UTF-8 and surrogates that stand alone count as U+FFFD, as a tokenizer will see them. A byte order mark is passed over.
 */
export class BodyReader {
  readonly #scanner = new JsonScanner()
  readonly #chunkHasher: ChunkHasher
  // What the tape is of.
  #last: BodyReading | undefined
  #lastScan: ObjectScan | undefined

  constructor(hasher: BlockHasher) {
    this.#chunkHasher = new ChunkHasher(hasher)
  }

  /** The entries of a body, as `scanObject` finds them. For `read`, which then need not look for them again. */
  scan(bytes: Uint8Array): ObjectScan {
    this.#forget()
    const scan = entriesOf(new JsonView(bytes, this.#scanner.scan(bytes)))
    this.#lastScan = scan
    return scan
  }

  /**
   * What a body says. Linear in its bytes. Throws `PROMPT_BODY_INVALID` for what is no JSON object, `PROMPT_BODY_TOO_LARGE` beyond 2 million
   * values, `PROMPT_TOKEN_INVALID` for a list with something that is no token id, `PROMPT_HASHES_INVALID` for hashes or objects of a
   * selection that cannot be. What an engine will refuse otherwise is read as far as it means anything.
   */
  read(endpoint: PromptEndpoint, bytes: Uint8Array, { nvext = true, scan }: BodyOptions = {}): BodyReading {
    const isScanned = scan !== undefined && scan === this.#lastScan && isUtf8(bytes)
    this.#forget()
    const view = isScanned ? new JsonView(bytes, this.#scanner.tape) : this.#scan(bytes)
    if (!view.isObject(0)) throw bodyError(bytes, view.tape.start(0), '"{"')
    const found = endpoint === 'selection' ? readSelection(view) : readRequest(view, endpoint, nvext)
    // Spans of other bytes than the caller's would mean nothing.
    const reading = view.bytes === bytes ? found : { ...found, mediaSpans: [] }
    this.#last = reading
    return reading
  }

  /**
   * Hashes of the content chunks of the prompt (the first, of a list) that `read` found in these bytes, in place of what `target` had; none
   * for a prompt that was given as ids or hashes and for a request that is routed on nothing. Throws `KV_INDEX_BLOCK_SIZE_INVALID`.
   */
  contentChunks(bytes: Uint8Array, reading: BodyReading, layout: ChunkLayout, target: BlockHashes): void {
    hashedBlocks(0, layout)
    target.count = 0
    if (reading.route !== 'tokenize' && reading.route !== 'content') return
    // Without media there is no more text than was counted.
    if (reading.mediaParts === 0 && reading.textBytes < chunkBytesPerToken * layout.blockSize) return
    const isSame = this.#last === reading
    const view = isSame ? new JsonView(wellFormed(bytes), this.#scanner.tape) : this.#scan(bytes)
    this.#forget()
    this.#last = reading
    const sink = this.#chunkHasher
    sink.begin(layout, target)
    if (reading.endpoint === 'completions') {
      const [first = absent] = promptListAt(view, view.find(0, 'prompt'), 'prompt').nodes
      if (view.isText(first)) writeText(view, first, sink)
    } else writeConversation(view, reading.endpoint, sink)
    sink.end()
  }

  #forget(): void {
    this.#last = undefined
    this.#lastScan = undefined
  }

  #scan(bytes: Uint8Array): JsonView {
    const text = wellFormed(bytes)
    // Faults are told by their place in the bytes given.
    if (text !== bytes) this.#scanner.scan(bytes)
    return new JsonView(text, this.#scanner.scan(text))
  }
}

/** The bytes themselves where they are UTF-8. */
function wellFormed(bytes: Uint8Array): Uint8Array {
  return isUtf8(bytes) ? bytes : new TextEncoder().encode(new TextDecoder().decode(bytes))
}
