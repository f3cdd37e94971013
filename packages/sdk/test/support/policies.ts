import { z } from 'zod'
import { minimumCostPicker } from '../../src/minimum-cost.js'
import { type PolicyDefinition, definePolicy } from '../../src/policy.js'

type Overrides = Partial<Record<keyof PolicyDefinition, unknown>>

/** A policy that counts how often its parameters were validated. */
export function countedPolicy(type: string): { policy: PolicyDefinition; validations: () => number } {
  let validations = 0
  const parameters = z.strictObject({ weight: z.number().min(0).default(1) }).refine(() => ++validations > 0)
  return { policy: testPolicy(type, { parameters }), validations: () => validations }
}

/** A policy that ties all rows, with chosen or deliberately wrong fields. */
export function testPolicy(type: string, overrides: Overrides = {}): PolicyDefinition {
  const policy = definePolicy({
    type,
    version: '1.0.0',
    stability: 'stable',
    roles: ['aggregated'],
    affinity: 'advisory',
    parameters: z.strictObject({}),
    inputs: [],
    create: (_parameters, scope) => ({ picker: minimumCostPicker(scope.random()) }),
  })
  return { ...policy, ...overrides } as PolicyDefinition
}
