import type { WorkerSelectionConfig } from '@router/sdk'

/** A queue class of either form; keys and units as in the file. */
export interface PolicyClass {
  readonly name: string
  /** Tokens, >= 1. */
  readonly quantum: number
  /** Tokens. */
  readonly prefill_busy_threshold?: number
  /** Multiple of a rank's largest batch. */
  readonly prefill_busy_threshold_frac?: number
  readonly request_queue_limit_per_worker?: number
  /** Tokens. */
  readonly raw_isl_token_queue_limit_per_worker?: number
  /** Tokens. */
  readonly cached_token_queue_limit_per_worker?: number
}

/** A class of the matrix form: both `policy_family` and `cache_bucket`, or neither (reached by its name only). */
export interface MatrixPolicyClass extends PolicyClass {
  readonly policy_family?: string
  readonly cache_bucket?: string
  /** Absent = `fcfs`. */
  readonly queue_policy?: 'fcfs' | 'wspt'
  /** In (0, 1]; absent = all ranks must be busy. */
  readonly busy_worker_ratio?: number
}

/** A class of the flat form. */
export interface FlatPolicyClass extends PolicyClass {
  /** Milliseconds, > 0. */
  readonly slo_ms: number
}

/** Classes by family and bucket of uncached tokens. Every family has exactly one class per bucket. */
export interface MatrixProfile {
  readonly form: 'matrix'
  readonly default_policy_family: string
  /** Ascending by `min_tokens`, the first 0. */
  readonly uncached_isl_buckets: readonly { readonly min_tokens: number; readonly bucket: string }[]
  readonly policy_classes: readonly MatrixPolicyClass[]
}

/** Classes with a deadline each. */
export interface FlatProfile {
  readonly form: 'flat'
  readonly default_policy_class: string
  readonly policy_classes: readonly FlatPolicyClass[]
}

export type QueueProfile = MatrixProfile | FlatProfile

/** The `router` section: only the keys that the file has. */
export interface RouterSettings {
  readonly host_cache_hit_weight?: number
  readonly disk_cache_hit_weight?: number
  readonly use_kv_events?: boolean
  readonly use_remote_indexer?: boolean
  readonly serve_indexer?: boolean
  readonly enable_session_prefix_index?: boolean
  readonly shared_cache_type?: 'none' | 'hicache'
  readonly router_replica_sync?: boolean
  readonly router_track_active_blocks?: boolean
  readonly router_track_output_blocks?: boolean
  readonly router_assume_kv_reuse?: boolean
  readonly router_track_prefill_tokens?: boolean
  readonly router_tracking_hash?: 'public-xxh3-v1'
  readonly router_prefill_load_model?: 'none'
  /** Seconds. */
  readonly router_ttl_secs?: number
  readonly router_approximate_cache_policy?: 'ttl' | 'lru'
  readonly router_event_threads?: number
  /** Seconds. */
  readonly router_predicted_ttl_secs?: number
}

/** The `request_classifier` section. */
export interface RequestClassifierConfig {
  readonly type: string
  /** Specifier of the npm package that provides the type; absent = the global namespace. */
  readonly package?: string
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A checked router-policy file. Sections that it leaves out are `undefined`. */
export interface RouterPolicyFile {
  /** Name for messages. */
  readonly file: string
  readonly workerSelection: WorkerSelectionConfig | undefined
  readonly requestClassifier: RequestClassifierConfig | undefined
  /** The profile at the root. */
  readonly profile: QueueProfile | undefined
  /** Profiles by model; each replaces the one at the root as a whole. */
  readonly models: ReadonlyMap<string, QueueProfile>
  readonly router: RouterSettings | undefined
}
