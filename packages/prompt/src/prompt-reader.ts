import { BlockHasher, BlockHashes, type PromptBlocks, hashedBlocks } from '@router/kv-index'
import { BodyReader } from './body/body-reader.js'
import type { BodyReading } from './body/body-reading.js'
import type { ObjectScan } from './body/scan-object.js'
import { TokenEstimator } from './content/token-estimator.js'
import type { PromptErrorCode } from './errors.js'
import type { PromptCause, PromptReading, PromptRequest } from './prompt-reading.js'
import { type PromptCounters, ReadingCounters } from './reading-counters.js'
import type { PromptLayout } from './threads/messages.js'
import { type ThreadOptions, resolveThreadOptions } from './threads/thread-options.js'
import { type ThreadOutcome, TokenizerThreads } from './threads/tokenizer-threads.js'

/** What is the same for every kind of reading of one request. */
interface Context {
  readonly request: PromptRequest
  readonly body: BodyReading
  readonly layout: PromptLayout
  readonly cacheSalt: string | undefined
  readonly model: string
}

type Found = Pick<PromptReading, 'exactness' | 'promptTokens'> & Partial<PromptReading>

const noHashes = new Uint32Array(0)
const noBlocks: PromptBlocks = { local: noHashes, sequence: noHashes, count: 0 }
const causeOfCode: { readonly [Code in PromptErrorCode]?: PromptCause } = {
  PROMPT_TOKENIZER_MISSING: 'tokenizer_missing',
  PROMPT_TOKENIZER_INVALID: 'tokenizer_invalid',
  PROMPT_TEMPLATE_FAILED: 'template_failed',
  PROMPT_BODY_INVALID: 'prompt_invalid',
}

// Beside this file in the sources, below the built one.
const builtWorker = new URL('./threads/worker.js', import.meta.url)

/** Reads the prompts of requests: one for a process, whatever models and partitions it serves. */
export class PromptReader {
  readonly #threads: TokenizerThreads
  readonly #hasher = new BlockHasher()
  readonly #bodies = new BodyReader(this.#hasher)
  readonly #estimator = new TokenEstimator()
  readonly #counters = new ReadingCounters()

  /** Use `createPromptReader`. */
  constructor(options: ThreadOptions) {
    this.#threads = new TokenizerThreads(resolveThreadOptions(options, builtWorker), this.#hasher)
  }

  /**
   * What the request can be routed on: at once where no tokenizer is needed, otherwise a promise that is kept within `budgetMs` and never
   * fails for the tokenizer's sake. Throws, and rejects, only for requests that cannot be: `PROMPT_BODY_INVALID`,
   * `PROMPT_BODY_TOO_LARGE`, `PROMPT_TOKEN_INVALID`, `PROMPT_HASHES_INVALID`, `KV_INDEX_BLOCK_SIZE_INVALID`.
   */
  read(request: PromptRequest): PromptReading | Promise<PromptReading> {
    this.#counters.begun()
    try {
      const context = this.#contextOf(request)
      const { body } = context
      if (body.route === 'tokens') return this.#ofTokens(context)
      if (body.route === 'hashes') return this.#ofHashes(context)
      if (body.route === 'nothing') return this.#ofNothing(context)
      const cause = causeOf(body)
      if (cause !== undefined) return this.#approximate(context, cause)
      this.#counters.wanted()
      if (request.tokenizer === undefined) return this.#approximate(context, 'tokenizer_missing')
      return this.#ofText(context, request.tokenizer).catch((error: unknown) => this.#refuse(error))
    } catch (error) {
      return this.#refuse(error)
    }
  }

  /**
   * Where the entries of a body lie, as `scanObject` finds them. Handed to `read` with the same bytes, they are walked over once. Errors:
   * those of `scanObject`.
   */
  scan(body: Uint8Array): ObjectScan {
    return this.#bodies.scan(body)
  }

  /**
   * Loads a tokenizer in every thread, so that the first prompts need not wait for it. Errors: `PROMPT_TOKENIZER_MISSING`,
   * `PROMPT_TOKENIZER_INVALID`.
   */
  load(folder: string): Promise<void> {
    return this.#threads.load(folder)
  }

  /** What an engine counted for a request (`usage.prompt_tokens`), so that later estimates of its model come closer. */
  learn({ model, body }: PromptReading, promptTokens: number): void {
    if (body.mediaParts === 0) this.#estimator.learn(model, body.textBytes, promptTokens)
  }

  /** Blocks that so many matched chunks of a reading stand for. */
  overlapBlocks({ model }: PromptReading, matchedChunks: number): number {
    return this.#estimator.overlapBlocks(model, matchedChunks)
  }

  /** Sums since the start, and what is held now. */
  counters(): PromptCounters {
    return this.#counters.snapshot(this.#threads, this.#estimator.size)
  }

  /** Ends the threads. Readings that wait become approximate ones. */
  close(): Promise<void> {
    return this.#threads.close()
  }

  #refuse(error: unknown): never {
    this.#counters.refused()
    throw error
  }

  #contextOf(request: PromptRequest): Context {
    const { blockSize } = request
    hashedBlocks(0, { blockSize })
    const body = this.#bodies.read(request.endpoint, request.body, {
      nvext: request.nvext,
      scan: request.scan,
    })
    const cacheSalt = request.cacheSalt || body.cacheSalt
    const seed = this.#hasher.seedOf(body.loraName ?? request.loraName, cacheSalt)
    const isEagle = body.isEagle ?? request.isEagle ?? false
    const model = request.model ?? body.model ?? ''
    return { request, body, layout: { blockSize, isEagle, seed }, cacheSalt, model }
  }

  #ofTokens(context: Context): PromptReading {
    const { body, layout, request } = context
    const tokens = body.tokens ?? new Uint32Array(0)
    const blocks = new BlockHashes()
    this.#hasher.hash(tokens, { ...layout, objectsByBlock: body.objectsByBlock }, blocks)
    const size =
      request.tokenizer === undefined ? undefined : this.#threads.vocabularySizeOf(request.tokenizer)
    if (size !== undefined && tokens.some((id) => id >= size)) this.#counters.sawUnknownIds()
    const promptTokens = tokens.length
    return this.#reading(context, {
      exactness: 'exact',
      tokens,
      blocks,
      promptTokens,
      allTokens: body.allTokens ?? promptTokens,
    })
  }

  #ofHashes(context: Context): PromptReading {
    const { local, sequence, promptTokens } = context.body.hashes!
    const blocks = { local, sequence, count: sequence.length / 2 }
    return this.#reading(context, { exactness: 'exact', blocks, promptTokens })
  }

  #ofNothing(context: Context): PromptReading {
    const { allTokens } = context.body
    if (allTokens !== undefined)
      return this.#reading(context, { exactness: 'nothing', promptTokens: allTokens })
    return this.#reading(context, { exactness: 'nothing', ...this.#estimate(context) })
  }

  async #ofText(context: Context, folder: string): Promise<PromptReading> {
    const { request, body, layout } = context
    const { endpoint } = request
    const pieces = withoutSpans(request.body, body.mediaSpans)
    const outcome = await this.#threads.run({ folder, endpoint, body: pieces, layout })
    if (outcome.kind !== 'done') return this.#approximate(context, ...failureOf(outcome))
    const { tokens, exactTokens, allTokens, reusedTokens, local, sequence, blockCount } = outcome.prompt
    const found = { blocks: { local, sequence, count: blockCount }, allTokens, reusedTokens }
    const promptTokens = tokens.length
    if (body.mediaParts === 0 && exactTokens === promptTokens)
      return this.#reading(context, { ...found, exactness: 'exact', tokens, promptTokens })
    return this.#reading(context, {
      ...found,
      exactness: 'exact_before_media',
      cause: 'media',
      tokens: tokens.subarray(0, exactTokens),
      chunks: this.#chunksOf(context),
      promptTokens,
      isEstimated: true,
    })
  }

  #approximate(context: Context, cause: PromptCause, detail?: string): PromptReading {
    const chunks = this.#chunksOf(context)
    const estimate = this.#estimate(context)
    return this.#reading(context, { exactness: 'approximate', cause, detail, chunks, ...estimate })
  }

  #chunksOf({ request, body, layout }: Context): BlockHashes {
    const chunks = new BlockHashes()
    this.#bodies.contentChunks(request.body, body, layout, chunks)
    return chunks
  }

  #estimate({ model, body }: Context): { readonly promptTokens: number; readonly isEstimated: true } {
    return { promptTokens: this.#estimator.tokens(model, body.textBytes), isEstimated: true }
  }

  #reading({ body, layout, cacheSalt, model }: Context, found: Found): PromptReading {
    const reading: PromptReading = {
      cause: undefined,
      detail: undefined,
      tokens: undefined,
      blocks: noBlocks,
      chunks: undefined,
      allTokens: found.promptTokens,
      isEstimated: false,
      reusedTokens: 0,
      seed: layout.seed,
      cacheSalt,
      model,
      body,
      ...found,
    }
    this.#counters.ended(reading.exactness, reading.cause)
    return reading
  }
}

/** Errors: `PROMPT_OPTION_INVALID`. */
export function createPromptReader(options: ThreadOptions = {}): PromptReader {
  return new PromptReader(options)
}

/** Why its tokens cannot be asked for. */
function causeOf({
  endpoint,
  route,
  hasOwnTemplate,
  previousResponseId,
}: BodyReading): PromptCause | undefined {
  if (hasOwnTemplate) return 'client_template'
  if (previousResponseId !== undefined) return 'previous_response'
  return route === 'content' || endpoint === 'messages' ? 'messages' : undefined
}

function failureOf(outcome: Exclude<ThreadOutcome, { kind: 'done' }>): [PromptCause, string?] {
  switch (outcome.kind) {
    case 'late':
    case 'queue_full':
      return ['tokenizer_slow']
    case 'too_large':
      return ['too_large']
    case 'unavailable':
    case 'failed':
      return [(outcome.code && causeOfCode[outcome.code]) ?? 'tokenizer_failed', outcome.message]
    default:
      return ['tokenizer_failed', outcome.kind]
  }
}

/** The bytes around spans. */
function withoutSpans(body: Uint8Array, spans: readonly number[]): Uint8Array[] {
  const edges = [0, ...spans, body.length]
  const pieces: Uint8Array[] = []
  for (let edge = 0; edge < edges.length; edge += 2)
    pieces.push(body.subarray(edges[edge]!, edges[edge + 1]!))
  return pieces
}
