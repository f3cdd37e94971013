import { EngineSimError } from './errors.js'
import { type EngineParameters, type EngineSettings, engineSettings, limits } from './parameters.js'
import { PassLog, type PassSink } from './pass-log.js'
import { RequestBlocks } from './request-blocks.js'
import { RequestEnds } from './request-ends.js'
import { RequestTable, stages } from './request-table.js'
import { type PassTiming, durationMs, timingOf } from './timing.js'
import { VllmScheduler } from './vllm-scheduler.js'

/** A request as a client sends it. Borrowed for the call. */
export interface EngineRequest {
  /** At least 1; together with `outputTokens` at most 2^30. */
  readonly promptTokens: number
  /** Tokens to generate; 0 = only fill the cache. */
  readonly outputTokens: number
  /**
   * Names of the complete blocks of the prompt, and of its outputs as far as they are known, two words (low, high) a block, such as the
   * sequence hashes of `@router/kv-index`: a name stands for the tokens of a block and all before it. Blocks without one, at the end,
   * are the request's own. Default: none.
   */
  readonly blockKeys?: Uint32Array | undefined
  /** How many blocks `blockKeys` names. Default: all it holds, as far as the request has such blocks. */
  readonly blockKeyCount?: number | undefined
}

/** A pass that has begun. Borrowed until `finishPass`. */
export interface StartedPass {
  /** When all it does becomes visible, in ms of virtual time. */
  readonly endMs: number
  /** The two parts, in ms. */
  readonly prefillMs: number
  readonly decodeMs: number
  /** How many admissions, preemptions and changes of the cache it began with; `finishPass` tells them before the tokens. */
  readonly events: number
}

/**
 * A vLLM-like engine: chunked prefill, preemption, paged KV cache with prefix reuse. It has no clock: the caller says when a pass starts
 * and asks for its effects when it is over. Equal calls give equal answers, bit for bit. Only `submit` allocates, and only to grow:
 * state is bounded by the pool and the requests alive.
 */
export class VllmEngine {
  readonly settings: EngineSettings
  readonly #timing: PassTiming
  readonly #log = new PassLog()
  readonly #requests = new RequestTable()
  readonly #blocks: RequestBlocks
  readonly #ends: RequestEnds
  readonly #scheduler: VllmScheduler
  readonly #pass = { endMs: 0, prefillMs: 0, decodeMs: 0, events: 0 }
  #isPassOpen = false
  #isTelling = false

  /** Throws `ENGINE_SIM_PARAMETER_INVALID`. Allocates columns of the pool's size, about 30 bytes a block. */
  constructor(parameters: EngineParameters = {}) {
    this.settings = engineSettings(parameters)
    const { poolBlocks, blockSize, cachesPrefixes, timing } = this.settings
    this.#timing = timingOf(timing)
    this.#blocks = new RequestBlocks(this.#requests, this.#log, poolBlocks, blockSize, cachesPrefixes)
    this.#ends = new RequestEnds(this.#requests, this.#blocks, this.#log)
    this.#scheduler = new VllmScheduler(this.settings, this.#requests, this.#blocks, this.#log, this.#ends)
  }

  /** Requests that run. */
  get runningRequests(): number {
    return this.#scheduler.runningCount
  }

  /** Requests that wait. */
  get waitingRequests(): number {
    return this.#scheduler.waitingCount
  }

  /** Blocks that requests use. */
  get activeBlocks(): number {
    return this.#blocks.pool.active
  }

  /** Blocks that only the cache holds. */
  get inactiveBlocks(): number {
    return this.#blocks.pool.inactive
  }

  /** Blocks with a number: those of the cache and of live requests. `block` of the sink is below the most there ever were. */
  get namedBlocks(): number {
    return this.#blocks.namedBlocks
  }

  /** Preemptions so far. */
  get preemptions(): number {
    return this.#scheduler.preemptions
  }

  /** Tokens of finished passes, of requests with a prompt token in the pass. */
  get committedPrefillTokens(): number {
    return this.#scheduler.committedPrefillTokens
  }

  /** Whether a pass has begun and not been finished. */
  get isPassOpen(): boolean {
    return this.#isPassOpen
  }

  /**
   * A request arrives, and waits for the next pass. Returns its number, which it keeps until the sink has been told `ended`. May be
   * called at any time, from a sink too. O(blocks of the prompt). Throws `ENGINE_SIM_REQUEST_INVALID`.
   */
  submit({ promptTokens, outputTokens, blockKeys, blockKeyCount }: EngineRequest): number {
    if (!Number.isInteger(promptTokens) || promptTokens < 1 || promptTokens > limits.tokens)
      refuse('promptTokens', promptTokens, `a whole number from 1 to ${limits.tokens}`)
    const mostOutputs = limits.tokens - promptTokens
    if (!Number.isInteger(outputTokens) || outputTokens < 0 || outputTokens > mostOutputs)
      refuse('outputTokens', outputTokens, `a whole number from 0 to ${mostOutputs}`)
    const { blockSize, poolBlocks, maxModelTokens } = this.settings
    const given = blockKeys === undefined ? 0 : Math.floor(blockKeys.length / 2)
    if (
      blockKeyCount !== undefined &&
      !(Number.isInteger(blockKeyCount) && blockKeyCount >= 0 && blockKeyCount <= given)
    )
      refuse('blockKeyCount', blockKeyCount, `a whole number from 0 to ${given}, the blocks of blockKeys`)
    const blocks = Math.min(Math.floor((promptTokens + outputTokens) / blockSize), poolBlocks)
    const requests = this.#requests
    const request = requests.take(blocks)
    requests.promptTokens[request] = promptTokens
    requests.knownTokens[request] = promptTokens
    requests.maxOutputTokens[request] = outputTokens
    requests.stopTokens[request] = Math.min(promptTokens + outputTokens, maxModelTokens)
    if (blockKeys !== undefined)
      this.#blocks.name(request, blockKeys, Math.min(blockKeyCount ?? given, blocks))
    this.#scheduler.enqueue(request)
    return request
  }

  /**
   * The client gave a request up. May be called at any time, from a sink too; a second call, and one for a request that this pass rejects
   * or whose end is about to be told, does nothing. From now on no token of the request is told. A waiting one leaves the queue at once;
   * a running one gives its blocks back when the pass that runs is over, or at once when none runs, and what is full stays cached.
   * `ended` with `cancelled` is told by the `finishPass` that comes next, or that is at it: **without a pass call `startPass`**, which
   * forms one if only to tell, of no time when nothing else is to be done. O(requests that run or wait). Throws
   * `ENGINE_SIM_REQUEST_INVALID` for a number that no live request has.
   */
  cancel(request: number): void {
    // A number that is none has no stage either.
    if ((this.#requests.stage[request] ?? stages.none) === stages.none)
      refuse('request', request, 'the number of a request that has not ended')
    const isPassRunning = this.#isPassOpen && !this.#isTelling
    if (!this.#scheduler.cancel(request, isPassRunning) || !this.#isTelling) return
    this.#log.dropTokens(request)
    this.#ends.endCancelled()
  }

  /**
   * Forms the next pass from what runs and waits at `nowMs`; `undefined` when there is nothing to do. `endMs` may be `nowMs`: then
   * finish it at once. Allocates nothing warm. Throws `ENGINE_SIM_PASS_ORDER` when the last pass is not finished or `nowMs` is before
   * its end, and `ENGINE_SIM_TIMING_INVALID` when an `external` model gives no time.
   */
  startPass(nowMs: number): StartedPass | undefined {
    const pass = this.#pass
    if (this.#isPassOpen) throw new EngineSimError('ENGINE_SIM_PASS_ORDER', 'the last pass is not finished')
    if (!(nowMs >= pass.endMs && nowMs < Infinity))
      throw new EngineSimError(
        'ENGINE_SIM_PASS_ORDER',
        `nowMs: expected at least ${pass.endMs}, the end of the last pass, got ${nowMs}`,
      )
    const scheduler = this.#scheduler
    this.#log.clear()
    if (!scheduler.schedule()) return undefined
    const { poolBlocks, blockSize, prefillRatio, decodeRatio } = this.settings
    const { prefillBatch, prefillEnds, prefillStarts, decodeBatch, decodeContext } = scheduler.batches
    const inputTokens = prefillBatch === 0 ? 0 : Math.floor(prefillEnds / prefillBatch)
    const prefixTokens = prefillBatch === 0 ? 0 : Math.floor(prefillStarts / prefillBatch)
    const prefillMs = this.#timing.prefillMs(prefillBatch, inputTokens, prefixTokens)
    const decodeMs = this.#timing.decodeMs(decodeBatch, decodeContext, poolBlocks * blockSize)
    pass.prefillMs = scaled('prefillMs', prefillMs, prefillRatio)
    pass.decodeMs = scaled('decodeMs', decodeMs, decodeRatio)
    pass.endMs = nowMs + pass.prefillMs + pass.decodeMs
    pass.events = this.#log.size
    this.#isPassOpen = true
    return pass
  }

  /**
   * The pass is over: gives the tokens, ends what is done, frees its blocks, and tells the sink everything. Allocates nothing. What the
   * sink throws is passed on; the engine has then still finished the pass. Throws `ENGINE_SIM_PASS_ORDER` without a pass.
   */
  finishPass(sink: PassSink): void {
    if (!this.#isPassOpen) throw new EngineSimError('ENGINE_SIM_PASS_ORDER', 'no pass has begun')
    this.#scheduler.produce()
    this.#isTelling = true
    try {
      this.#log.tell(sink)
    } finally {
      this.#ends.forget()
      this.#isTelling = false
      this.#isPassOpen = false
    }
  }
}

function scaled(name: string, ms: number, ratio: number): number {
  if (!(ms >= 0 && ms < Infinity))
    throw new EngineSimError('ENGINE_SIM_TIMING_INVALID', `${name}: expected a finite number >= 0, got ${ms}`)
  return durationMs(ms, ratio)
}

function refuse(name: string, value: unknown, accepted: string): never {
  throw new EngineSimError(
    'ENGINE_SIM_REQUEST_INVALID',
    `${name}: expected ${accepted}, got ${String(value)}`,
  )
}
