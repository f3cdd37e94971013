import {
  type CandidateRows,
  type CandidatesFor,
  PolicyCatalog,
  type PolicyDefinition,
  type WorkerPicker,
  type WorkerScorer,
  defineFilter,
  definePicker,
  definePolicy,
  defineScorer,
  minimumCostPicker,
  softmaxPicker,
} from '@router/sdk'
import semver from 'semver'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const source = {
  type: 'x',
  version: '1.0.0',
  stability: 'stable',
  roles: ['decode'],
  affinity: 'advisory',
  parameters: z.strictObject({}),
} as const

const loadScorer = defineScorer({
  name: 'load',
  inputs: ['load'],
  score: (_context, candidates, costs) => {
    expectTypeOf(candidates.load.activeRequests).toEqualTypeOf<Float64Array>()
    // @ts-expect-error -- narrowed to load
    void candidates.cache
    costs[0] = 0
  },
})
const cacheScorer = defineScorer({ name: 'cache', inputs: ['cache'], score: () => undefined })
const loadFilter = defineFilter({
  name: 'idle',
  inputs: ['load'],
  keep: (_context, candidates, row) => candidates.load.activeRequests[row] === 0,
})
const loadPicker = definePicker({
  name: 'first',
  inputs: ['load'],
  pick: (_context, candidates) => candidates.load.activeRequests.indexOf(0),
})

describe('components', () => {
  it('fit a policy that declares what they need', () => {
    definePolicy({
      ...source,
      inputs: ['load'],
      create: () => ({ filters: [loadFilter], scorers: [loadScorer], picker: loadPicker }),
    })
  })

  it('fit a policy that declares more', () => {
    definePolicy({
      ...source,
      inputs: ['cache', 'load', 'capacity'],
      create: () => ({ filters: [loadFilter], scorers: [loadScorer, cacheScorer], picker: loadPicker }),
    })
  })

  it('do not fit a policy that declares less', () => {
    definePolicy({
      ...source,
      inputs: ['load'],
      // @ts-expect-error -- the scorer reads cache
      create: () => ({ scorers: [cacheScorer], picker: loadPicker }),
    })
    definePolicy({
      ...source,
      inputs: ['cache'],
      // @ts-expect-error -- the filter reads load
      create: () => ({ filters: [loadFilter], picker: minimumCostPicker(null!) }),
    })
    definePolicy({
      ...source,
      inputs: [],
      // @ts-expect-error -- the picker reads load
      create: () => ({ picker: loadPicker }),
    })
  })

  it('do not fit where their group is there only sometimes', () => {
    definePolicy({
      ...source,
      inputs: (_parameters, scope) => (scope.role === 'prefill' ? ['load', 'cache'] : ['load']),
      // @ts-expect-error -- cache may be undefined
      create: () => ({ scorers: [loadScorer, cacheScorer], picker: loadPicker }),
    })
  })

  it('are checked wherever inputs stands, when it is constant', () => {
    definePolicy({
      ...source,
      // @ts-expect-error -- the scorer reads cache
      create: () => ({ scorers: [cacheScorer], picker: minimumCostPicker(null!) }),
      inputs: ['load'],
    })
  })

  it('may be typed by hand', () => {
    const byHand: WorkerScorer<CandidatesFor<readonly ['load']>> = loadScorer
    const needsNothing: WorkerScorer<CandidateRows> = { name: 'zero', score: () => undefined }
    definePolicy({
      ...source,
      inputs: ['load'],
      create: () => ({ scorers: [byHand, needsNothing], picker: loadPicker }),
    })
  })

  it('have callbacks that are not bivariant, unlike methods', () => {
    type Narrow = CandidatesFor<readonly ['load', 'cache']>
    type Wide = CandidatesFor<readonly ['load']>
    expectTypeOf<WorkerScorer<Wide>>().toExtend<WorkerScorer<Narrow>>()
    expectTypeOf<WorkerScorer<Narrow>>().not.toExtend<WorkerScorer<Wide>>()
  })

  it('return what the host checks', () => {
    // @ts-expect-error -- a filter says yes or no
    defineFilter({ name: 'f', inputs: [], keep: () => 1 })
    // @ts-expect-error -- a picker returns a row
    definePicker({ name: 'p', inputs: [], pick: () => 'row' })
    // @ts-expect-error -- and not a promise of one
    definePicker({ name: 'p', inputs: [], pick: async () => 0 })
  })

  it('of the SDK need no group', () => {
    expectTypeOf(minimumCostPicker(null!)).toEqualTypeOf<WorkerPicker<CandidateRows>>()
    expectTypeOf(softmaxPicker(null!, 1)).toExtend<typeof loadPicker>()
  })
})

describe('definePolicy', () => {
  it('gives create, inputs and reconfigure the output of the schema', () => {
    const parameters = z.strictObject({
      weight: z.number().default(1),
      seed: z.string().transform(BigInt).optional(),
    })
    type Output = { weight: number; seed?: bigint | undefined }
    definePolicy({
      ...source,
      parameters,
      runtime: ['weight'],
      inputs: (given) => {
        expectTypeOf(given).toEqualTypeOf<Output>()
        return ['load']
      },
      create: (given, scope) => {
        expectTypeOf(given).toEqualTypeOf<Output>()
        expectTypeOf(scope.nowMs()).toEqualTypeOf<number>()
        return {
          picker: minimumCostPicker(scope.random(given.seed)),
          reconfigure: (changed) => expectTypeOf(changed).toEqualTypeOf<Output>(),
        }
      },
    })
  })

  it('wants affinity, stability, roles and a picker', () => {
    const complete = { ...source, inputs: [], create: () => ({ picker: minimumCostPicker(null!) }) } as const
    expectTypeOf(definePolicy(complete)).toEqualTypeOf<PolicyDefinition>()
    const { affinity: _affinity, ...withoutAffinity } = complete
    // @ts-expect-error -- there is no silent default
    definePolicy(withoutAffinity)
    const { stability: _stability, ...withoutStability } = complete
    // @ts-expect-error -- required
    definePolicy(withoutStability)
    // @ts-expect-error -- an unknown role
    definePolicy({ ...complete, roles: ['router'] })
    // @ts-expect-error -- a policy has exactly one picker
    definePolicy({ ...complete, create: () => ({ scorers: [] }) })
  })
})

describe('PolicyCatalog', () => {
  it('takes semver.maxSatisfying, and configurations with undefined in them', () => {
    const catalog = new PolicyCatalog({ selectVersion: semver.maxSatisfying })
    const configured = z.strictObject({ decode: z.string().optional(), allowAlpha: z.boolean().optional() })
    expectTypeOf(catalog.resolve).toBeCallableWith(null! as z.output<typeof configured>)
  })
})
