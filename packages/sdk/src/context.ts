import type { WorkerInfo, WorkerRank } from './worker.js'

/**
 * Chained hash of each complete block of the prompt; entry `i` identifies blocks `0..i`. Two halves of a u64, borrowed. Equal
 * entries mean an equal prefix where KV reuse is assumed; elsewhere they are random. Not comparable with engine event hashes.
 */
export interface PrefixHashes {
  /** Complete blocks of the prompt; entries past it are left-overs. */
  readonly count: number
  /** Upper halves. */
  readonly high: Uint32Array
  /** Lower halves. */
  readonly low: Uint32Array
}

/** The session that a request belongs to, as its caller described it. */
export interface SessionContext {
  /** Caller's id of the session. */
  readonly sessionId: string
  /** Session that this one was started from, as a sub-agent by its agent. */
  readonly parentSessionId?: string
  /** True = last request, false = the session says it continues, absent = not said. */
  readonly sessionFinal?: boolean
  /** What caused the request, when said. */
  readonly inputTrigger?: 'user-message' | 'tool-result' | 'other'
  /** Agent headers by name, sorted by name; empty rather than absent. */
  readonly agentHeaders: Readonly<Record<string, readonly string[]>>
}

/**
 * Facts about the request, fixed for the whole selection and borrowed: keep nothing from it after the callback.
 * Not gated by declared inputs.
 */
export interface WorkerSelectionContext {
  /** Tokens of the prompt; 0 for prompts without token ids. */
  readonly promptTokens: number
  /** `ceil(promptTokens / blockSize)`, the true count: 0 for an empty prompt, so guard divisions. */
  readonly requestBlocks: number
  /** Tokens per KV block, >= 1. */
  readonly blockSize: number
  /** Whether this request adds prefill load. */
  readonly tracksPrefillTokens: boolean
  /** `undefined` when the host tracks no active blocks; `count` 0 when the prompt has no complete block. */
  readonly prefixHashes: PrefixHashes | undefined
  /** Queue class of the request. */
  readonly policyClass: string
  /** `undefined` without a session. From the caller, unchecked. */
  readonly sessionContext: SessionContext | undefined
  /** Soft binding found by the host; without `dpRank` any rank of the worker. May be missing from the rows. */
  readonly affinityTarget: { readonly workerId: bigint; readonly dpRank?: number } | undefined
  /** The exact row that the host imposed; an exclusive affinity target is not reported here. */
  readonly pinnedWorker: WorkerRank | undefined
  /** Caller's hint, tokens. */
  readonly expectedOutputTokens: number | undefined
  /** Seconds, unclamped. */
  readonly priorityJump: number | undefined
  /** Larger first. */
  readonly strictPriority: number
  /** The per-request override only, never the configured temperature. */
  readonly routerTemperatureOverride: number | undefined
  /** True = decide as a tracked selection would, and keep nothing. */
  readonly queryOnly: boolean
  /** Encoder-cache entries that the request needs; 0 when unknown or not an encode request. */
  readonly requiredCacheHits: number
  /** What the worker of `row` advertised, `row` of the view given to the same callback; `undefined` once it has left. One array read. */
  readonly workerInfo: (row: number) => WorkerInfo | undefined
}
