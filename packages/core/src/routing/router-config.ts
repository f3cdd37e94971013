import type { LifetimeOptions } from '@router/kv-index'
import { type RouterDefaults, RouterError, routerDefaults as builtInDefaults } from '@router/sdk'
import type { BookingExpiry } from '../load/booking.js'

/** Time that a prefill takes, ms, from the tokens to compute and those found cached. */
export type PrefillModel = (newTokens: number, cachedTokens: number) => number

/** How a core knows what its ranks hold and do. Defaults are those of the router's flags. */
export interface RouterCoreConfig {
  /** Tokens a block, of every partition that does not say its own; integer >= 1. Default 16. */
  readonly blockSize?: number
  /** Scoring defaults and tier weights. */
  readonly routerDefaults?: RouterDefaults
  /** Most (rank, block) entries of a partition's index (`max_index_blocks`). Default 2^24. */
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
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) {
    const message = `blockSize is ${String(blockSize)}, expected an integer >= 1`
    throw new RouterError('ROUTER_BAD_REQUEST', message, { blockSize })
  }
  if (tracksOutputBlocks && !tracksActiveBlocks) {
    const message = 'tracksOutputBlocks is true, which needs tracksActiveBlocks'
    throw new RouterError('ROUTER_BAD_REQUEST', message, { tracksOutputBlocks, tracksActiveBlocks })
  }
  return {
    ...config,
    blockSize,
    routerDefaults: config.routerDefaults ?? builtInDefaults,
    tracksActiveBlocks,
    tracksOutputBlocks,
    assumesKvReuse: config.assumesKvReuse ?? true,
    tracksPrefillTokens: config.tracksPrefillTokens ?? true,
  }
}
