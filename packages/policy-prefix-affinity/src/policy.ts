import { createDefaultCostPolicy, defaultCostInputs, runtimeParameters } from '@router/policy-default'
import { definePolicy } from '@router/sdk'
import { prefixAffinityParameters } from './parameters.js'

/**
 * `prefix-affinity`: the default cost with the blocks that a worker would have to recompute on top, so that a session stays where
 * its prefix is until the load gap outweighs it. Kernels, inputs, branches and picking are those of `@router/policy-default`.
 * @source https://github.com/ai-dynamo/dynamo/issues/16194
 * **Deviations:** a type of its own; the weight defaults to 4 and does not inherit the router's.
 */
export const prefixAffinityPolicy = definePolicy({
  type: 'prefix-affinity',
  package: __PACKAGE_NAME__,
  version: __PACKAGE_VERSION__,
  stability: 'beta',
  roles: ['aggregated', 'prefill', 'decode', 'encode'],
  affinity: 'exclusive',
  parameters: prefixAffinityParameters,
  runtime: runtimeParameters,
  inputs: defaultCostInputs,
  create: createDefaultCostPolicy,
})

/** What a configuration finds in this package. */
export const policies = [prefixAffinityPolicy]
