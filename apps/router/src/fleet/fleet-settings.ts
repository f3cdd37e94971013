import type { RouterCoreConfig } from '@router/core'
import type { AllowedHosts } from './endpoint-rules.js'
import type { SelectionCacheLimits } from './selection-cache.js'

/** From which load on a rank takes no more requests (host.md 7). Absent = no such limit. */
export interface BusyThresholds {
  /** Share of `total_kv_blocks`; a rank without capacity is never busy by it. */
  readonly activeDecodeBlocks?: number | undefined
  /** Tokens. */
  readonly activePrefillTokens?: number | undefined
  /** Multiple of `max_num_batched_tokens`, 10,000,000 where that is unknown. */
  readonly activePrefillTokensFraction?: number | undefined
}

/** What a fleet does beyond its policy. */
export interface FleetSettings {
  /** Scoring, index, accounting. `blockSize` is of no use here: workers say theirs. */
  readonly core?: RouterCoreConfig | undefined
  /** Engines tell what they hold; false = everything is believed, and no event URL is looked at. Default true. */
  readonly usesKvEvents?: boolean | undefined
  /** A rank that missed events counts as rebuilt after so long without a gap. Default 600,000. */
  readonly rebuildHorizonMs?: number | undefined
  /** Whether requests for a model may have to queue: its workers must then say `max_num_batched_tokens`. Default: for none. */
  readonly queuesModel?: ((model: string) => boolean) | undefined
  readonly selectionCache?: SelectionCacheLimits | undefined
  readonly busyThresholds?: BusyThresholds | undefined
  /** Requests of one rank at a time. Default: any number. */
  readonly maximumRequestsPerRank?: number | undefined
  /** Partitions, which stay until the process ends; workers of more are incomplete. Default 1,024. */
  readonly maximumPartitions?: number | undefined
  /** A draining worker goes after this time at the latest. Default 300,000. */
  readonly drainTimeoutMs?: number | undefined
  /**
   * Somebody asks engines what records leave out (`FleetWorkers.learn`): until then a record without model name, or without block size from
   * a trusted source, is incomplete. Default false.
   */
  readonly learnsFacts?: boolean | undefined
  /**
   * Every request names its worker (router mode `direct`): what keeps a worker from requests beside its record and a drain does not count.
   * Default false.
   */
  readonly isDirect?: boolean | undefined
  /** Hosts of event and replay URLs of API workers. Default: this machine. */
  readonly allowedHosts?: AllowedHosts | undefined
}

/** Tokens of a batch of which the limit is unknown. */
export const unknownBatchTokens = 10_000_000
