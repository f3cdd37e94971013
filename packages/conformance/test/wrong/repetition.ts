import { type PolicyDefinition, nonNegative, pickMinimumCost } from '@router/sdk'
import { z } from 'zod'
import {
  type WrongPolicy,
  canonicalOrder,
  faulty,
  knownLoad,
  pickFirst,
  scoreRequests,
} from './wrong-policy.js'

/** Advances a rotation when `advances` says so; sound with `({ queryOnly }) => !queryOnly`. */
function rotating(advances: (queryOnly: boolean, tracked: number) => boolean): PolicyDefinition {
  return faulty(() => {
    let rotation = 0
    let tracked = 0
    return {
      pick: ({ queryOnly }, candidates) => {
        const order = canonicalOrder(candidates)
        const row = order[rotation % order.length]!
        if (!queryOnly) tracked++
        if (advances(queryOnly, tracked)) rotation++
        return row
      },
    }
  })
}

const memoised = faulty(() => ({ pick: pickFirst }))
let shared: ReturnType<PolicyDefinition['create']> | undefined
let picksOfAllObjects = 0

export const wrongRepetition: readonly WrongPolicy[] = [
  {
    name: 'a stream seeded by the clock',
    policy: faulty(({ nowMs, random }) => {
      const stream = random(BigInt(nowMs()))
      return {
        pick: (_context, { count, canonicalRows }, costs) =>
          pickMinimumCost(costs, count, canonicalRows, stream),
      }
    }),
    breaks: ['deterministic-seed'],
  },
  {
    name: 'one object for all partitions',
    policy: { ...memoised, create: (parameters, scope) => (shared ??= memoised.create(parameters, scope)) },
    breaks: ['fresh-objects'],
  },
  {
    name: 'a rotation that all objects share',
    policy: faulty(() => ({
      pick: ({ queryOnly }, candidates) => {
        const order = canonicalOrder(candidates)
        return order[(queryOnly ? picksOfAllObjects : picksOfAllObjects++) % order.length]!
      },
    })),
    breaks: [
      'fresh-objects',
      'deterministic-seed',
      'left-overs',
      'live-host',
      'live-queries',
      'live-views',
      'moved-columns',
      'query-rule',
      'renamed-policy',
      'row-permutation',
      'stale-views',
    ],
  },
  {
    name: 'a scorer that depends on its own name',
    policy: faulty(() => ({
      score: function (this: { name?: string } | undefined, context, candidates, costs) {
        scoreRequests(context, candidates, costs)
        if (this?.name === 'score')
          for (let row = 0; row < candidates.count; row++) costs[row] = costs[row]! + 1
      },
    })),
    breaks: ['renamed-policy'],
  },
  {
    name: 'a rotation that queries advance',
    policy: rotating((queryOnly, tracked) => !queryOnly || tracked > 0),
    breaks: ['query-rule', 'live-host', 'live-queries'],
  },
  {
    name: 'an explanation that advances the stream of decisions',
    policy: faulty(() => {
      let rotation = 0
      return {
        picker: {
          name: 'explained',
          pick: (_context, candidates) => canonicalOrder(candidates)[rotation % candidates.count]!,
          explain: () => {
            rotation++
            return { tieSet: [0] }
          },
        },
      }
    }),
    breaks: ['live-host', 'live-queries'],
  },
  {
    name: 'a copy of the candidates, which loses what a host computes',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        const copy = { ...candidates }
        scoreRequests(context, candidates, costs)
        for (let row = 0; row < candidates.count; row++) costs[row] = costs[row]! + (copy.dpRank?.[row] ?? 5)
      },
    })),
    breaks: ['live-host', 'declared-inputs'],
  },
  {
    name: 'a cache group that counts whenever it was gathered',
    policy: {
      ...faulty(
        () => ({
          reconfigure: () => {},
          score: (_context, { count, cache, load }, costs) => {
            for (let row = 0; row < count; row++) {
              const cached = cache?.isAvailable[row] === 1 ? cache.deviceOverlapBlocks[row]! : 0
              costs[row] = (knownLoad(load!, row) ? load!.activeRequests[row]! : 0) - cached
            }
          },
        }),
        { parameters: z.strictObject({ note: nonNegative().max(0).default(0) }), runtime: ['note'] },
      ),
      inputs: (_parameters, scope) => (scope.reservesRuntimeInputs ? ['load', 'cache'] : ['load']),
    },
    breaks: ['reserved-unused'],
  },
]
