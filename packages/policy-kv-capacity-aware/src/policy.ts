import { definePolicy } from '@router/sdk'
import { CapacityTerms } from './capacity-terms.js'
import { kvCapacityAwareParameters, runtimeParameters } from './parameters.js'
import { capacityPicker } from './picker.js'
import { loadScorer } from './scorer.js'
import { UnknownCapacity } from './unknown-capacity.js'

/**
 * `dynamo-kv-capacity-aware`: a rank whose KV capacity still holds the request, fewest requests first. It never fails and never
 * waits: when nothing fits it takes the smallest footprint.
 * @source https://github.com/ai-dynamo/dynamo/pull/18224
 * **Deviations:** a rank of unknown capacity is warned of for every selection that evaluates it, chosen or not, once; ranges of the
 * parameters, `capacity_blocks: null` and `seed` are ours.
 */
export const kvCapacityAwarePolicy = definePolicy({
  type: 'dynamo-kv-capacity-aware',
  aliases: ['kv-capacity-aware'],
  package: __PACKAGE_NAME__,
  version: __PACKAGE_VERSION__,
  stability: 'beta',
  roles: ['decode'],
  affinity: 'advisory',
  parameters: kvCapacityAwareParameters,
  runtime: runtimeParameters,
  inputs: ['load', 'preferredTaint', 'capacity'],
  create: (parameters, scope) => {
    const terms = new CapacityTerms(parameters)
    const unknownCapacity = new UnknownCapacity(scope)
    return {
      scorers: [loadScorer(terms)],
      picker: capacityPicker(terms, unknownCapacity, scope.random(parameters.seed)),
      reconfigure: (changed) => terms.configure(changed),
      onWorkersChanged: (workers) => unknownCapacity.takeWorkers(workers),
    }
  },
})

/** What a configuration finds in this package. */
export const policies = [kvCapacityAwarePolicy]
