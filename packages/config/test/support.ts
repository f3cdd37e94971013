import {
  ConfigError,
  PolicyCatalog,
  type PolicyDefinition,
  definePolicy,
  minimumCostPicker,
} from '@router/sdk'
import { z } from 'zod'
import { selectVersion } from '../src/index.js'

/** A policy with one of each kind of parameter; `validated` counts how often its schema ran. */
export function weighted(
  more: { type?: string; version?: string; stability?: 'alpha' | 'stable' } = {},
): PolicyDefinition & {
  readonly validated: () => number
} {
  let validated = 0
  const policy = definePolicy({
    type: more.type ?? 'weighted',
    aliases: [`${more.type ?? 'weighted'}-alias`],
    version: more.version ?? '1.0.0',
    stability: more.stability ?? 'stable',
    roles: ['aggregated', 'prefill', 'decode', 'encode'],
    affinity: 'exclusive',
    parameters: z
      .strictObject({
        prefill_load_scale: z.number().min(0).default(1),
        mode: z.enum(['fast', 'fair']).default('fast'),
        limits: z.strictObject({ maximum: z.int().min(1).max(10) }).optional(),
        seed: z.union([z.bigint(), z.int()]).optional(),
      })
      .refine(() => ++validated > 0),
    runtime: ['prefill_load_scale'],
    inputs: ['load'],
    create: (_parameters, scope) => ({ picker: minimumCostPicker(scope.random()), reconfigure: () => {} }),
  })
  return Object.freeze({ ...policy, validated: () => validated })
}

/** A policy without parameters, and with nothing to change while running. */
export function plain(type = 'plain', version = '0.1.0'): PolicyDefinition {
  return definePolicy({
    type,
    version,
    stability: 'stable',
    roles: ['aggregated'],
    affinity: 'exclusive',
    parameters: z.strictObject({}),
    inputs: [],
    create: (_parameters, scope) => ({ picker: minimumCostPicker(scope.random()) }),
  })
}

/** A catalog with both policies and `plain` as the built-in default. */
export function catalog(): PolicyCatalog {
  return new PolicyCatalog({ selectVersion })
    .register(weighted())
    .register(plain())
    .withDefault(plain('built-in'))
}

/** The `ConfigError` that `run` throws. */
export async function refusal(run: () => unknown): Promise<ConfigError> {
  try {
    await run()
  } catch (error) {
    if (ConfigError.isInstance(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}
