import type { WorkerScorer } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { caught, codeOf } from './support/caught.js'
import { type Host, type HostOptions, request, tinyHost } from './support/hosts.js'
import { costsBy, keepBy, listedCosts, lowestTotal } from './support/policies.js'

const engines = [
  ['WebAssembly', true],
  ['plain', false],
] as const
const many = (count: number) => Array.from({ length: count }, (_, id) => ({ workerId: BigInt(id) }))

describe.each(engines)('costs, %s', (_name, webAssembly) => {
  const scored = (scorers: readonly WorkerScorer[], options: HostOptions = {}): Host =>
    tinyHost({ scorers, picker: lowestTotal }, { webAssembly, ...options })
  const totals = (host: Host): (number | undefined)[] =>
    host.selector.explain(request()).rows.map((row) => row.total)

  it('are summed in order; negative costs are legal; the lowest total wins', () => {
    const host = scored([listedCosts([1, 2, 3]), listedCosts([0.1, -5, 0.2]), listedCosts([0, 0, -1e300])])
    expect(totals(host)).toEqual([1.1, -3, -1e300])
    expect(host.select()).toBe('3.0')
  })

  it('start from +0, so that a lone -0 becomes +0', () => {
    expect(totals(scored([listedCosts([-0, 0, -1])])).map((total) => Object.is(total, 0))).toEqual([
      true,
      true,
      false,
    ])
  })

  it.each([Number.NaN, Infinity, -Infinity])('of %s are refused with scorer and row', (bad) => {
    const calls: string[] = []
    const later: WorkerScorer = { name: 'later', score: () => void calls.push('later') }
    const host = tinyHost(
      {
        scorers: [listedCosts([1, 2, 3]), listedCosts([1, 2, bad], 'culprit'), later],
        picker: { name: 'p', pick: () => calls.push('pick') },
      },
      { webAssembly },
    )
    const error = caught(() => host.select())
    expect(error.code).toBe('ROUTER_NON_FINITE_COST')
    expect(error.details).toMatchObject({
      scorerIndex: 1,
      scorer: 'culprit',
      row: 2,
      workerId: 3n,
      dpRank: 0,
    })
    expect(error.message).toMatch(/non-finite/u)
    expect(error.message).toMatch(/1 \(culprit\).*worker 3, rank 0/u)
    expect(error.message).toContain(String(bad))
    expect(calls).toEqual([])
  })

  it('name the first bad row of the first bad scorer', () => {
    const bad = scored([listedCosts([1, 2, 3, 4]), listedCosts([0, Number.NaN, Infinity, Number.NaN])], {
      workers: many(4),
    })
    expect(caught(() => bad.select()).details).toMatchObject({ scorerIndex: 1, row: 1 })
    const both = scored([listedCosts([1, 2, 3, Infinity]), listedCosts([Number.NaN, 0, 0, 0])], {
      workers: many(4),
    })
    expect(caught(() => both.select()).details).toMatchObject({ scorerIndex: 0, row: 3 })
  })

  it('lose to a scorer that throws, if it comes first', () => {
    const throwing: WorkerScorer = {
      name: 'throwing',
      score: (_context, _candidates, costs) => {
        costs[0] = Infinity
        throw new Error('no')
      },
    }
    const bad = listedCosts([Number.NaN, 0, 0])
    expect(codeOf(() => scored([throwing, bad]).select())).toBe('ROUTER_POLICY_FAILED')
    expect(codeOf(() => scored([bad, throwing]).select())).toBe('ROUTER_NON_FINITE_COST')
  })

  it('are found at any row of any count', () => {
    for (let count = 1; count <= 9; count++) {
      for (let bad = 0; bad < count; bad++) {
        const host = scored([costsBy((id) => (id === BigInt(bad) ? Number.NaN : 0))], {
          workers: many(count),
        })
        expect(caught(() => host.select()).details).toMatchObject({ row: bad, workerId: BigInt(bad) })
      }
    }
  })

  it('that overflow through the total fail at the second scorer', () => {
    const largest = Number.MAX_VALUE
    const host = scored([listedCosts([0, largest, 0]), listedCosts([0, largest, 0])])
    expect(caught(() => host.select()).details).toMatchObject({ scorerIndex: 1, row: 1, value: Infinity })
    expect(scored([listedCosts([0, largest, 0]), listedCosts([0, -largest, 0])]).select()).toBe('1.0')
  })

  it('that nobody wrote are errors, never a value of an earlier scorer or selection', () => {
    const seen: number[] = []
    let skipped = -1
    const partial = (name: string): WorkerScorer => ({
      name,
      score: (_context, { count }, costs) => {
        for (let row = 0; row < count; row++) {
          seen.push(costs[row]!)
          if (row !== skipped || name !== 'second') costs[row] = 5
        }
      },
    })
    const host = scored([partial('first'), partial('second')])
    expect(host.select()).toBe('1.0')
    skipped = 1
    const { code, details } = caught(() => host.select())
    expect([code, details.scorerIndex, details.row]).toEqual(['ROUTER_NON_FINITE_COST', 1, 1])
    skipped = -1
    expect(host.select()).toBe('1.0')
    expect(seen).toHaveLength(18)
    expect(seen.every(Number.isNaN)).toBe(true)
  })

  it('are aligned again after a scorer that wrote some rows and threw', () => {
    let throws = true
    const host = scored([
      {
        name: 'flaky',
        score: (_context, { count }, costs) => {
          for (let row = 0; row < count; row++) expect(costs[row]).toBeNaN()
          costs[0] = costs[2] = -100
          if (throws) throw new Error('half-way')
          costs[1] = -200
        },
      },
    ])
    expect(codeOf(() => host.select())).toBe('ROUTER_POLICY_FAILED')
    throws = false
    expect(host.select()).toBe('2.0')
    expect(totals(host)).toEqual([-100, -200, -100])
  })

  it('are NaN again for rows that an earlier scorer filled beyond its count', () => {
    const host = scored(
      [
        {
          name: 'careless',
          score: (_context, { count }, costs) => {
            for (let row = 0; row < count; row++) expect(costs[row]).toBeNaN()
            costs.fill(-7)
          },
        },
        costsBy((id) => Number(id)),
      ],
      { workers: many(14) },
    )
    for (const allowed of [3, 14, 2, 9, 14, 1, 14]) {
      const ids = many(allowed).map(({ workerId }) => workerId)
      expect(host.select({ allowedWorkerIds: ids })).toBe('0.0')
    }
    host.table.setOverloadedWorkers([0n, 1n])
    expect(host.select()).toBe('2.0')
    for (let id = 14; id < 40; id++) host.table.upsertWorker({ workerId: BigInt(id) })
    host.table.setOverloadedWorkers([])
    expect(host.select()).toBe('0.0')
    expect(totals(host)).toEqual(Array.from({ length: 40 }, (_, id) => id - 7))
  })

  it('follow kept sets that shrink and grow between selections', () => {
    let limit = 20n
    const host = tinyHost(
      {
        filters: [keepBy((id) => id < limit)],
        scorers: [costsBy((id) => 100 - Number(id))],
        picker: lowestTotal,
      },
      { workers: many(20), webAssembly },
    )
    for (const next of [20n, 3n, 17n, 1n, 20n, 8n]) {
      limit = next
      expect(host.select()).toBe(`${next - 1n}.0`)
      expect(totals(host).filter((total) => total !== undefined)).toHaveLength(Number(next))
    }
  })

  it('that a picker scribbles on do not reach the next selection', () => {
    const host = tinyHost(
      {
        scorers: [listedCosts([3, 1, 2])],
        picker: {
          name: 'scribbler',
          pick: (context, candidates, costs) => {
            const row = lowestTotal.pick(context, candidates, costs)
            costs.fill(Number.NaN)
            return row
          },
        },
      },
      { webAssembly },
    )
    expect([host.select(), host.select()]).toEqual(['2.0', '2.0'])
  })

  it('with no scorers are 0 in every selection, whatever a picker left there', () => {
    const host = tinyHost(
      {
        picker: {
          name: 'scribbler',
          pick: (_context, { count }, costs) => {
            expect([...costs.subarray(0, count)]).toEqual([0, 0, 0])
            costs.fill(9)
            return 1
          },
        },
      },
      { webAssembly },
    )
    expect([host.select(), host.select()]).toEqual(['2.0', '2.0'])
  })
})
