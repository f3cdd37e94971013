import {
  type PolicyDefinition,
  type ResolvedPolicy,
  definePolicy,
  minimumCostPicker,
  validateParameters,
} from '@router/sdk'
import { z } from 'zod'

/** An instance of a policy, without a catalog. */
export function resolved(
  definition: PolicyDefinition,
  configured: Record<string, unknown> = {},
): ResolvedPolicy {
  const name = 'bench'
  const parameters = validateParameters(definition, name, configured)
  return { definition, name, configured, parameters, runtime: false }
}

const common = {
  package: __PACKAGE_NAME__,
  version: __PACKAGE_VERSION__,
  stability: 'alpha',
  roles: ['aggregated', 'prefill', 'decode', 'encode'],
  affinity: 'advisory',
  parameters: z.strictObject({}),
} as const

/** `scorers` load scorers weighted 1, 2, ..., written as a policy author would, and the lowest sum. */
export function stackedPolicy(scorers: number, keepsAll = false): PolicyDefinition {
  return definePolicy({
    ...common,
    type: `bench-stacked-${scorers}`,
    inputs: ['load'],
    create: (_parameters, scope) => ({
      filters: keepsAll ? [{ name: 'keep-all', keep: () => true }] : [],
      scorers: Array.from({ length: scorers }, (_, index) => ({
        name: `load-${index + 1}`,
        score: (_context, { count, load }, costs) => {
          const { decodeCostBlocks, isAvailable } = load
          const weight = index + 1
          for (let row = 0; row < count; row++) {
            costs[row] = isAvailable[row] === 1 ? weight * decodeCostBlocks[row]! : 0
          }
        },
      })),
      picker: minimumCostPicker(scope.random()),
    }),
  })
}

/** The same decisions through one more layer of somebody else's code. */
export function wrappedPolicy(inner: PolicyDefinition): PolicyDefinition {
  return Object.freeze({
    ...inner,
    type: `bench-wrapped-${inner.type}`,
    create: (parameters, scope) => {
      const policy = inner.create(parameters, scope)
      return {
        ...policy,
        scorers: (policy.scorers ?? []).map((scorer) => ({
          ...scorer,
          score: (context, candidates, costs) => scorer.score(context, candidates, costs),
        })),
        picker: {
          ...policy.picker,
          pick: (context, candidates, costs) => policy.picker.pick(context, candidates, costs),
        },
      }
    },
  } satisfies PolicyDefinition)
}
