import type { WorkerCandidates } from './candidates.js'
import type { WorkerFilter, WorkerPicker, WorkerScorer } from './components.js'
import type { WorkerInfo } from './worker.js'

/** How a tracked selection ended, told once when its booking is released. */
export interface SelectionOutcome {
  /** Where the request ran. */
  readonly workerId: bigint
  /** Where the request ran. */
  readonly dpRank: number
  /** Absent without a session. */
  readonly sessionId?: string
  /** Tokens. */
  readonly promptTokens: number
  /** Tokens that the engine found in its cache, when it said so. */
  readonly cachedTokens?: number
  /** Tokens, when known. */
  readonly outputTokens?: number
  /** Milliseconds from dispatch; absent when no token came. */
  readonly timeToFirstTokenMs?: number
  /** How the request ended, as the host calls it. */
  readonly status: string
}

/**
 * What `create` returns: fresh components and optional hooks, owned by one routing partition and role and called serially.
 * Hooks run between selections; a throw from one is logged once per code and never reaches a request.
 */
export interface WorkerSelectionPolicy<C = WorkerCandidates, P = unknown> {
  /** All must keep a row; called in this order. */
  readonly filters?: readonly WorkerFilter<C>[]
  /** Their costs are summed in this order. */
  readonly scorers?: readonly WorkerScorer<C>[]
  /** Exactly one. */
  readonly picker: WorkerPicker<C>
  /** After an accepted patch. Keeps state, recomputes hoisted constants, never throws. Required when `runtime` is not empty. */
  readonly reconfigure?: (parameters: P) => void
  /** After the host applied a change of workers: resize scratch, drop state of those that left. */
  readonly onWorkersChanged?: (workers: readonly WorkerInfo[]) => void
  /** Once per tracked selection whose booking was released. */
  readonly observe?: (outcome: SelectionOutcome) => void
  /** A plain, versioned JSON value for hand-over to another process. */
  readonly snapshot?: () => unknown
  /** Refuses (throws on) what it does not know; the host then starts fresh, with a warning. */
  readonly restore?: (value: unknown) => void
  /** Once, last. */
  readonly dispose?: () => void
}
