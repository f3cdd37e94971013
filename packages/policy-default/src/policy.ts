import { type PolicyScope, type WorkerSelectionPolicy, definePolicy } from '@router/sdk'
import { CostTerms } from './cost-terms.js'
import { type DefaultCandidates, defaultCostInputs } from './inputs.js'
import {
  type DefaultParameters,
  defaultParameters,
  effectiveWeights,
  runtimeParameters,
} from './parameters.js'
import { type PickSettings, defaultPicker } from './picker.js'
import { defaultCostScorer } from './scorer.js'
import { SimdKernel } from './simd/loader.js'

/** Components of the default family for one partition and role; what a parameter set leaves out is inherited. */
export function createDefaultCostPolicy(
  parameters: DefaultParameters,
  scope: PolicyScope,
): WorkerSelectionPolicy<DefaultCandidates, DefaultParameters> {
  const weights = effectiveWeights(parameters, scope.routerDefaults)
  const terms = new CostTerms(scope, weights)
  const settings: PickSettings = { temperature: weights.router_temperature }
  const simd = SimdKernel.over(scope.memory)
  return {
    scorers: [defaultCostScorer(terms, simd)],
    picker: defaultPicker(settings, scope.random(parameters.seed), simd),
    reconfigure: (changed) => {
      const next = effectiveWeights(changed, scope.routerDefaults)
      terms.configure(next)
      settings.temperature = next.router_temperature
    },
  }
}

/** `dynamo-default-cost-fn`, and the built-in `default` when a host registers it as such. */
export const defaultPolicy = definePolicy({
  type: 'dynamo-default-cost-fn',
  package: __PACKAGE_NAME__,
  version: __PACKAGE_VERSION__,
  stability: 'stable',
  roles: ['aggregated', 'prefill', 'decode', 'encode'],
  affinity: 'exclusive',
  parameters: defaultParameters,
  runtime: runtimeParameters,
  inputs: defaultCostInputs,
  create: createDefaultCostPolicy,
})

/** What a configuration finds in this package. */
export const policies = [defaultPolicy]
