import type { DeclaredGroups, WorkerInputs } from './inputs.js'
import type { SharedHits } from './shared-hits.js'

/** Cached prefix of this request per row, in blocks unless said otherwise. NaN where the cache state is unknown. */
export interface CacheColumns {
  /** Matched prefix on the device tier, blocks; 0 = none known. Never replaced by the estimate. */
  readonly deviceOverlapBlocks: Float64Array
  /** Extension on the host-pinned tier beyond the device prefix, blocks. */
  readonly hostOverlapBlocks: Float64Array
  /** Extension on disk and the external tier beyond the faster tiers, blocks. */
  readonly diskOverlapBlocks: Float64Array
  /** Accounting estimate, fractional blocks: tiers weighted by the router configuration, or the caller's number. */
  readonly estimateBlocks: Float64Array
  /** `round(estimateBlocks x blockSize)`, or the caller's number; tokens, not clamped to the prompt. */
  readonly estimateTokens: Float64Array
  /** 0 = the cache state of this rank is unknown and its five columns are NaN. */
  readonly isAvailable: Uint8Array
  /** True only when `isAvailable` is 1 for every row; a kernel may then skip the test. */
  readonly allAvailable: boolean
  /** False = only estimates, or nothing, were supplied for this request: the three tier columns say nothing. */
  readonly hasTierMatches: boolean
  /** Blocks of the request that a shared cache holds; `undefined` = nobody looked. */
  readonly sharedHits: SharedHits | undefined
}

/** Load of each rank, projected for this request. NaN where the host has no projection. */
export interface LoadColumns {
  /** 0 = no projection for this rank: its three columns are NaN. Tells "no data" from "idle". */
  readonly isAvailable: Uint8Array
  /** True only when `isAvailable` is 1 for every row; a kernel may then skip the test. */
  readonly allAvailable: boolean
  /** Prompt tokens still in prefill on the rank, this request excluded. */
  readonly activePrefillTokens: Float64Array
  /** Active decode blocks plus the blocks that this request would add. */
  readonly decodeCostBlocks: Float64Array
  /** Requests in flight on the rank, this one excluded. */
  readonly activeRequests: Float64Array
}

/** How much the request's preferred taints favour each row. */
export interface PreferredTaintColumns {
  /** False = no preferred taints, or the host pinned the worker: `multiplier` is then not filled. */
  readonly applies: boolean
  /** `exp(-tanh(sum of matching weights))`, in [1/e, e]; exactly 1 when none matches. */
  readonly multiplier: Float64Array
}

/** Advertised capacity per rank; NaN = not advertised, or advertised as 0. Steers, never rejects. */
export interface CapacityColumns {
  /** KV blocks of the rank. */
  readonly totalKvBlocks: Float64Array
  /** Largest batch of the rank, tokens. */
  readonly maxNumBatchedTokens: Float64Array
}

/** Host reservations and device facts for policies that do not look at the KV cache. */
export interface OccupancyColumns {
  /** Live host reservations of the rank. */
  readonly reservations: Uint32Array
  /** 0 = accelerator or unknown, 1 = cpu. */
  readonly deviceKind: Uint8Array
  /** Encoder-cache entries of this request that the worker holds. */
  readonly cacheHits: Uint32Array
}

/** Modelled prefill backlog. */
export interface PrefillTimeColumns {
  /** Milliseconds without this request; NaN without a load model, on a failed prediction, or with unmodelled work. */
  readonly backlogMs: Float64Array
}

/** Column groups by declared input. All columns are row-aligned, borrowed for the call, and may be longer than `count`. */
export interface CandidateGroups {
  /** What is cached of this request. Declaring it makes the host look the prompt up and book the overlap. */
  readonly cache: CacheColumns
  /** What runs on each rank. */
  readonly load: LoadColumns
  /** What the request would rather have or avoid. */
  readonly preferredTaint: PreferredTaintColumns
  /** What each rank can hold. */
  readonly capacity: CapacityColumns
  /** Host reservations and devices. */
  readonly occupancy: OccupancyColumns
  /** Modelled waiting time. */
  readonly prefillTime: PrefillTimeColumns
}

/** What every component sees of the candidates, whatever it declared. Borrowed for the call; columns may be longer than `count`. */
export interface CandidateRows {
  /** Rows of this call. Entries at and past `count` are left-overs: never read them. */
  readonly count: number
  /** Rows in canonical `(workerId, dpRank)` order; `undefined` = they already are, as in the live host. */
  readonly canonicalRows: Uint32Array | undefined
  /** Upper half of the worker id of each row. */
  readonly workerIdHigh: Uint32Array
  /** Lower half of the worker id of each row. */
  readonly workerIdLow: Uint32Array
  /** Data-parallel rank of each row. */
  readonly dpRank: Uint32Array
  /** Worker id of a row, for edges (logs, keys of long-lived state); hot loops use the two halves. */
  readonly workerId: (row: number) => bigint
}

/** The untyped view: every group, `undefined` exactly when the component did not declare it. */
export type WorkerCandidates = CandidateRows & {
  readonly [K in keyof CandidateGroups]: CandidateGroups[K] | undefined
}

/** The view of a component that declared `I`. */
export type CandidatesFor<I extends WorkerInputs> = CandidateRows & DeclaredGroups<I>
