import {
  type CacheColumns,
  type CandidatesFor,
  type LoadColumns,
  type WorkerCandidates,
  type WorkerInputs,
  definePolicy,
} from '@router/sdk'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const source = {
  type: 'x',
  version: '1.0.0',
  stability: 'stable',
  roles: ['decode'],
  affinity: 'advisory',
} as const
const parameters = z.strictObject({ credit: z.number(), mode: z.enum(['full', 'plain']) })

describe('constant inputs', () => {
  it('show the declared groups and no others', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: ['load', 'capacity'],
      create: () => ({
        picker: {
          name: 'p',
          pick: (_context, candidates) => {
            expectTypeOf(candidates.load).toEqualTypeOf<LoadColumns>()
            expectTypeOf(candidates.load.activeRequests).toEqualTypeOf<Float64Array>()
            expectTypeOf(candidates.capacity.totalKvBlocks).toEqualTypeOf<Float64Array>()
            expectTypeOf(candidates.count).toEqualTypeOf<number>()
            // @ts-expect-error -- not declared
            void candidates.cache
            // @ts-expect-error -- not declared
            void candidates.prefillTime
            return 0
          },
        },
      }),
    })
  })

  it('may be empty: identity and context alone', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: [],
      create: () => ({
        picker: {
          name: 'p',
          pick: (_context, candidates) => {
            expectTypeOf(candidates.workerIdLow).toEqualTypeOf<Uint32Array>()
            // @ts-expect-error -- not declared
            void candidates.load
            return candidates.count - 1
          },
        },
      }),
    })
  })

  it('name groups that exist', () => {
    definePolicy({
      ...source,
      parameters,
      // @ts-expect-error -- no such group
      inputs: ['lode'],
      create: () => ({ picker: { name: 'p', pick: () => 0 } }),
    })
  })

  it('are seen by filters and scorers as well', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: ['load'],
      create: () => ({
        filters: [
          {
            name: 'f',
            keep: (_context, candidates, row) => {
              // @ts-expect-error -- not declared
              void candidates.cache
              return candidates.load.activeRequests[row] === 0
            },
          },
        ],
        scorers: [
          {
            name: 's',
            score: (_context, candidates, costs) => {
              // @ts-expect-error -- not declared
              void candidates.cache
              costs[0] = candidates.load.activePrefillTokens[0]!
            },
          },
        ],
        picker: { name: 'p', pick: () => 0 },
      }),
    })
  })
})

describe('inputs that depend on parameters', () => {
  it('of a conditional are inferred without as const', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: (given, scope) => (given.credit > 0 && scope.role === 'decode' ? ['load', 'cache'] : ['load']),
      create: () => ({
        picker: {
          name: 'p',
          pick: (_context, candidates) => {
            expectTypeOf(candidates.load).toEqualTypeOf<LoadColumns>()
            expectTypeOf(candidates.cache).toEqualTypeOf<CacheColumns | undefined>()
            // @ts-expect-error -- may be undefined
            void candidates.cache.estimateBlocks
            // @ts-expect-error -- in no tuple
            void candidates.occupancy
            return 0
          },
        },
      }),
    })
  })

  it('of several returns are inferred without as const', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: (given) => {
        if (given.mode === 'plain') return ['load']
        if (given.credit > 0) return ['cache', 'load', 'capacity']
        return ['load', 'cache']
      },
      create: () => ({
        picker: {
          name: 'p',
          pick: (_context, candidates) => {
            expectTypeOf(candidates.load).toEqualTypeOf<LoadColumns>()
            expectTypeOf(candidates.cache).toEqualTypeOf<CacheColumns | undefined>()
            expectTypeOf(candidates.capacity?.totalKvBlocks).toEqualTypeOf<Float64Array | undefined>()
            // @ts-expect-error -- in no tuple
            void candidates.preferredTaint
            return 0
          },
        },
      }),
    })
  })

  it('of a spread keep what stands before it', () => {
    definePolicy({
      ...source,
      parameters,
      inputs: ({ credit }) => ['load', ...(credit > 0 ? (['cache'] as const) : [])],
      create: () => ({
        picker: {
          name: 'p',
          pick: (_context, candidates) => {
            expectTypeOf(candidates.load).toEqualTypeOf<LoadColumns>()
            expectTypeOf(candidates.cache).toEqualTypeOf<CacheColumns | undefined>()
            return 0
          },
        },
      }),
    })
  })

  it('return nothing but groups', () => {
    definePolicy({
      ...source,
      parameters,
      // @ts-expect-error -- no such group
      inputs: ({ credit }) => (credit > 0 ? ['load', 'everything'] : ['load']),
      create: () => ({ picker: { name: 'p', pick: () => 0 } }),
    })
  })
})

describe('CandidatesFor', () => {
  it('promises nothing for a plain array', () => {
    type View = CandidatesFor<WorkerInputs>
    expectTypeOf<View['load']>().toEqualTypeOf<LoadColumns | undefined>()
    expectTypeOf<View['cache']>().toEqualTypeOf<CacheColumns | undefined>()
    expectTypeOf<CandidatesFor<('load' | 'cache')[]>['load']>().toEqualTypeOf<LoadColumns | undefined>()
    // @ts-expect-error -- in no element of the array
    expectTypeOf<CandidatesFor<('load' | 'cache')[]>['capacity']>().toEqualTypeOf<undefined>()
  })

  it('keeps what a tuple surely holds, whatever follows', () => {
    type View = CandidatesFor<readonly ['load', ...'cache'[]]>
    expectTypeOf<View['load']>().toEqualTypeOf<LoadColumns>()
    expectTypeOf<View['cache']>().toEqualTypeOf<CacheColumns | undefined>()
  })

  it('does not mind order and repetition', () => {
    type View = CandidatesFor<readonly ['cache', 'load'] | readonly ['load', 'cache', 'load']>
    expectTypeOf<View['load']>().toEqualTypeOf<LoadColumns>()
    expectTypeOf<View['cache']>().toEqualTypeOf<CacheColumns>()
  })

  it('of all groups may stand for the untyped view', () => {
    type All = CandidatesFor<
      readonly ['cache', 'load', 'preferredTaint', 'capacity', 'occupancy', 'prefillTime']
    >
    expectTypeOf<All>().toExtend<WorkerCandidates>()
    expectTypeOf<CandidatesFor<readonly ['load']>>().not.toExtend<WorkerCandidates>()
  })

  it('is read-only', () => {
    const write = (candidates: CandidatesFor<readonly ['load']>): void => {
      // @ts-expect-error -- the host owns the columns
      candidates.load = null!
      // @ts-expect-error -- the host owns the columns
      candidates.load.activeRequests = new Float64Array(1)
      // @ts-expect-error -- the host owns the columns
      candidates.count = 1
    }
    void write
  })
})
