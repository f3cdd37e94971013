import { z } from 'zod'
import { double, u64Parameter } from './common.js'

/** Parameters of the default family; an omitted one takes the router default. Values are judged by the policy, not here. */
export const defaultParameters = z.strictObject({
  overlap_score_credit: double.optional(),
  overlap_score_credit_decay: double.optional(),
  prefill_load_scale: double.optional(),
  decode_active_request_weight: double.optional(),
  host_cache_hit_weight: double.optional(),
  disk_cache_hit_weight: double.optional(),
  shared_cache_multiplier: double.optional(),
  prefix_affinity_weight: double.optional(),
  router_temperature: double.optional(),
  seed: u64Parameter.optional(),
})
export type DefaultFamilyParameters = z.output<typeof defaultParameters>
