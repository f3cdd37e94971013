/** Defaults of the router, which policies inherit for parameters that an instance leaves out. All validated. */
export interface RouterDefaults {
  /** Credit of a block of the prompt that the device tier holds, against prefill work; finite, >= 0. */
  readonly overlap_score_credit: number
  /** How fast that credit fades with prefill load above the least loaded row; finite, >= 0, 0 = never. */
  readonly overlap_score_credit_decay: number
  /** Weight of prefill work against decode blocks; finite, >= 0. */
  readonly prefill_load_scale: number
  /** Cost of a request in flight, blocks; finite, >= 0. */
  readonly decode_active_request_weight: number
  /** Credit of a block on the host-pinned tier; 0 to 1. */
  readonly host_cache_hit_weight: number
  /** Credit of a block on disk or the external tier; 0 to 1. */
  readonly disk_cache_hit_weight: number
  /** Credit of a block that a shared cache holds; 0 to 1. 0 without a shared cache, 0.5 with HiCache. */
  readonly shared_cache_multiplier: number
  /** Cost of a block of the prompt that the row would have to compute anew; finite, >= 0. */
  readonly prefix_affinity_weight: number
  /** Temperature of the pick, relative to the spread of the costs; finite, >= 0, 0 = the lowest cost. */
  readonly router_temperature: number
  /** How many times the load of a CPU worker an accelerator carries (`dynamo-device-aware-weighted`); finite, >= 1. Left out = 8. */
  readonly encoder_cuda_to_cpu_ratio?: number
}

/** The built-in values, without a shared cache. */
export const routerDefaults: Required<RouterDefaults> = Object.freeze({
  overlap_score_credit: 1,
  overlap_score_credit_decay: 0,
  prefill_load_scale: 1,
  decode_active_request_weight: 0,
  host_cache_hit_weight: 0.75,
  disk_cache_hit_weight: 0.25,
  shared_cache_multiplier: 0,
  prefix_affinity_weight: 0,
  router_temperature: 0,
  encoder_cuda_to_cpu_ratio: 8,
})
