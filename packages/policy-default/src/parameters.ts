import { type RouterDefaults, nonNegative, u64 } from '@router/sdk'
import { z } from 'zod'

/** Numbers of the formula; an instance that leaves one out inherits the router's default of the same name. */
const weights = {
  /** Weight of the device overlap; above 1 is allowed. */
  overlap_score_credit: nonNegative().optional(),
  /** How fast that credit fades with the prefill load of a row above the least loaded. */
  overlap_score_credit_decay: nonNegative().optional(),
  /** Weight of the prefill term. */
  prefill_load_scale: nonNegative().optional(),
  /** Blocks that each active request counts for. */
  decode_active_request_weight: nonNegative().optional(),
  host_cache_hit_weight: nonNegative().optional(),
  disk_cache_hit_weight: nonNegative().optional(),
  shared_cache_multiplier: nonNegative().optional(),
  /** Blocks charged per block that a row would have to recompute. */
  prefix_affinity_weight: nonNegative().optional(),
  /** 0 = lowest cost, else the temperature of the range-normalised softmax. */
  router_temperature: nonNegative().optional(),
}

/** Parameters of `dynamo-default-cost-fn`, as written in the YAML. */
export const defaultParameters = z.strictObject({
  ...weights,
  /** Seed of the random stream; unset = host entropy. */
  seed: u64().optional(),
})

/** Parsed parameters; what is absent is inherited. */
export type DefaultParameters = z.output<typeof defaultParameters>

/** All parameters that may change while running: every number of the formula. */
export const runtimeParameters = Object.keys(weights)

/** The numbers of the formula with what is absent taken from the router defaults. */
export function effectiveWeights(parameters: DefaultParameters, inherited: RouterDefaults): RouterDefaults {
  return {
    overlap_score_credit: parameters.overlap_score_credit ?? inherited.overlap_score_credit,
    overlap_score_credit_decay: parameters.overlap_score_credit_decay ?? inherited.overlap_score_credit_decay,
    prefill_load_scale: parameters.prefill_load_scale ?? inherited.prefill_load_scale,
    decode_active_request_weight:
      parameters.decode_active_request_weight ?? inherited.decode_active_request_weight,
    host_cache_hit_weight: parameters.host_cache_hit_weight ?? inherited.host_cache_hit_weight,
    disk_cache_hit_weight: parameters.disk_cache_hit_weight ?? inherited.disk_cache_hit_weight,
    shared_cache_multiplier: parameters.shared_cache_multiplier ?? inherited.shared_cache_multiplier,
    prefix_affinity_weight: parameters.prefix_affinity_weight ?? inherited.prefix_affinity_weight,
    router_temperature: parameters.router_temperature ?? inherited.router_temperature,
  }
}
