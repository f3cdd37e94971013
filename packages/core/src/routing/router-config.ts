import type { LifetimeOptions, PrefixStateOptions } from '@router/kv-index'
import { type RouterDefaults, routerDefaults as builtInDefaults } from '@router/sdk'
import { bad } from '../load/booking-checks.js'
import type { BookingExpiry } from '../load/booking.js'

/** Time that a prefill takes, ms, from the tokens to compute and those found cached. */
export type PrefillModel = (newTokens: number, cachedTokens: number) => number

/** How a core knows what its ranks hold and do. Defaults are those of the router's flags. */
export interface RouterCoreConfig {
  /** Tokens a block, of every partition that does not say its own; integer >= 1. Default 16. */
  readonly blockSize?: number
  /** Scoring defaults and tier weights. */
  readonly routerDefaults?: RouterDefaults
  /**
   * Most (rank, block) entries of a partition's index (`max_index_blocks`). Default 2^24; 0 = four times the sum of the advertised
   * capacities, and the default while no rank advertises one.
   */
  readonly maxIndexBlocks?: number
  /** Retention of blocks of ranks without events. */
  readonly approximate?: LifetimeOptions
  /** How those are kept (`router_approximate_cache_policy`). Default `ttl`. */
  readonly approximateCachePolicy?: 'ttl' | 'lru'
  /** Life of predicted entries of ranks with events (`router_predicted_ttl_secs`), ms. Default: none are made. */
  readonly predictedTtlMs?: number
  /** `router_track_active_blocks`; never on prefill pools. Default true. */
  readonly tracksActiveBlocks?: boolean
  /** `router_track_output_blocks`. Default false. */
  readonly tracksOutputBlocks?: boolean
  /** `router_assume_kv_reuse`; false = no block of a prompt is shared in the books. Default true. */
  readonly assumesKvReuse?: boolean
  /** `router_track_prefill_tokens`. Default true. */
  readonly tracksPrefillTokens?: boolean
  /** Default: idle for 300 s. */
  readonly bookingExpiry?: BookingExpiry
  /** Models prefill durations: prefill work then melts with time. Default: it stays until the first token. */
  readonly prefillMs?: PrefillModel
}

/** `RouterCoreConfig` with defaults. */
export interface ResolvedConfig extends RouterCoreConfig {
  readonly blockSize: number
  readonly routerDefaults: RouterDefaults
  readonly tracksActiveBlocks: boolean
  readonly tracksOutputBlocks: boolean
  readonly assumesKvReuse: boolean
  readonly tracksPrefillTokens: boolean
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function resolvedConfig(config: RouterCoreConfig): ResolvedConfig {
  const { blockSize = 16, tracksActiveBlocks = true, tracksOutputBlocks = false } = config
  const { approximateCachePolicy: policy, routerDefaults = builtInDefaults } = config
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) throw bad('blockSize', blockSize, 'an integer >= 1')
  if (tracksOutputBlocks && !tracksActiveBlocks)
    throw bad('tracksOutputBlocks', tracksOutputBlocks, 'false where tracksActiveBlocks is')
  if (policy !== undefined && policy !== 'ttl' && policy !== 'lru')
    throw bad('approximateCachePolicy', policy, 'ttl or lru')
  for (const name of ['host_cache_hit_weight', 'disk_cache_hit_weight'] as const) {
    const weight = routerDefaults[name]
    if (!(weight >= 0 && weight <= 1)) throw bad(name, weight, 'a number from 0 to 1')
  }
  return {
    ...config,
    blockSize,
    routerDefaults,
    tracksActiveBlocks,
    tracksOutputBlocks,
    assumesKvReuse: config.assumesKvReuse ?? true,
    tracksPrefillTokens: config.tracksPrefillTokens ?? true,
  }
}

/** How blocks that are believed are kept. */
export function retentionOf({
  approximate,
  approximateCachePolicy,
  predictedTtlMs,
}: ResolvedConfig): Omit<PrefixStateOptions, 'createIndex'> {
  return {
    ...(approximate === undefined ? {} : { lifetime: approximate }),
    ...(approximateCachePolicy === undefined ? {} : { approximateCachePolicy }),
    ...(predictedTtlMs === undefined ? {} : { predictedTtlMs }),
  }
}
