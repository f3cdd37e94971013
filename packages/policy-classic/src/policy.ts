import { definePolicy, routerDefaults, workerRoles } from '@router/sdk'
import { deviceRule } from './device-rule.js'
import { deviceAwareParameters, noParameters, runtimeParameters } from './parameters.js'
import { Rotation } from './rotation.js'
import { directRule, leastLoadedRule, powerOfTwoRule, randomRule, roundRobinRule } from './rules.js'
import { workerPicker } from './worker-rule.js'

const common = {
  package: __PACKAGE_NAME__,
  version: __PACKAGE_VERSION__,
  stability: 'beta',
  roles: workerRoles,
} as const

/**
 * `dynamo-round-robin`: workers in turn, and the ranks of each in turn.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** cursors wrap at 2^32; the one of a worker's ranks goes when the worker leaves.
 */
export const roundRobinPolicy = definePolicy({
  ...common,
  type: 'dynamo-round-robin',
  affinity: 'advisory',
  parameters: noParameters,
  inputs: [],
  create: () => {
    const rotation = new Rotation()
    return {
      picker: workerPicker('round-robin', [], roundRobinRule(rotation)),
      onWorkersChanged: (workers) => rotation.takeWorkers(workers),
    }
  },
})

/**
 * `dynamo-random`: any worker, then any of its ranks.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** none.
 */
export const randomPolicy = definePolicy({
  ...common,
  type: 'dynamo-random',
  affinity: 'advisory',
  parameters: noParameters,
  inputs: [],
  create: (_parameters, scope) => ({ picker: workerPicker('random', [], randomRule(scope.random())) }),
})

/**
 * `dynamo-power-of-two-choices`: of two workers the one with fewer reservations, then of two of its ranks.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** none.
 */
export const powerOfTwoChoicesPolicy = definePolicy({
  ...common,
  type: 'dynamo-power-of-two-choices',
  affinity: 'advisory',
  parameters: noParameters,
  inputs: ['occupancy'],
  create: (_parameters, scope) => ({
    picker: workerPicker('power-of-two-choices', ['occupancy'], powerOfTwoRule(scope.random())),
  }),
})

/**
 * `dynamo-least-loaded`: the worker with the fewest reservations, then its rank with the fewest.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** none.
 */
export const leastLoadedPolicy = definePolicy({
  ...common,
  type: 'dynamo-least-loaded',
  affinity: 'advisory',
  parameters: noParameters,
  inputs: ['occupancy'],
  create: (_parameters, scope) => ({
    picker: workerPicker('least-loaded', ['occupancy'], leastLoadedRule(scope.random())),
  }),
})

/**
 * `dynamo-direct`: only who was named. Errors: `ROUTER_POLICY_FAILED`, reason `target-required` (the request's fault) or
 * `target-not-eligible`.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** none.
 */
export const directPolicy = definePolicy({
  ...common,
  type: 'dynamo-direct',
  affinity: 'exclusive',
  parameters: noParameters,
  inputs: [],
  create: () => ({ picker: workerPicker('direct', [], directRule) }),
})

/**
 * `dynamo-device-aware-weighted`: a worker that holds everything the request needs, without a reservation; else CPU workers while they
 * carry less than their share, else accelerators.
 * @source https://github.com/ai-dynamo/dynamo/pull/15138
 * **Deviations:** the parameter `cuda_to_cpu_ratio`, which may be a fraction.
 */
export const deviceAwareWeightedPolicy = definePolicy({
  ...common,
  type: 'dynamo-device-aware-weighted',
  affinity: 'advisory',
  occupancyAdmission: 'unless-full-hit',
  parameters: deviceAwareParameters,
  runtime: runtimeParameters,
  inputs: ['occupancy'],
  create: (parameters, scope) => {
    const inherited =
      scope.routerDefaults.encoder_cuda_to_cpu_ratio ?? routerDefaults.encoder_cuda_to_cpu_ratio
    const terms = { ratio: parameters.cuda_to_cpu_ratio ?? inherited }
    return {
      picker: workerPicker('device-aware-weighted', ['occupancy'], deviceRule(terms, scope.random())),
      reconfigure: (changed) => {
        terms.ratio = changed.cuda_to_cpu_ratio ?? inherited
      },
    }
  },
})

/** What a configuration finds in this package. */
export const policies = [
  roundRobinPolicy,
  randomPolicy,
  powerOfTwoChoicesPolicy,
  leastLoadedPolicy,
  directPolicy,
  deviceAwareWeightedPolicy,
]
