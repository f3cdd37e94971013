import { definePolicy, nonNegative } from '@router/sdk'
import { z } from 'zod'
import { type WrongPolicy, faulty, knownLoad, scoreRequests } from './wrong-policy.js'

const sound = faulty(() => ({}))
const reconfigurable = { reconfigure: () => {} }

/** Inputs that depend on a patchable weight, without reserving the group that a patch would need. */
const unreserved = definePolicy({
  type: 'unreserved',
  version: '1.0.0',
  stability: 'stable',
  roles: ['aggregated'],
  affinity: 'advisory',
  parameters: z.strictObject({ cache_weight: nonNegative().default(0) }),
  runtime: ['cache_weight'],
  inputs: ({ cache_weight }) => (cache_weight === 0 ? (['load'] as const) : (['load', 'cache'] as const)),
  create: ({ cache_weight }, scope) => {
    let weight = cache_weight
    const policy = sound.create({}, scope)
    return {
      ...(policy as object),
      picker: policy.picker as never,
      scorers: [
        {
          name: 'cached',
          score: (_context, { count, load, cache }, costs) => {
            for (let row = 0; row < count; row++) {
              const cached = cache?.isAvailable[row] === 1 ? cache.deviceOverlapBlocks[row]! : 0
              costs[row] =
                (knownLoad(load, row) ? load.activeRequests[row]! : 0) - (weight === 0 ? 0 : weight * cached)
            }
          },
        },
      ],
      reconfigure: (changed) => {
        weight = changed.cache_weight
      },
    }
  },
})

let calls = 0

export const wrongDefinitions: readonly WrongPolicy[] = [
  {
    name: 'a version that is not semantic',
    policy: { ...sound, version: '1.0.0 beta' },
    breaks: ['metadata'],
  },
  { name: 'an alias that repeats the type', policy: { ...sound, aliases: ['faulty'] }, breaks: ['metadata'] },
  {
    name: 'another contract version',
    policy: { ...sound, contractVersion: 2 },
    breaks: ['metadata'],
  },
  {
    name: 'a schema that strips unknown keys',
    policy: faulty(() => ({}), { parameters: z.object({}) }),
    breaks: ['parameters-strict'],
  },
  {
    name: 'a nested schema that strips unknown keys',
    policy: faulty(() => ({}), {
      parameters: z.strictObject({ limits: z.object({ a: z.int().optional() }).optional() }),
    }),
    breaks: ['parameters-strict'],
  },
  {
    name: 'a schema that takes null for an empty mapping',
    policy: faulty(() => ({}), { parameters: z.strictObject({}).nullable() }),
    breaks: ['parameters-strict'],
  },
  {
    name: 'a number that is coerced',
    policy: faulty(() => ({}), { parameters: z.strictObject({ weight: z.coerce.number().optional() }) }),
    breaks: ['parameters-finite'],
  },
  {
    name: 'a bad number that becomes a default',
    policy: faulty(() => ({}), { parameters: z.strictObject({ weight: z.number().catch(1).optional() }) }),
    breaks: ['parameters-finite'],
  },
  {
    name: 'a runtime name with a typing error',
    policy: faulty(() => reconfigurable, {
      parameters: z.strictObject({ weight: nonNegative().default(1) }),
      runtime: ['weigth'],
    }),
    breaks: ['runtime-names'],
  },
  {
    name: 'a patch that needs a group which is not reserved',
    policy: unreserved,
    breaks: ['inputs-reserved'],
  },
  {
    name: 'inputs that change from call to call',
    policy: { ...sound, inputs: () => (calls++ % 2 === 0 ? ['load'] : ['load', 'capacity']) },
    breaks: ['inputs-reserved'],
  },
  {
    name: 'an input that the contract does not know',
    policy: { ...sound, inputs: () => ['load', 'weather'] as never },
    breaks: ['inputs-reserved', 'live-host', 'live-queries', 'live-views'],
  },
  {
    name: 'a scorer that reads a group which nobody declared',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        void candidates.capacity
        scoreRequests(context, candidates, costs)
      },
    })),
    breaks: ['declared-inputs'],
  },
  {
    name: 'a picker that reads a group which it left out of its own inputs',
    policy: faulty(() => ({
      picker: {
        name: 'narrow',
        inputs: [],
        pick: (_context, { count, canonicalRows, load }) =>
          load === undefined ? (canonicalRows?.[0] ?? 0) : count,
      },
    })),
    breaks: ['declared-inputs'],
  },
]
