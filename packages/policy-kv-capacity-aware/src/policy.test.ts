import { handMadeView } from '@router/conformance'
import { describe, expect, it } from 'vitest'
import { build, row } from '../test/built-policy.js'
import { kvCapacityAwareParameters, kvCapacityAwarePolicy, policies } from './index.js'

const accepted = (parameters: object): boolean => kvCapacityAwareParameters.safeParse(parameters).success

describe('parameters', () => {
  it('have the published defaults', () => {
    expect(kvCapacityAwareParameters.parse({})).toEqual({
      capacity_fraction: 1,
      count_priority: true,
      decode_active_request_weight: 0,
      capacity_blocks: null,
    })
  })

  it.each([
    { capacity_fraction: null },
    { capacity_fraction: 0 },
    { capacity_fraction: 1.5 },
    { count_priority: false },
    { decode_active_request_weight: 32 },
    { capacity_blocks: 1 },
    { capacity_blocks: null },
    { seed: '18446744073709551615' },
    { seed: 7 },
  ])('accept %j', (parameters) => expect(accepted(parameters)).toBe(true))

  it.each([
    { capacity_fraction: -0.1 },
    { capacity_fraction: Infinity },
    { capacity_fraction: NaN },
    { capacity_fraction: '1' },
    { count_priority: 1 },
    { count_priority: null },
    { decode_active_request_weight: -1 },
    { decode_active_request_weight: null },
    { capacity_blocks: 0 },
    { capacity_blocks: 1.5 },
    { capacity_blocks: 2 ** 53 },
    { seed: -1 },
    { seed: '18446744073709551616' },
    { capacity: 1 },
  ])('refuse %o', (parameters) => expect(accepted(parameters)).toBe(false))
})

describe('definition', () => {
  it('is what a configuration finds', () => {
    expect(policies).toEqual([kvCapacityAwarePolicy])
    expect(kvCapacityAwarePolicy).toMatchObject({
      type: 'dynamo-kv-capacity-aware',
      aliases: ['kv-capacity-aware'],
      package: '@router/policy-kv-capacity-aware',
      affinity: 'advisory',
      roles: ['decode'],
    })
  })
})

describe('policy', () => {
  it('takes patched parameters at the next selection', () => {
    const built = build()
    const rows = [row(1, 80, 0, 100), row(2, 10, 1, 100)]
    expect(built.run(rows).pick).toBe('1.0')
    built.policy.reconfigure!({ ...kvCapacityAwareParameters.parse({ capacity_fraction: 0.5 }) } as never)
    expect(built.run(rows).pick).toBe('2.0')
    built.policy.reconfigure!(kvCapacityAwareParameters.parse({ capacity_fraction: null }) as never)
    expect(built.run(rows).pick).toBe('1.0')
  })

  it('does not inherit the request weight of the router', () => {
    expect(build().run([row(1, 7, 9, 100)]).costs).toEqual([7])
  })

  it('ignores an affinity target', () => {
    const rows = [row(1, 7, 9, 100), row(2, 7, 1, 100)]
    expect(build().run(rows, { affinityTarget: { workerId: 1n } }).pick).toBe('2.0')
  })

  it('returns a pinned row without a draw, also one that does not fit', () => {
    const built = build()
    const before = built.random.state
    expect(built.run([row(1, 200, 9, 100)], { pinnedWorker: { workerId: 1n, dpRank: 0 } }).pick).toBe('1.0')
    expect(built.random.state).toBe(before)
  })
})

describe('warnings', () => {
  const unknown = [row(1, 5), row(2, 5)]
  const workers = handMadeView(unknown).workers.map((worker) => worker!)

  it('are raised once a rank, without asking the host again', () => {
    const built = build()
    for (let selection = 0; selection < 3; selection++) built.run(unknown)
    expect(built.warnings).toEqual(['capacity_unknown 1.0', 'capacity_unknown 2.0'])
  })

  it('are not spent by a query', () => {
    const built = build()
    built.run(unknown, { queryOnly: true })
    expect(built.warnings).toEqual([])
    built.run(unknown)
    expect(built.warnings).toHaveLength(2)
  })

  it('start over when workers change', () => {
    const built = build()
    built.run(unknown)
    built.policy.onWorkersChanged!(workers)
    for (let selection = 0; selection < 3; selection++) built.run(unknown)
    expect(built.warnings).toHaveLength(4)
  })

  it('concern rows that are judged, in canonical order, only while the filter is on', () => {
    const built = build({ capacity_fraction: null })
    built.run(unknown.toReversed())
    expect(built.warnings).toEqual([])
    built.policy.reconfigure!(kvCapacityAwareParameters.parse({}) as never)
    built.run(unknown.toReversed())
    expect(built.warnings).toEqual(['capacity_unknown 1.0', 'capacity_unknown 2.0'])
  })
})
