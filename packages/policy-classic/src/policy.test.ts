import type { HandMadeFacts } from '@router/conformance'
import { type PolicyDefinition, RequestFault, type SelectionError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { build, cpu, row, rows } from '../test/built-policy.js'
import { type Draw, ScriptedRandom } from '../test/scripted-random.js'
import {
  deviceAwareParameters,
  deviceAwareWeightedPolicy,
  directPolicy,
  leastLoadedPolicy,
  noParameters,
  policies,
  powerOfTwoChoicesPolicy,
  randomPolicy,
  roundRobinPolicy,
} from './index.js'

const named = (id: number, dpRank?: number): HandMadeFacts => ({
  affinityTarget: { workerId: BigInt(id), ...(dpRank === undefined ? {} : { dpRank }) },
})
const query = { queryOnly: true }
const fleet = rows('10.0', '10.1', '20.0', '20.1')

/** Picks with these draws, once explained and once for real. */
function pickWith(
  definition: PolicyDefinition,
  draws: readonly Draw[],
  ...[all, facts]: [all: ReturnType<typeof rows>, facts?: HandMadeFacts]
): string {
  const random = new ScriptedRandom()
  const built = build(definition, { random })
  expect(random.with([], () => built.explain(all, facts)).names).not.toEqual([])
  return random.with(draws, () => built.pick(all, facts))
}

describe('definitions', () => {
  it('are what a configuration finds, in the order of their documentation', () => {
    expect(policies.map(({ type }) => type)).toEqual([
      'dynamo-round-robin',
      'dynamo-random',
      'dynamo-power-of-two-choices',
      'dynamo-least-loaded',
      'dynamo-direct',
      'dynamo-device-aware-weighted',
    ])
    for (const policy of policies) {
      expect(policy).toMatchObject({ package: '@router/policy-classic', stability: 'beta', aliases: [] })
      expect(policy.roles).toEqual(['aggregated', 'prefill', 'decode', 'encode'])
    }
  })

  it('ask for no more than they look at', () => {
    const inputs = policies.map((policy) => policy.inputs({}, {} as never).join())
    expect(inputs).toEqual(['', '', 'occupancy', 'occupancy', '', 'occupancy'])
  })

  it('say what the host does for them', () => {
    const exclusive = policies.filter(({ affinity }) => affinity === 'exclusive')
    expect(exclusive).toEqual([directPolicy])
    const unreserved = policies.filter(({ occupancyAdmission }) => occupancyAdmission !== 'always')
    expect(unreserved).toEqual([deviceAwareWeightedPolicy])
  })
})

describe('parameters', () => {
  it.each([{}, { cuda_to_cpu_ratio: 1 }, { cuda_to_cpu_ratio: 2.5 }])('accept %j', (parameters) => {
    expect(deviceAwareParameters.parse(parameters)).toEqual(parameters)
  })

  it.each([
    { cuda_to_cpu_ratio: 0.99 },
    { cuda_to_cpu_ratio: -8 },
    { cuda_to_cpu_ratio: NaN },
    { cuda_to_cpu_ratio: Infinity },
    { cuda_to_cpu_ratio: '8' },
    { cuda_to_cpu_ratio: null },
    { seed: 1 },
  ])('refuse %o', (parameters) => {
    expect(deviceAwareParameters.safeParse(parameters).success).toBe(false)
    expect(noParameters.safeParse(parameters).success).toBe(false)
  })
})

describe('dynamo-round-robin', () => {
  const built = () => {
    const policy = build(roundRobinPolicy)
    policy.join(fleet)
    return policy
  }

  it('goes over workers, then over the ranks of each', () => {
    const { pick } = built()
    expect([1, 2, 3, 4, 5].map(() => pick(fleet))).toEqual(['10.0', '20.0', '10.1', '20.1', '10.0'])
  })

  it('turns nothing for a query, which sees the next turn', () => {
    const { pick, explain } = built()
    for (const expected of ['10.0', '20.0', '10.1']) {
      expect([pick(fleet, query), pick(fleet, query)]).toEqual([expected, expected])
      expect(explain(fleet)).toMatchObject({ mode: 'turn', names: [expected] })
      expect(pick(fleet)).toBe(expected)
    }
  })

  it('turns nothing for a rank that was named, and the ranks alone for a worker', () => {
    const { pick } = built()
    expect(pick(fleet, named(20, 1))).toBe('20.1')
    expect(pick(fleet, { pinnedWorker: { workerId: 10n, dpRank: 1 } })).toBe('10.1')
    expect([pick(fleet, named(10)), pick(fleet, named(10)), pick(fleet, named(10))]).toEqual([
      '10.0',
      '10.1',
      '10.0',
    ])
    expect([pick(fleet), pick(fleet), pick(fleet)]).toEqual(['10.1', '20.0', '10.0'])
  })

  it('does not turn the ranks of a worker with one row', () => {
    const { pick } = built()
    expect([pick(rows('10.1')), pick(rows('10.0')), pick(fleet, named(10))]).toEqual(['10.1', '10.0', '10.0'])
  })

  it('forgets the turn of a worker that left, and no other', () => {
    const { pick, join } = built()
    for (let turn = 0; turn < 2; turn++) pick(fleet)
    join(fleet.slice(2))
    join(fleet)
    expect([pick(fleet), pick(fleet)]).toEqual(['10.0', '20.1'])
  })
})

describe('dynamo-random', () => {
  it('draws a worker, then a rank when there are several', () => {
    const draws = [
      { n: 3, value: 1 },
      { n: 2, value: 1 },
    ]
    const all = rows('10', '20.4', '20.7', '30')
    expect(pickWith(randomPolicy, draws, all)).toBe('20.7')
    expect(pickWith(randomPolicy, [{ n: 3, value: 2 }], all)).toBe('30.0')
    expect(pickWith(randomPolicy, [{ n: 1, value: 0 }], rows('10'))).toBe('10.0')
  })

  it('may give any row', () => {
    expect(build(randomPolicy).explain(fleet)).toMatchObject({
      mode: 'random',
      names: ['10.0', '10.1', '20.0', '20.1'],
    })
  })
})

describe('what a request names', () => {
  const drawing = [randomPolicy, powerOfTwoChoicesPolicy, leastLoadedPolicy, deviceAwareWeightedPolicy]

  it.each(policies)('$type takes a rank that is there, without a draw', (policy) => {
    for (const facts of [
      named(20, 1),
      { pinnedWorker: { workerId: 20n, dpRank: 1 } },
      // The pin is what the host imposed.
      { ...named(10, 0), pinnedWorker: { workerId: 20n, dpRank: 1 } },
    ]) {
      expect(pickWith(policy, [], fleet, facts)).toBe('20.1')
      expect(build(policy).explain(fleet, facts)).toEqual({ mode: 'target', tieSet: [3], names: ['20.1'] })
    }
  })

  it.each(policies)('$type takes the only row of a worker, without a draw', (policy) => {
    expect(pickWith(policy, [], rows('10.0', '10.1', '20.3'), named(20))).toBe('20.3')
  })

  it.each([
    [randomPolicy, [{ n: 2, value: 1 }], '20.1'],
    [
      powerOfTwoChoicesPolicy,
      [
        { n: 2, value: 1 },
        { n: 1, value: 0 },
      ],
      '20.1',
    ],
    [leastLoadedPolicy, [{ n: 2, value: 0 }], '20.1'],
    [deviceAwareWeightedPolicy, [{ n: 2, value: 0 }], '20.1'],
    [directPolicy, [], '20.0'],
    [roundRobinPolicy, [], '20.0'],
  ] as const)('$0.type picks the rank of a worker that was named', (policy, draws, expected) => {
    expect(pickWith(policy, draws, fleet, named(20))).toBe(expected)
    expect(build(policy).explain(fleet, named(20))).toMatchObject({ mode: 'target' })
  })

  it.each(drawing)('$type goes on without it where it is not there', (policy) => {
    for (const facts of [named(30), named(30, 0), named(20, 2)]) {
      const [with_, without] = [build(policy), build(policy)]
      for (let pick = 0; pick < 8; pick++) expect(with_.pick(fleet, facts)).toBe(without.pick(fleet))
      expect(with_.explain(fleet, facts)).toEqual(without.explain(fleet))
    }
  })
})

describe('dynamo-direct', () => {
  const refusal = (facts?: HandMadeFacts): unknown => {
    const { pick, explain } = build(directPolicy)
    expect(() => explain(fleet, facts)).toThrow()
    try {
      return pick(fleet, facts)
    } catch (error) {
      return error
    }
  }

  it('blames a request that names nobody', () => {
    const error = refusal() as SelectionError
    expect(error).toMatchObject({
      code: 'ROUTER_POLICY_FAILED',
      details: { component: 'picker direct', reason: 'target-required' },
    })
    expect(RequestFault.isInstance(error.cause)).toBe(true)
  })

  it.each([named(30), named(30, 0), named(20, 2)])('fails for one that is not there: %o', (facts) => {
    const error = refusal(facts) as SelectionError
    expect(error).toMatchObject({ code: 'ROUTER_POLICY_FAILED', details: { reason: 'target-not-eligible' } })
    expect(RequestFault.isInstance(error.cause)).toBe(false)
  })
})

describe('explanations', () => {
  it('of power-of-two-choices name all that may win', () => {
    const { explain } = build(powerOfTwoChoicesPolicy)
    expect(explain(rows('10 x1', '20.0 x3', '20.1 x2', '30 x4')).names).toEqual(['10.0', '30.0'])
    expect(explain(rows('10 x1', '20.0 x3', '20.1 x2', '30 x5'))).toEqual({
      mode: 'two-choices',
      tieSet: [0, 2, 3],
      // 20.0 always loses to 20.1.
      names: ['10.0', '20.1', '30.0'],
      keys: { reservations: [1, 3, 2, 5], workerReservations: [1, 5, 5, 5] },
    })
    expect(explain(rows('10 x1')).names).toEqual(['10.0'])
  })

  it('of least-loaded name all that tie, and say by what, row by row', () => {
    expect(
      build(leastLoadedPolicy).explain(rows('20.1 x2', '10 x2', '20.0 x0', '30.0 x1', '30.1 x1')),
    ).toEqual({
      mode: 'least-loaded',
      tieSet: [1, 2, 3, 4],
      names: ['10.0', '20.0', '30.0', '30.1'],
      keys: { reservations: [2, 2, 0, 1, 1], workerReservations: [2, 2, 2, 2, 2] },
    })
  })

  it('of device-aware-weighted say which group was chosen, and how much CPU workers may hold', () => {
    const { explain } = build(deviceAwareWeightedPolicy)
    const told = (all: ReturnType<typeof rows>, requiredCacheHits = 0) => {
      const { mode, names, keys } = explain(all, { requiredCacheHits })
      return [mode, names.join(' '), keys!['allowedCpuReservations']?.join(' ')]
    }
    const all = [cpu('10 x3'), cpu('20 x3'), row('30 x16', { cacheHits: 1 }), row('40 x40')]
    expect(told(all)).toEqual(['cpu', '10.0 20.0', '7 7 7 7'])
    expect(told([cpu('10 x4'), ...all.slice(1)])).toEqual(['accelerator', '30.0', '7 7 7 7'])
    expect(told(all, 1)).toEqual(['full-hit', '30.0', undefined])
    expect(told(all.slice(0, 2))).toEqual(['cpu', '10.0 20.0', undefined])
    expect(told(all.slice(2))).toEqual(['accelerator', '30.0', undefined])
  })
})

describe('cuda_to_cpu_ratio', () => {
  /** 16 on one accelerator: a CPU worker may hold floor(16 / ratio). */
  const takesCpu = (held: number, { pick }: ReturnType<typeof build>): boolean =>
    pick([cpu(`10 x${held}`), row('20 x16')]) === '10.0'

  it('is the one of the router where the instance names none', () => {
    const inherits = build(deviceAwareWeightedPolicy)
    expect([takesCpu(1, inherits), takesCpu(2, inherits)]).toEqual([true, false])
    const router = { encoder_cuda_to_cpu_ratio: 2 }
    const told = build(deviceAwareWeightedPolicy, { router })
    expect([takesCpu(7, told), takesCpu(8, told)]).toEqual([true, false])
    const parameters = { cuda_to_cpu_ratio: 4 }
    const configured = build(deviceAwareWeightedPolicy, { router, parameters })
    expect([takesCpu(3, configured), takesCpu(4, configured)]).toEqual([true, false])
  })

  it('is 8 for a router that says nothing of it', () => {
    const silent = build(deviceAwareWeightedPolicy, {
      router: { encoder_cuda_to_cpu_ratio: undefined as never },
    })
    expect([takesCpu(1, silent), takesCpu(2, silent)]).toEqual([true, false])
  })

  it('may change while running, and change back', () => {
    const built = build(deviceAwareWeightedPolicy)
    built.policy.reconfigure!({ cuda_to_cpu_ratio: 1 } as never)
    expect([takesCpu(15, built), takesCpu(16, built)]).toEqual([true, false])
    built.policy.reconfigure!({} as never)
    expect([takesCpu(1, built), takesCpu(2, built)]).toEqual([true, false])
  })
})
