import type { PrefixHashes, SessionContext, SharedHits, WorkerRank } from '@router/sdk'

/** A soft binding found by the host; without `dpRank` any rank of the worker. */
export interface AffinityTarget {
  readonly workerId: bigint
  readonly dpRank?: number
}

/** A taint that the request prefers (positive weight) or avoids (negative). Weights are rounded to 32-bit floats. */
export interface PreferredTaint {
  readonly taint: string
  readonly weight: number
}

/**
 * One selection. Everything is borrowed until `select` returns; absent means the default named on the field. Loads and
 * overlaps are not here: the host writes them into the worker table beforehand.
 */
export interface SelectionRequest {
  /** `tracked` will book, `query` leaves no trace. */
  readonly mode: 'tracked' | 'query'
  /** Tokens, integer >= 0. */
  readonly promptTokens: number
  /** Tokens per KV block, integer >= 1. */
  readonly blockSize: number
  /** Default true. */
  readonly tracksPrefillTokens?: boolean | undefined
  /** Tracking hashes of the complete blocks; absent when the host tracks no active blocks. */
  readonly prefixHashes?: PrefixHashes | undefined
  /** Whether any tier map was non-empty for this request, on any rank. Default false. */
  readonly hasTierMatches?: boolean | undefined
  readonly sharedHits?: SharedHits | undefined
  /** Absent = every worker, empty = none. */
  readonly allowedWorkerIds?: readonly bigint[] | undefined
  /** Exactly one row, mandatory for every policy. */
  readonly pinnedWorker?: WorkerRank | undefined
  readonly affinityTarget?: AffinityTarget | undefined
  /** Every one must be in a worker's taint set. */
  readonly requiredTaints?: readonly string[] | undefined
  readonly preferredTaints?: readonly PreferredTaint[] | undefined
  /** Default `default`. */
  readonly policyClass?: string | undefined
  readonly sessionContext?: SessionContext | undefined
  readonly expectedOutputTokens?: number | undefined
  /** Seconds. */
  readonly priorityJump?: number | undefined
  /** Default 0. */
  readonly strictPriority?: number | undefined
  readonly routerTemperatureOverride?: number | undefined
  /** Encoder-cache entries that the request needs. Default 0. */
  readonly requiredCacheHits?: number | undefined
  /**
   * Parameters of the policy for this selection alone (`router_config_override`), as a configuration writes them. Those that the policy
   * does not list under `runtime` are ignored; so are all of them, with a warning, when their values are none for it or need inputs that
   * it did not declare.
   */
  readonly parameterOverrides?: Readonly<Record<string, unknown>> | undefined
}

/** Which policy decided, for decision records. One object per parameter revision, shared by its selections. */
export interface PolicyIdentity {
  readonly type: string
  readonly package: string | undefined
  readonly version: string
  /** Instance name; `default` for the built-in. */
  readonly name: string
  /** Parameter revision, from 1. */
  readonly revision: number
}

/**
 * The chosen row and the accounting facts, computed by the host and never by a policy. The object belongs to the selector
 * and is overwritten by its next selection; copy what must outlive it.
 */
export interface SelectionResult {
  readonly workerId: bigint
  readonly dpRank: number
  /** Index into the worker table. */
  readonly slot: number
  /** Blocks of the request. */
  readonly requiredBlocks: number
  /** `estimateBlocks` of the row; 0 when the policy did not declare `cache` or the row's cache state is unknown. */
  readonly effectiveOverlapBlocks: number
  /** `estimateTokens` of the row, same rule. */
  readonly cachedTokens: number
  /** Largest raw reuse over kept rows, tokens; `undefined` for a query. Raw reuse = all tiers x block size. */
  readonly maxRawCachedTokens: number | undefined
  /** Raw reuse of the chosen row, tokens; `undefined` for a query. */
  readonly selectedRawCachedTokens: number | undefined
  /** Decode blocks of the row once this request runs there. */
  readonly potentialDecodeBlocks: number
  /**
   * Whether a booking of it counts as a reservation in the column `reservations`. False only for a policy with `occupancyAdmission:
   * 'unless-full-hit'`, where the row holds all of one or more required encoder-cache entries and neither pin nor target named it.
   */
  readonly reservesOccupancy: boolean
  /**
   * Rank with the largest device overlap among all known ranks, eligible or not; `undefined` when none matches. Found when it is
   * read, `O(ranks)`: read it before the table changes.
   */
  readonly bestOverlapWorker: WorkerRank | undefined
  /** Blocks, 0 when no rank matches. */
  readonly bestOverlapBlocks: number
  readonly policy: PolicyIdentity
}
