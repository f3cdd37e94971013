import { preferredTaintMultiplier } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { PreferredTaint, SelectionRequest, WorkerRecord } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'
import { keepBy, lowestTotal } from './support/policies.js'

const workers: readonly WorkerRecord[] = [
  { workerId: 1n, taints: ['fast'] },
  { workerId: 2n, taints: ['far', 'fast', 'fast'] },
  { workerId: 3n },
]

function taintHost(inputs: readonly 'preferredTaint'[] = ['preferredTaint'], records = workers) {
  const seen: { applies: boolean; multipliers: number[] }[] = []
  const host = tinyHost(
    {
      scorers: [
        {
          name: 'taints',
          score: (_context, { count, preferredTaint }, costs) => {
            const { applies, multiplier } = preferredTaint ?? {
              applies: false,
              multiplier: new Float64Array(count),
            }
            seen.push({ applies, multipliers: [...multiplier.subarray(0, count)] })
            for (let row = 0; row < count; row++) costs[row] = applies ? 10 * multiplier[row]! : 10
          },
        },
      ],
      picker: lowestTotal,
    },
    { inputs, workers: records },
  )
  return { host, seen }
}

const multipliers = (
  preferredTaints: readonly PreferredTaint[],
  rest: Partial<SelectionRequest> = {},
): number[] => {
  const { host, seen } = taintHost()
  host.select({ preferredTaints, ...rest })
  expect(seen[0]!.applies).toBe(true)
  return seen[0]!.multipliers
}

// The function of the contract; its numbers are the vectors' business.
const expected = preferredTaintMultiplier

describe('preferred-taint multiplier', () => {
  it('G1: is exp(-tanh(sum of matching weights)), exactly 1 where none matches', () => {
    const [first, second, third] = multipliers([
      { taint: 'fast', weight: 0.5 },
      { taint: 'far', weight: 0.5 },
    ])
    expect(first).toBe(expected(0.5))
    expect(second).toBeCloseTo(0.466_921_487_722_442_6, 15)
    expect(Object.is(third, 1)).toBe(true)
  })

  it('is exactly 1 on every row when no worker carries a preferred taint', () => {
    expect(multipliers([{ taint: 'nowhere', weight: 3 }])).toEqual([1, 1, 1])
  })

  it('rounds each weight to 32 bits, then sums in doubles in the order of the request', () => {
    const [, second] = multipliers([
      { taint: 'fast', weight: 0.1 },
      { taint: 'far', weight: 0.2 },
    ])
    expect(second).toBe(expected(Math.fround(0.1) + Math.fround(0.2)))
    expect(second).not.toBe(expected(0.1 + 0.2))
  })

  it('is 1 where weights cancel out, and stays within [1/e, e]', () => {
    const [first, second] = multipliers([
      { taint: 'fast', weight: 1 },
      { taint: 'far', weight: -1 },
    ])
    expect([first! < 1, second]).toEqual([true, 1])
    expect(multipliers([{ taint: 'fast', weight: 1e30 }])).toEqual([expected(1e30), expected(1e30), 1])
    expect(multipliers([{ taint: 'fast', weight: 1e30 }])[0]).toBeCloseTo(1 / Math.E, 15)
    expect(multipliers([{ taint: 'far', weight: -1e30 }])[1]).toBeCloseTo(Math.E, 15)
  })

  it('counts a taint once for a worker that advertised it twice', () => {
    expect(multipliers([{ taint: 'fast', weight: 0.25 }])[1]).toBe(expected(0.25))
  })

  it('of both signs changes the winner', () => {
    const { host } = taintHost()
    expect(host.select()).toBe('1.0')
    expect(host.select({ preferredTaints: [{ taint: 'far', weight: 2 }] })).toBe('2.0')
    expect(host.select({ preferredTaints: [{ taint: 'fast', weight: -2 }] })).toBe('3.0')
  })

  it.each<[string, Partial<SelectionRequest>]>([
    ['without preferences', {}],
    ['with an empty list', { preferredTaints: [] }],
    [
      'with a pin',
      { preferredTaints: [{ taint: 'fast', weight: 1 }], pinnedWorker: { workerId: 1n, dpRank: 0 } },
    ],
  ])('does not apply %s', (_case, overrides) => {
    const { host, seen } = taintHost()
    // What an earlier selection left in the column must not count either.
    host.select({ preferredTaints: [{ taint: 'fast', weight: 1 }] })
    expect(host.select(overrides)).toBe('1.0')
    expect(seen[1]!.applies).toBe(false)
    expect(host.selector.explain(request(overrides)).rows[0]).not.toHaveProperty('taintMultiplier')
  })

  it('applies with an exclusive affinity target, which is no pin', () => {
    expect(multipliers([{ taint: 'fast', weight: 1 }], { affinityTarget: { workerId: 1n } })[0]).toBe(
      expected(1),
    )
  })

  it('is right for more distinct sums than are remembered, in any order', () => {
    const many = Array.from({ length: 60 }, (_, id) => ({
      workerId: BigInt(id),
      taints: ['a', 'b', 'c', 'd', 'e', 'f'].filter((_, bit) => (id >> bit) & 1),
    }))
    const preferred = ['a', 'b', 'c', 'd', 'e', 'f'].map((taint, bit) => ({ taint, weight: 2 ** bit / 64 }))
    const { host, seen } = taintHost(['preferredTaint'], many)
    for (let round = 0; round < 3; round++) host.select({ preferredTaints: preferred })
    for (const { multipliers: found } of seen) expect(found).toEqual(many.map((_, id) => expected(id / 64)))
  })

  it('covers kept rows only, in their new order', () => {
    const { seen, host } = taintHost()
    const filtered = tinyHost(
      {
        filters: [keepBy((id) => id !== 1n)],
        scorers: [
          {
            name: 's',
            score: (_context, { count, preferredTaint }, costs) => {
              seen.push({ applies: true, multipliers: [...preferredTaint!.multiplier.subarray(0, count)] })
              costs.fill(0, 0, count)
            },
          },
        ],
      },
      { inputs: ['preferredTaint'], table: host.table, workers: [] },
    )
    filtered.select({ preferredTaints: [{ taint: 'far', weight: 1 }] })
    host.table.setOverloadedWorkers([2n])
    filtered.select({ preferredTaints: [{ taint: 'far', weight: 1 }] })
    expect(seen.map(({ multipliers: found }) => found)).toEqual([[expected(1), 1], [1]])
  })

  it('follows workers that change their taints', () => {
    const { host, seen } = taintHost()
    const preferred = { preferredTaints: [{ taint: 'new', weight: 1 }] }
    host.select(preferred)
    host.table.upsertWorker({ workerId: 3n, taints: ['new'] })
    expect(host.select(preferred)).toBe('3.0')
    expect(seen.map(({ multipliers: found }) => found)).toEqual([
      [1, 1, 1],
      [1, 1, expected(1)],
    ])
  })
})

describe('a weight that is no finite 32-bit float', () => {
  it.each([Number.NaN, Infinity, -Infinity, 1e39, undefined as never])('%s is a bad request', (weight) => {
    const { host } = taintHost()
    const preferred = {
      preferredTaints: [
        { taint: 'far', weight: 1 },
        { taint: 'fast', weight },
      ],
    }
    const { code, details } = caught(() => host.select(preferred))
    expect(code).toBe('ROUTER_BAD_REQUEST')
    expect(details).toEqual({ taint: 'fast', weight })
    expect(codeOf(() => host.selector.explain(request(preferred)))).toBe('ROUTER_BAD_REQUEST')
    expect(host.select()).toBe('1.0')
  })
})

describe('reads of taints', () => {
  /** A table that counts look-ups of taints per worker. */
  function counted(host: Host): { carries: number; ids: number } {
    const reads = { carries: 0, ids: 0 }
    const { taints } = host.table
    const { carries, idOf } = taints
    taints.carries = (...all) => (reads.carries++, carries.apply(taints, all))
    taints.idOf = (...all) => (reads.ids++, idOf.apply(taints, all))
    return reads
  }

  it('for preferences are zero when nobody declared the group', () => {
    const preferred = { preferredTaints: [{ taint: 'fast', weight: 1 }] }
    const blind = taintHost([]).host
    const reads = counted(blind)
    blind.select(preferred)
    expect(reads).toEqual({ carries: 0, ids: 0 })
    const seeing = taintHost().host
    const seeingReads = counted(seeing)
    seeing.select(preferred)
    expect(seeingReads).toEqual({ carries: 3, ids: 1 })
  })

  it('for eligibility are one per worker and required taint, whatever the number of ranks', () => {
    const records = workers.map((worker) => ({ ...worker, taints: ['fast'], dataParallelSize: 4 }))
    const { host } = taintHost([], records)
    const reads = counted(host)
    host.select({ requiredTaints: ['fast'] })
    expect(reads.carries).toBe(3)
  })

  it('leave explain without a multiplier for a policy that did not declare the group', () => {
    const { host } = taintHost([])
    const { rows } = host.selector.explain(request({ preferredTaints: [{ taint: 'fast', weight: 1 }] }))
    expect(rows.map((row) => [nameOf(row), 'taintMultiplier' in row])).toEqual([
      ['1.0', false],
      ['2.0', false],
      ['3.0', false],
    ])
  })
})
