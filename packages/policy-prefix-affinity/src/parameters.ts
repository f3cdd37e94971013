import { defaultParameters } from '@router/policy-default'
import { nonNegative } from '@router/sdk'
import type { z } from 'zod'

/** Parameters of `prefix-affinity`: those of `dynamo-default-cost-fn`, with a `prefix_affinity_weight` of its own. */
export const prefixAffinityParameters = defaultParameters.extend({
  /** Blocks charged per block that a row would have to recompute. Not inherited from the router. */
  prefix_affinity_weight: nonNegative().default(4),
})

/** Parsed parameters; of the others, what is absent is inherited. */
export type PrefixAffinityParameters = z.output<typeof prefixAffinityParameters>
