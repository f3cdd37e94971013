import type { WorkerRank, WorkerRole } from '@router/sdk'

// Plain data in, plain data out. Nothing here is borrowed, reused or row-aligned.

/** Parameters of the default family by their configured names, every one present, `seed` apart. */
export interface DefaultParameters {
  readonly overlap_score_credit: number
  readonly overlap_score_credit_decay: number
  readonly prefill_load_scale: number
  readonly decode_active_request_weight: number
  readonly host_cache_hit_weight: number
  readonly disk_cache_hit_weight: number
  readonly shared_cache_multiplier: number
  readonly prefix_affinity_weight: number
  readonly router_temperature: number
}

/** The built-in router defaults, without a shared cache. */
export const builtInParameters: DefaultParameters = Object.freeze({
  overlap_score_credit: 1,
  overlap_score_credit_decay: 0,
  prefill_load_scale: 1,
  decode_active_request_weight: 0,
  host_cache_hit_weight: 0.75,
  disk_cache_hit_weight: 0.25,
  shared_cache_multiplier: 0,
  prefix_affinity_weight: 0,
  router_temperature: 0,
})

/** What one policy object of the default family is built from. */
export interface DefaultOptions {
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
  readonly parameters: DefaultParameters
  /** u64, the start of the random stream. */
  readonly seed: bigint
  /** True = the cache group is declared for a later patch even where these parameters do not use it. Default false. */
  readonly reservesRuntimeInputs?: boolean
}

export interface SnapshotRequest {
  /** Tokens, integer >= 0. */
  readonly promptTokens: number
  /** Tokens per block, integer >= 1. */
  readonly blockSize: number
  readonly tracksPrefillTokens: boolean
  /** False = a query: the stream is rewound and raw reuse is not reported. */
  readonly tracked: boolean
  /** How many tracking hashes the host supplied; `null` = none. */
  readonly trackedHashes: number | null
  /** Whether any tier map was non-empty, on any rank. False = the three tier values of every row are 0. */
  readonly hasTierMatches: boolean
  /** Sorted, disjoint, half-open block ranges; `null` = nobody looked. */
  readonly sharedHits: readonly (readonly [number, number])[] | null
  /** A per-request override, which the default family ignores. */
  readonly routerTemperatureOverride?: number
}

export interface SnapshotConstraints {
  /** `null` = every worker, empty = none. */
  readonly allowedWorkerIds: readonly bigint[] | null
  /** `null` = no source, empty = nothing routable. */
  readonly availableWorkerIds: readonly bigint[] | null
  /** All ranks of these workers are overloaded. */
  readonly overloadedWorkerIds: readonly bigint[] | null
  /** Further overloaded ranks, one by one. */
  readonly overloadedRanks?: readonly WorkerRank[]
  readonly pinnedWorker: WorkerRank | null
  /** Without a rank (`null`): any rank of the worker. */
  readonly affinityTarget: { readonly workerId: bigint; readonly dpRank: number | null } | null
  readonly requiredTaints: readonly string[]
  /** Taint and weight, in the order of the request. */
  readonly preferredTaints: readonly (readonly [string, number])[]
}

/** No rule at all: every rank of every worker is eligible. */
export const unconstrained: SnapshotConstraints = Object.freeze({
  allowedWorkerIds: null,
  availableWorkerIds: null,
  overloadedWorkerIds: null,
  pinnedWorker: null,
  affinityTarget: null,
  requiredTaints: [],
  preferredTaints: [],
})

/** One worker: its ranks are `[startRank, startRank + rankCount)`. */
export interface SnapshotWorker {
  readonly workerId: bigint
  readonly startRank: number
  readonly rankCount: number
  readonly taints: readonly string[]
  /** Blocks of each rank; absent, `null` or 0 = not advertised. */
  readonly totalKvBlocks?: number | null
}

/** A projection of one rank's load for this request. */
export interface SnapshotLoad {
  /** Tokens. */
  readonly activePrefillTokens: number
  /** Blocks, those that this request would add included. */
  readonly decodeCostBlocks: number
  readonly activeRequests: number
}

/** Cache and load facts of one rank. A rank without a row is cold and has no projection. */
export interface SnapshotRow {
  readonly workerId: bigint
  readonly dpRank: number
  readonly deviceOverlapBlocks: number
  readonly hostOverlapBlocks: number
  readonly diskOverlapBlocks: number
  readonly estimateBlocks: number
  readonly estimateTokens: number
  /** `null` = no projection. */
  readonly load: SnapshotLoad | null
  /** True = the cache state of the rank is unknown: the five values above count for nothing. */
  readonly cacheUnknown?: boolean
}

/** Everything around one selection. Workers and rows may come in any order; a row may name a rank that no worker has. */
export interface Snapshot {
  readonly request: SnapshotRequest
  readonly constraints: SnapshotConstraints
  readonly workers: readonly SnapshotWorker[]
  readonly rows: readonly SnapshotRow[]
}

/** Why a rank is not eligible: the first failing test, in this order. */
export type RejectionReason =
  | 'WorkerNotAllowed'
  | 'WorkerNotRoutable'
  | 'WorkerUnavailable'
  | 'DpRankUnavailable'
  | 'RoutingConstraintsUnsatisfied'
  | 'WorkerOverloaded'

/** The host's part of a selection result. */
export interface ReferenceResult {
  readonly workerId: bigint
  readonly dpRank: number
  readonly requiredBlocks: number
  readonly effectiveOverlapBlocks: number
  readonly cachedTokens: number
  /** `undefined` for a query. */
  readonly maxRawCachedTokens: number | undefined
  /** `undefined` for a query. */
  readonly selectedRawCachedTokens: number | undefined
  readonly potentialDecodeBlocks: number
  readonly bestOverlapWorker: WorkerRank | undefined
  readonly bestOverlapBlocks: number
}

/** A failed selection: error code and the facts that the code carries. */
export interface ReferenceError {
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>
}

/** One decision with everything that led to it. Lists are in canonical order. */
export interface ReferenceOutcome {
  readonly eligible: readonly WorkerRank[]
  /** Every known rank that is not eligible; without meaning for a pinned request. */
  readonly rejected: readonly (readonly [WorkerRank, RejectionReason])[]
  /** Total of each eligible rank; shorter when the selection failed before. */
  readonly costs: readonly number[]
  /** Of each eligible rank; `undefined` = preferences do not apply. */
  readonly taintMultipliers: readonly number[] | undefined
  /** Eligible ranks that an ideal picker without temperature would draw from. */
  readonly tieSet: readonly WorkerRank[]
  /** Picker-specific: which branch decided. */
  readonly mode: string | undefined
  /** Ranks that a warning is due for. */
  readonly warned: readonly WorkerRank[]
  readonly result: ReferenceResult | undefined
  readonly error: ReferenceError | undefined
}
