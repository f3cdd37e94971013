import type { HashWords } from '@router/kv-index'

/** What a request takes on its rank, from the selection that chose it. Borrowed for the call. */
export interface Booking {
  /** Any text; at most one live booking has it. */
  readonly requestId: string
  /** Rank, by slot of the worker table. */
  readonly slot: number
  /** Tracking hashes of the prompt's complete blocks; absent = none are tracked. They need not be chained. */
  readonly hashes?: HashWords | undefined
  /** How many of them count. Default: all. */
  readonly hashCount?: number | undefined
  /** Effective prefill tokens, see `effectivePrefillTokens`. Integer >= 0, default 0; 0 = nothing is tracked. */
  readonly prefillTokens?: number | undefined
  /** Default true; false = `prefillTokens` do not count. */
  readonly tracksPrefillTokens?: boolean | undefined
  /** Modelled duration of the prefill, milliseconds >= 0; absent = no model. */
  readonly prefillDurationMs?: number | undefined
  /** Integer >= 0; kept for `outputFraction`. */
  readonly expectedOutputTokens?: number | undefined
  /** Adapter, counted by `loras`. */
  readonly lora?: string | undefined
  /** Whether it counts in the column `reservations`. Default true; see `SelectionResult.reservesOccupancy`. */
  readonly reservesOccupancy?: boolean | undefined
  /** This process relays the request itself: the booking never expires as idle. Default false. */
  readonly isRelayed?: boolean | undefined
}

/**
 * When a booking that nobody frees goes. `idle`: without a sign of life for longer than `afterMs`, seen so by two scans (`sweep`);
 * `age`: that long after it was added, whatever it does, looked at when one is added on its rank and by `sweep`; `never`. Ranks and scans
 * at most every 30 s.
 */
export type BookingExpiry =
  | { readonly measure: 'idle' | 'age'; readonly afterMs: number }
  | { readonly measure: 'never' }

/** What is in flight on a rank. */
export interface RankLoad {
  /** Rounded sum of the weights of prompt and output blocks. */
  readonly activeBlocks: number
  /** Tokens still in prefill. */
  readonly activePrefillTokens: number
  readonly activeRequests: number
  /** Modelled time until its prefills are done; `undefined` when one of them has no model, 0 with none. */
  readonly modeledRemainingMs: number | undefined
}

/** A rank as it would be with one more request. */
export interface PotentialLoad {
  readonly workerId: bigint
  readonly dpRank: number
  /** Active ones and those of the request that the rank has not cached. */
  readonly potentialPrefillTokens: number
  /** Active blocks and tracked blocks that the request adds; an incomplete last block is not among them. */
  readonly potentialDecodeBlocks: number
  /** Without the request. */
  readonly activeRequests: number
}

/** The request of a `PotentialLoad`. */
export interface PotentialRequest {
  /** Tokens, integer >= 0. Default 0. */
  readonly promptTokens?: number
  /** Tracking hashes of the complete blocks. */
  readonly hashes?: HashWords
  /** How many of them count. Default: all. */
  readonly hashCount?: number
  /** Default true. */
  readonly tracksPrefillTokens?: boolean
  /** Tokens of the prompt that a rank has cached, by slot; absent = none anywhere. */
  readonly cachedTokens?: (slot: number) => number
}

/** Whether a scheduler counted its own requests only, or those of all replicas. */
export type LoadScope = 'local' | 'replica_synchronized'

/** What is known of a rank's load; an absent field is unknown, never 0. */
export interface ActiveLoad {
  readonly workerId: bigint
  readonly dpRank: number
  readonly activeDecodeBlocks?: number
  readonly activePrefillTokens?: number
  readonly kvUsedBlocks?: number
  readonly schedulerLoadScope?: LoadScope
}

/** Live bookings of a process, over all its ledgers. */
export class BookingBudget {
  /** Most of them. */
  readonly limit: number
  live = 0

  constructor(limit = 1_048_576) {
    this.limit = limit
  }
}

/**
 * Tokens that a rank has to prefill: the prompt without what is cached there; 0 when prefill is not tracked, and when more is cached
 * than asked for.
 */
export function effectivePrefillTokens(
  promptTokens: number,
  cachedTokens: number,
  tracksPrefillTokens = true,
): number {
  return tracksPrefillTokens && promptTokens > cachedTokens ? promptTokens - cachedTokens : 0
}
