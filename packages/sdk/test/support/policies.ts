import { z } from 'zod'
import { type ClassifierDefinition, defineClassifier } from '../../src/classifier.js'
import { type KvHintPolicyDefinition, defineKvHintPolicy } from '../../src/kv-hint.js'
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

/** A classifier that lets every request through, with chosen or deliberately wrong fields. */
export function testClassifier(
  type: string,
  overrides: Partial<Record<keyof ClassifierDefinition, unknown>> = {},
): ClassifierDefinition {
  const parameters = z.strictObject({ window_ms: z.number().min(0).default(5) })
  const classifier = defineClassifier({ type, version: '1.0.0', parameters, create: () => ({}) })
  return { ...classifier, ...overrides } as ClassifierDefinition
}

/** A KV-hint policy that adds nothing, with chosen or deliberately wrong fields. */
export function testKvHintPolicy(
  type: string,
  overrides: Partial<Record<keyof KvHintPolicyDefinition, unknown>> = {},
): KvHintPolicyDefinition {
  const parameters = z.strictObject({ depth: z.int().min(1).default(4) })
  const create = () => ({ hints: async () => [] })
  return {
    ...defineKvHintPolicy({ type, version: '1.0.0', parameters, create }),
    ...overrides,
  } as KvHintPolicyDefinition
}
