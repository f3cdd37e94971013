/** Scoring defaults of the router, which policies inherit for parameters that an instance leaves out. All validated. */
export interface RouterDefaults {
  /** Finite, >= 0. */
  readonly overlap_score_credit: number
  /** Finite, >= 0. */
  readonly overlap_score_credit_decay: number
  /** Finite, >= 0. */
  readonly prefill_load_scale: number
  /** Finite, >= 0. */
  readonly decode_active_request_weight: number
  /** 0 to 1. */
  readonly host_cache_hit_weight: number
  /** 0 to 1. */
  readonly disk_cache_hit_weight: number
  /** 0 to 1; 0 without a shared cache, 0.5 with HiCache. */
  readonly shared_cache_multiplier: number
  /** Finite, >= 0. */
  readonly prefix_affinity_weight: number
  /** Finite, >= 0. */
  readonly router_temperature: number
}

/** The built-in values, without a shared cache. */
export const routerDefaults: RouterDefaults = Object.freeze({
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
