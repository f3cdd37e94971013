import type { PickExplanation, WorkerPicker } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { copyResult } from '../src/index.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'
import { costsBy, keepBy, listedCosts, lowestTotal } from './support/policies.js'

const tieSet = (host: Host): string[] => host.selector.explain(request()).tieSet.map(nameOf)

describe('explain', () => {
  it('takes a selection apart: every known rank in canonical order, costs by scorer, total, filter, reason', () => {
    const host = tinyHost(
      {
        filters: [keepBy((id) => id !== 2n, 'no-two'), keepBy((id) => id !== 4n, 'no-four')],
        scorers: [costsBy((id) => Number(id), 'by-id'), costsBy((_id, rank) => rank * -10, 'by-rank')],
        picker: lowestTotal,
      },
      {
        workers: [5n, 4n, 3n, 2n, 1n].map((workerId) => ({
          workerId,
          dataParallelSize: workerId === 3n ? 2 : 1,
        })),
      },
    )
    host.table.setOverloadedWorkers([1n])
    const { rows, ...rest } = host.selector.explain(request({ preferredTaints: [{ taint: 'x', weight: 1 }] }))
    expect(rows).toEqual([
      { workerId: 1n, dpRank: 0, rejection: 'WorkerOverloaded', contributions: [] },
      { workerId: 2n, dpRank: 0, filter: 'no-two', contributions: [] },
      {
        workerId: 3n,
        dpRank: 0,
        contributions: [
          { scorer: 'by-id', cost: 3 },
          { scorer: 'by-rank', cost: -0 },
        ],
        total: 3,
        taintMultiplier: 1,
      },
      {
        workerId: 3n,
        dpRank: 1,
        contributions: [
          { scorer: 'by-id', cost: 3 },
          { scorer: 'by-rank', cost: -10 },
        ],
        total: -7,
        taintMultiplier: 1,
      },
      { workerId: 4n, dpRank: 0, filter: 'no-four', contributions: [] },
      {
        workerId: 5n,
        dpRank: 0,
        contributions: [
          { scorer: 'by-id', cost: 5 },
          { scorer: 'by-rank', cost: -0 },
        ],
        total: 5,
        taintMultiplier: 1,
      },
    ])
    expect(rest).toMatchObject({
      chosen: { workerId: 3n, dpRank: 1 },
      tieSet: [{ workerId: 3n, dpRank: 1 }],
      margin: 10,
      policy: { name: 'tested', revision: 1 },
      result: { workerId: 3n, dpRank: 1, maxRawCachedTokens: undefined },
    })
    expect(rest).not.toHaveProperty('error')
    expect(rest).not.toHaveProperty('mode')
  })

  it('chooses what a selection chooses, for tracked requests and queries', () => {
    const host = tinyHost({ scorers: [listedCosts([3, 1, 2])], picker: lowestTotal })
    for (const mode of ['tracked', 'query'] as const) {
      const { chosen, result } = host.selector.explain(request({ mode }))
      expect(nameOf(chosen!)).toBe(host.select({ mode }))
      const selected = copyResult(host.selector.select(request({ mode: 'query' })))
      expect(result).toEqual(selected)
    }
  })

  it('gives the margin of the runner-up: 0 for a tie, undefined with fewer than two rows', () => {
    const margin = (costs: readonly number[], allowed?: readonly bigint[]) =>
      tinyHost({ scorers: [listedCosts(costs)], picker: lowestTotal }).selector.explain(
        request(allowed === undefined ? {} : { allowedWorkerIds: allowed }),
      ).margin
    expect(margin([5, 1, 2.5])).toBe(1.5)
    expect(margin([5, 1, 1])).toBe(0)
    expect(margin([-10, 100, 20])).toBe(30)
    expect(margin([1, 2, 3], [2n])).toBeUndefined()
    expect(margin([1, 2, 3], [])).toBeUndefined()
  })

  it('ties the rows whose total equals the lowest, in canonical order', () => {
    expect(tieSet(tinyHost({ scorers: [listedCosts([2, 1, 1])], picker: lowestTotal }))).toEqual([
      '2.0',
      '3.0',
    ])
    expect(tieSet(tinyHost({ picker: lowestTotal }))).toEqual(['1.0', '2.0', '3.0'])
    expect(tieSet(tinyHost({ filters: [keepBy((id) => id > 1n)] }))).toEqual(['2.0', '3.0'])
  })

  it('is a copy that later selections leave alone', () => {
    const host = tinyHost({ scorers: [listedCosts([1, 2, 3])], picker: lowestTotal })
    const first = host.selector.explain(request())
    const text = () =>
      JSON.stringify(first, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    const before = text()
    host.table.setLoad(host.slot('1'), 9, 9, 9)
    host.table.removeWorker(2n)
    host.select()
    host.selector.explain(request({ allowedWorkerIds: [3n] }))
    expect(text()).toBe(before)
  })

  it('names the reason of each rank that was not offered, the pin included', () => {
    const host = tinyHost(
      {},
      { workers: [1n, 2n, 3n].map((workerId) => ({ workerId, dataParallelSize: 2 })) },
    )
    host.table.setOverloaded(host.slot('1.1'), true)
    host.table.setAvailableWorkers([1n, 2n])
    const { rows, chosen } = host.selector.explain(request({ pinnedWorker: { workerId: 2n, dpRank: 1 } }))
    expect(nameOf(chosen!)).toBe('2.1')
    expect(rows.map((row) => row.rejection)).toEqual([
      'NotPinned',
      'WorkerOverloaded',
      'NotPinned',
      undefined,
      'WorkerNotRoutable',
      'WorkerNotRoutable',
    ])
  })
})

describe('explain of a failure', () => {
  it('carries the error, and what is known up to it', () => {
    const host = tinyHost({ scorers: [listedCosts([1, 2, 3], 'fine'), listedCosts([0, Infinity, 0], 'bad')] })
    const { rows, error, chosen, margin, tieSet: ties } = host.selector.explain(request())
    expect(error).toMatchObject({ code: 'ROUTER_NON_FINITE_COST', details: { row: 1 } })
    expect([chosen, margin, ties]).toEqual([undefined, undefined, []])
    expect(rows[1]).toEqual({
      workerId: 2n,
      dpRank: 0,
      contributions: [
        { scorer: 'fine', cost: 2 },
        { scorer: 'bad', cost: Infinity },
      ],
    })
  })

  it('names the filter of each row when all were rejected', () => {
    const host = tinyHost({ filters: [keepBy((id) => id === 2n, 'a'), keepBy(() => false, 'b')] })
    const { rows, error } = host.selector.explain(request())
    expect(error?.code).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED')
    expect(rows.map(({ filter }) => filter)).toEqual(['a', 'b', 'a'])
  })

  it('names the reason of each row when none was eligible', () => {
    const host = tinyHost({})
    host.table.setOverloadedWorkers([1n, 2n, 3n])
    const overloaded = host.selector.explain(request({ allowedWorkerIds: [2n] }))
    expect(overloaded.error?.code).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
    expect(overloaded.rows.map(({ rejection }) => rejection)).toEqual([
      'WorkerNotAllowed',
      'WorkerOverloaded',
      'WorkerNotAllowed',
    ])
    const pinned = host.selector.explain(request({ pinnedWorker: { workerId: 2n, dpRank: 0 } }))
    expect(pinned.error?.code).toBe('ROUTER_PINNED_WORKER_OVERLOADED')
    expect(tinyHost({}, { workers: [] }).selector.explain(request())).toMatchObject({ rows: [], tieSet: [] })
  })

  it('keeps the totals when the picker fails', () => {
    const host = tinyHost({ scorers: [listedCosts([4, 2, 3])], picker: { name: 'p', pick: () => 9 } })
    const { rows, error, margin } = host.selector.explain(request())
    expect([error?.code, margin]).toEqual(['ROUTER_INVALID_PICKER_ROW', 1])
    expect(rows.map(({ total }) => total)).toEqual([4, 2, 3])
  })
})

describe('a picker that explains itself', () => {
  const explaining = (explain: () => PickExplanation): WorkerPicker => ({ ...lowestTotal, explain })

  it('says mode, tie set and keys', () => {
    const host = tinyHost({
      filters: [keepBy((id) => id > 1n)],
      picker: explaining(() => ({ mode: 'fit', tieSet: [1, 0], keys: { requests: [7, 8] } })),
    })
    expect(host.selector.explain(request())).toMatchObject({
      mode: 'fit',
      tieSet: [
        { workerId: 2n, dpRank: 0 },
        { workerId: 3n, dpRank: 0 },
      ],
      keys: { requests: [7, 8] },
    })
  })

  it('is asked by explain alone, with the totals', () => {
    let asked = 0
    const totals: number[] = []
    const host = tinyHost({
      scorers: [listedCosts([3, 1, 2])],
      picker: {
        ...lowestTotal,
        explain: (context, { count }, costs) => {
          asked++
          expect(context.queryOnly).toBe(true)
          totals.push(...costs.subarray(0, count))
          return { tieSet: [1] }
        },
      },
    })
    host.select()
    expect(asked).toBe(0)
    host.selector.explain(request())
    expect([asked, totals]).toEqual([1, [3, 1, 2]])
  })

  it('may scribble on the totals it is given: they are a copy', () => {
    const host = tinyHost({
      scorers: [listedCosts([3, 1, 2])],
      picker: {
        ...lowestTotal,
        explain: (_context, _candidates, costs) => {
          costs.fill(9)
          return { tieSet: [1] }
        },
      },
    })
    const { rows, margin } = host.selector.explain(request())
    expect([rows.map(({ total }) => total), margin]).toEqual([[3, 1, 2], 1])
  })

  it('may draw from its stream without changing what is chosen', () => {
    const host = tinyHost((_parameters, scope) => {
      const random = scope.random(42n)
      return {
        picker: {
          name: 'random',
          pick: (_context, { count }) => random.below(count),
          explain: (_context, { count }) => ({ tieSet: [random.below(count)] }),
        },
      }
    })
    for (let round = 0; round < 20; round++) {
      const { chosen } = host.selector.explain(request())
      expect(nameOf(chosen!)).toBe(host.select())
    }
  })

  it.each<[string, () => PickExplanation]>([
    [
      'throws',
      () => {
        throw new Error('no words')
      },
    ],
    ['names rows that do not exist', () => ({ tieSet: [0, 3] })],
    ['names half a row', () => ({ tieSet: [0.5] })],
  ])(
    "and %s costs only its words: the choice stands, with the host's tie set and one warning",
    (_fault, explain) => {
      const host = tinyHost({ scorers: [listedCosts([1, 1, 2])], picker: explaining(explain) })
      for (let round = 0; round < 3; round++) {
        const { chosen, error, tieSet: ties, mode } = host.selector.explain(request())
        expect(error).toBeUndefined()
        expect([nameOf(chosen!), ties.map(nameOf), mode]).toEqual(['1.0', ['1.0', '2.0'], undefined])
      }
      expect(host.warnings.map(({ code }) => code)).toEqual(['policy_explain_failed'])
      expect(host.select()).toBe('1.0')
    },
  )
})
