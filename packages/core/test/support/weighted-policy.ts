import type { InputScope, PolicyDefinition } from '@router/sdk'
import { z } from 'zod'
import { lowestTotal, tinyPolicy } from './policies.js'

/** Parameters of every shape a patch may meet. */
export const weightedParameters = z.strictObject({
  weight: z.number().min(0).max(10).default(1),
  cap: z.number().min(0).nullable().default(5),
  cache_weight: z.number().min(0).default(0),
  decay: z
    .strictObject({ half_life_ms: z.number().min(1).default(100), floor: z.number().optional() })
    .default({
      half_life_ms: 100,
    }),
  by_class: z.record(z.string(), z.number().min(0)).default({}),
  list: z.array(z.number()).default([]),
  seed: z.int().default(0),
})

export type WeightedParameters = z.output<typeof weightedParameters>

/** What happened to one policy object. */
export interface ObjectLog {
  readonly role: string
  readonly reconfigured: WeightedParameters[]
  selections: number
}

/**
 * Costs of weight x worker id; counts its selections, as state that a patch must keep. Uses the cache group when `cache_weight`
 * is not 0. `veto` may throw while an object takes new parameters.
 */
export function weightedPolicy(
  log: ObjectLog[] = [],
  veto: (object: ObjectLog, parameters: WeightedParameters) => void = () => {},
): PolicyDefinition {
  return tinyPolicy({
    parameters: weightedParameters,
    runtime: ['weight', 'cap', 'cache_weight', 'decay.half_life_ms', 'by_class', 'list'],
    roles: ['aggregated', 'prefill', 'decode', 'encode'],
    inputsOf: (parameters: unknown, scope: InputScope) => {
      const usesCache = (parameters as WeightedParameters).cache_weight !== 0
      return usesCache || scope.reservesRuntimeInputs ? ['load', 'cache'] : ['load']
    },
    create: (parameters: WeightedParameters, scope) => {
      const object: ObjectLog = { role: scope.role, reconfigured: [], selections: 0 }
      log.push(object)
      let { weight } = parameters
      return {
        scorers: [
          {
            name: 'weighted',
            inputs: [],
            score: (_context, candidates, costs) => {
              object.selections++
              for (let row = 0; row < candidates.count; row++)
                costs[row] = weight * Number(candidates.workerId(row)) + object.selections
            },
          },
        ],
        picker: lowestTotal,
        reconfigure: (next: unknown) => {
          object.reconfigured.push(next as WeightedParameters)
          veto(object, next as WeightedParameters)
          weight = (next as WeightedParameters).weight
        },
      }
    },
  })
}
