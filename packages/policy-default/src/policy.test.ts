import {
  type HandMadeRow,
  TestMemory,
  handMadeContext,
  handMadeView,
  runComponents,
} from '@router/conformance'
import {
  type InputScope,
  type PolicyScope,
  type RouterDefaults,
  WyRand,
  routerDefaults,
  workerRoles,
} from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { combinations, drawsBetween } from '../test/column-fleet.js'
import { createDefaultCostPolicy, defaultCostInputs, defaultPolicy, policies } from './index.js'

const rows = (count: number): HandMadeRow[] =>
  Array.from({ length: count }, (_, index) => ({ workerId: BigInt(100 - index) }))

/** A policy object over the memory, its stream, and a selection over hand-made rows inside or outside that memory. */
function build(memory: TestMemory, parameters: object) {
  const random = new WyRand(42n)
  const seeds: (bigint | undefined)[] = []
  const scope: PolicyScope = {
    role: 'aggregated',
    model: 'default',
    routingGroup: 'default',
    conditionalDisaggregation: false,
    reservesRuntimeInputs: false,
    routerDefaults,
    random: (seed) => {
      seeds.push(seed)
      return random
    },
    nowMs: () => 0,
    memory,
    warnOnce: () => {},
  }
  const policy = createDefaultCostPolicy(defaultPolicy.parameters.parse(parameters) as object, scope)
  const select = (candidates: readonly HandMadeRow[], isInside = true, pinned = false): string => {
    const view = handMadeView(candidates)
    const pinnedWorker = { workerId: candidates[0]!.workerId, dpRank: 0 }
    const context = handMadeContext(view, pinned ? { pinnedWorker } : {})
    const { worker } = runComponents(policy as never, view, context, isInside ? { memory } : {})
    return `${worker.workerId}.${worker.dpRank}`
  }
  return { select, random, seeds }
}

describe('definition', () => {
  it('is what a configuration finds', () => {
    expect(policies).toEqual([defaultPolicy])
    expect(defaultPolicy).toMatchObject({
      type: 'dynamo-default-cost-fn',
      package: '@router/policy-default',
      stability: 'stable',
      affinity: 'exclusive',
      roles: ['aggregated', 'prefill', 'decode', 'encode'],
    })
  })
})

describe.each([
  ['SIMD kernel', true],
  ['plain loops', false],
])('picks on the %s', (_name, webAssembly) => {
  it.each([0, 0.7])(
    'draw in canonical order, from views inside and outside its memory, T %d',
    (router_temperature) => {
      // Rows in descending order of ids, so that the canonical order is the reverse.
      const inside = build(new TestMemory({ webAssembly }), { router_temperature })
      const outside = build(new TestMemory({ webAssembly }), { router_temperature })
      const canonical = build(new TestMemory({ webAssembly }), { router_temperature })
      for (let round = 0; round < 40; round++) {
        const tied = rows(1 + (round % 9))
        const expected = canonical.select(tied.toReversed())
        expect(inside.select(tied)).toBe(expected)
        expect(outside.select(tied, false)).toBe(expected)
      }
      expect(inside.random.state).toBe(canonical.random.state)
      expect(outside.random.state).toBe(canonical.random.state)
    },
  )

  it.each([0, 0.7])('of a pinned row are that row, without a draw, T %d', (router_temperature) => {
    const { select, random } = build(new TestMemory({ webAssembly }), { router_temperature })
    expect(select(rows(1), true, true)).toBe('100.0')
    expect(random.state).toBe(42n)
  })

  it('of a single row draw nothing at temperature 0, and one uniform above', () => {
    const [cold, warm] = [0, 0.7].map((router_temperature) =>
      build(new TestMemory({ webAssembly }), { router_temperature }),
    )
    cold!.select(rows(1))
    expect(drawsBetween(42n, cold!.random.state)).toBe(0)
    warm!.select(rows(1))
    expect(drawsBetween(42n, warm!.random.state)).toBe(1)
  })

  it('fall back to the plain sampler where costs spread beyond the largest double', () => {
    const memory = new TestMemory({ webAssembly })
    const { select, random } = build(memory, { router_temperature: 0.001 })
    const wide: HandMadeRow[] = [
      { workerId: 1n, load: { decodeCostBlocks: 1.5e308 } },
      { workerId: 2n, load: { decodeCostBlocks: -1.5e308 } },
      { workerId: 3n, load: { decodeCostBlocks: 0 } },
    ]
    expect(Array.from({ length: 20 }, () => select(wide))).toEqual(Array.from({ length: 20 }, () => '2.0'))
    expect(drawsBetween(42n, random.state)).toBe(20)
  })
})

describe('the stream', () => {
  it('is opened once, with the seed of the parameters or none', () => {
    expect(build(new TestMemory(), { seed: '18446744073709551615' }).seeds).toEqual([2n ** 64n - 1n])
    expect(build(new TestMemory(), {}).seeds).toEqual([undefined])
  })
})

const loadOnly = ['load', 'preferredTaint']
const withCache = ['load', 'preferredTaint', 'cache']

interface Case extends Omit<InputScope, 'routerDefaults'> {
  readonly credit: number
  readonly affinity: number
  /** Where the two numbers come from. */
  readonly from: 'parameters' | 'router'
}

function inputsOf({ credit, affinity, from, ...scope }: Case): readonly string[] {
  const numbers: Partial<RouterDefaults> = { overlap_score_credit: credit, prefix_affinity_weight: affinity }
  // The other source says the opposite and must not matter.
  const opposite = { overlap_score_credit: 1 - credit, prefix_affinity_weight: 4 - affinity }
  return from === 'parameters'
    ? defaultCostInputs(numbers, { ...scope, routerDefaults: { ...routerDefaults, ...opposite } })
    : defaultCostInputs({}, { ...scope, routerDefaults: { ...routerDefaults, ...numbers } })
}

const cases = combinations<Case>({
  role: workerRoles,
  conditionalDisaggregation: [false, true],
  reservesRuntimeInputs: [false, true],
  credit: [0, 1],
  affinity: [0, 4],
  from: ['parameters', 'router'],
})

describe('inputs', () => {
  it('are load and taints, and the cache where it is used or reserved', () => {
    expect(cases).toHaveLength(128)
    for (const one of cases) {
      const plainDecode = one.role === 'decode' && !one.conditionalDisaggregation
      const asksForCache = one.reservesRuntimeInputs || one.credit > 0 || one.affinity > 0
      const expected = !plainDecode && asksForCache ? withCache : loadOnly
      expect(inputsOf(one), JSON.stringify(one)).toEqual(expected)
    }
  })

  it('never depend on another parameter', () => {
    const scope: InputScope = {
      role: 'aggregated',
      conditionalDisaggregation: false,
      reservesRuntimeInputs: false,
      routerDefaults,
    }
    const others = { host_cache_hit_weight: 1, disk_cache_hit_weight: 1, shared_cache_multiplier: 1 }
    expect(defaultCostInputs({ ...others, overlap_score_credit: 0 }, scope)).toEqual(loadOnly)
    expect(defaultPolicy.inputs({ ...others, overlap_score_credit: 0 }, scope)).toEqual(loadOnly)
    expect(defaultPolicy.inputs({}, scope)).toEqual(withCache)
  })
})
