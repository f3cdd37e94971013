import {
  RequestFault,
  type WorkerCandidates,
  type WorkerFilter,
  type WorkerPicker,
  type WorkerScorer,
} from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { copyResult } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { nameOf, request, tinyHost } from './support/hosts.js'
import { costsBy, firstRow, keepBy, lowestTotal } from './support/policies.js'

/** Components that note their calls in `calls`. */
function noting(calls: string[]) {
  const rows = (candidates: WorkerCandidates): string =>
    Array.from({ length: candidates.count }, (_, row) => candidates.workerId(row)).join()
  return {
    filter: (name: string, keeps: (id: bigint) => boolean): WorkerFilter => ({
      name,
      keep: (_context, candidates, row) => {
        calls.push(`${name} ${candidates.workerId(row)}`)
        return keeps(candidates.workerId(row))
      },
    }),
    scorer: (name: string): WorkerScorer => ({
      name,
      score: (_context, candidates, costs) => {
        calls.push(`${name} ${rows(candidates)}`)
        costs.fill(0, 0, candidates.count)
      },
    }),
    picker: (row = 0): WorkerPicker => ({
      name: 'pick',
      pick: (_context, candidates) => {
        calls.push(`pick ${rows(candidates)}`)
        return row
      },
    }),
  }
}

describe('order of calls', () => {
  it('is filters per row with short-circuit, then scorer 0, scorer 1, picker, each once with the kept rows', () => {
    const calls: string[] = []
    const note = noting(calls)
    const host = tinyHost({
      filters: [note.filter('odd', (id) => id !== 2n), note.filter('low', (id) => id < 3n)],
      scorers: [note.scorer('s0'), note.scorer('s1')],
      picker: note.picker(),
    })
    expect(host.select()).toBe('1.0')
    const ofRow = (id: number): string[] =>
      calls.filter((call) => /^(odd|low)/u.test(call) && call.endsWith(` ${id}`))
    expect(ofRow(1)).toEqual(['odd 1', 'low 1'])
    expect(ofRow(2)).toEqual(['odd 2'])
    expect(ofRow(3)).toEqual(['odd 3', 'low 3'])
    expect(calls.slice(-3)).toEqual(['s0 1', 's1 1', 'pick 1'])
    expect(calls).toHaveLength(8)
  })

  it('has no filter, scorer or picker on an empty set', () => {
    const calls: string[] = []
    const note = noting(calls)
    const components = {
      filters: [note.filter('f', () => true)],
      scorers: [note.scorer('s')],
      picker: note.picker(),
    }
    expect(codeOf(() => tinyHost(components, { workers: [] }).select())).toBe('ROUTER_NO_ENDPOINTS')
    const overloaded = tinyHost(components)
    overloaded.table.setOverloadedWorkers([1n, 2n, 3n])
    expect(codeOf(() => overloaded.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
    expect(calls).toEqual([])
  })

  it('has no scorer and no picker when filters rejected every row', () => {
    const calls: string[] = []
    const note = noting(calls)
    const host = tinyHost({
      filters: [note.filter('f', () => false)],
      scorers: [note.scorer('s')],
      picker: note.picker(),
    })
    expect(codeOf(() => host.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED')
    expect(calls).toEqual(['f 1', 'f 2', 'f 3'])
  })

  it('calls the picker without scorers, with totals of exactly +0', () => {
    const totals: number[] = []
    const picker: WorkerPicker = {
      name: 'second',
      pick: (_context, { count }, costs) => {
        totals.push(...costs.subarray(0, count))
        return 1
      },
    }
    const host = tinyHost({ scorers: [costsBy(() => 7)], picker: firstRow })
    host.select()
    const scorerless = tinyHost({ picker }, { table: host.table, workers: [] })
    expect(scorerless.select()).toBe('2.0')
    expect(totals.map((total) => Object.is(total, 0))).toEqual([true, true, true])
  })

  it('shows scorers and picker the same rows in the same order, workerInfo included', () => {
    const seen: string[] = []
    const look = (
      who: string,
      candidates: WorkerCandidates,
      info: (row: number) => { workerId: bigint } | undefined,
    ) =>
      seen.push(
        `${who}: ${Array.from({ length: candidates.count }, (_, row) => `${candidates.workerId(row)}=${info(row)?.workerId}`).join()}`,
      )
    const scorer = (name: string): WorkerScorer => ({
      name,
      score: (context, candidates, costs) => {
        look(name, candidates, context.workerInfo)
        costs.fill(1, 0, candidates.count)
      },
    })
    const host = tinyHost({
      filters: [
        {
          name: 'not-2',
          keep: (context, candidates, row) => {
            expect(context.workerInfo(row)?.workerId).toBe(candidates.workerId(row))
            return candidates.workerId(row) !== 2n
          },
        },
      ],
      scorers: [scorer('a'), scorer('b')],
      picker: {
        name: 'pick',
        pick: (context, candidates) => {
          look('pick', candidates, context.workerInfo)
          expect(context.workerInfo(2)).toBeUndefined()
          expect(context.workerInfo(-1)).toBeUndefined()
          return 1
        },
      },
    })
    expect(host.select()).toBe('3.0')
    expect(seen).toEqual(['a: 1=1,3=3', 'b: 1=1,3=3', 'pick: 1=1,3=3'])
  })
})

describe('filters', () => {
  it('see the number of eligible rows while they run, and kept rows are renumbered densely', () => {
    const counts = new Set<number>()
    const scored: number[] = []
    const host = tinyHost(
      {
        filters: [
          {
            name: 'even',
            keep: (_context, candidates, row) => {
              counts.add(candidates.count)
              return candidates.workerId(row) % 2n === 0n
            },
          },
        ],
        scorers: [
          {
            name: 's',
            score: (_context, { count, load }, costs) => {
              for (let row = 0; row < count; row++) scored.push(load!.activeRequests[row]!)
              costs.fill(0, 0, count)
            },
          },
        ],
        picker: { name: 'last', pick: (_context, { count }) => count - 1 },
      },
      { workers: [1, 2, 3, 4, 5, 6].map((id) => ({ workerId: BigInt(id) })) },
    )
    for (let id = 1; id <= 6; id++) host.table.setLoad(host.slot(`${id}`), 0, 0, id * 10)
    host.table.setOverloadedWorkers([4n])
    expect(host.select()).toBe('6.0')
    expect(scored).toEqual([20, 60])
    expect([...counts]).toEqual([5])
  })

  it('that throw stop the enumeration: that error, no scorer, even if every row before was rejected', () => {
    const calls: string[] = []
    const note = noting(calls)
    const host = tinyHost({
      filters: [
        note.filter('f', (id) => {
          if (id === 2n) throw new Error('broken at 2')
          return false
        }),
      ],
      scorers: [note.scorer('s')],
      picker: note.picker(),
    })
    const { error } = host.selector.explain(request())
    expect(error).toMatchObject({
      code: 'ROUTER_POLICY_FAILED',
      details: { component: 'filter f', reason: 'broken at 2', blamesRequest: false },
    })
    expect(calls).toEqual(['f 1', 'f 2'])
  })

  it('do not run without an eligible row, so that overloaded wins over all filtered', () => {
    const host = tinyHost({ filters: [keepBy(() => false)] })
    host.table.setOverloadedWorkers([1n, 2n])
    expect(codeOf(() => host.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED')
    host.table.setOverloadedWorkers([1n, 2n, 3n])
    expect(codeOf(() => host.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
  })

  it('run on a pinned row too', () => {
    const host = tinyHost({ filters: [keepBy((id) => id !== 2n)] })
    const pinnedTo = (workerId: bigint) => ({ pinnedWorker: { workerId, dpRank: 0 } })
    expect(host.select(pinnedTo(3n))).toBe('3.0')
    expect(codeOf(() => host.select(pinnedTo(2n)))).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED')
  })

  it.each([
    ['undefined', undefined],
    ['1', 1],
    ['a string', 'true'],
    ['null', null],
    ['a promise', Promise.resolve(true)],
  ])('that answer %s fail the selection', (_name, answer) => {
    const host = tinyHost({ filters: [{ name: 'odd', keep: () => answer as never }] })
    expect(codeOf(() => host.select())).toBe('ROUTER_POLICY_FAILED')
  })
})

describe('rejected rows', () => {
  it('never reach a scorer, whose batch values cover kept rows only', () => {
    const minima: number[] = []
    const host = tinyHost({
      filters: [keepBy((id) => id !== 1n)],
      scorers: [
        {
          name: 'above-minimum',
          score: (_context, { count, load }, costs) => {
            const requests = load!.activeRequests.subarray(0, count)
            const minimum = Math.min(...requests)
            minima.push(minimum)
            for (let row = 0; row < count; row++) costs[row] = requests[row]! - minimum
          },
        },
      ],
      picker: lowestTotal,
    })
    for (const [name, requests] of Object.entries({ '1': 0, '2': 5, '3': 9 }))
      host.table.setLoad(host.slot(name), 0, 0, requests)
    expect(host.select()).toBe('2.0')
    expect(host.select({ allowedWorkerIds: [3n] })).toBe('3.0')
    host.table.setOverloadedWorkers([2n])
    expect(host.select()).toBe('3.0')
    expect(minima).toEqual([5, 9, 9])
  })
})

describe('a component that throws', () => {
  let isBroken = true
  const boom = (): void => {
    if (isBroken) throw new Error('boom')
  }
  const filter: WorkerFilter = {
    name: 'x',
    keep: () => {
      boom()
      return true
    },
  }
  const scorer: WorkerScorer = {
    name: 'x',
    score: (_context, { count }, costs) => {
      costs[0] = 99
      boom()
      costs.fill(0, 0, count)
    },
  }
  const picker: WorkerPicker = {
    name: 'x',
    pick: () => {
      boom()
      return 0
    },
  }

  it.each([
    ['filter', { filters: [filter] }],
    ['scorer', { scorers: [costsBy((id) => Number(id)), scorer] }],
    ['picker', { picker }],
  ])('%s: the selection fails, the error keeps the cause, and the next one works', (kind, components) => {
    isBroken = true
    const host = tinyHost({ scorers: [costsBy((id) => Number(id))], ...components })
    const failed = host.selector.explain(request())
    expect(failed.error).toMatchObject({
      code: 'ROUTER_POLICY_FAILED',
      details: { component: `${kind} x`, reason: 'boom' },
      cause: { message: 'boom' },
    })
    expect(failed.chosen).toBeUndefined()
    expect(codeOf(() => host.select())).toBe('ROUTER_POLICY_FAILED')
    isBroken = false
    const { rows, chosen } = host.selector.explain(request())
    expect(nameOf(chosen!)).toBe('1.0')
    expect(rows.map((row) => row.total)).toEqual([1, 2, 3])
    expect(host.select()).toBe('1.0')
  })

  it('may blame the request', () => {
    const fault = tinyHost({
      scorers: [
        {
          name: 'x',
          score: () => {
            throw new RequestFault('no such model')
          },
        },
      ],
    })
    expect(caught(() => fault.select()).details).toMatchObject({
      reason: 'no such model',
      blamesRequest: true,
    })
  })

  it('leaves the last result as it was: nothing is booked from a failure', () => {
    isBroken = false
    const host = tinyHost({ scorers: [costsBy((id) => Number(id))], picker })
    const result = host.selector.select(request({ promptTokens: 48 }))
    const before = copyResult(result)
    isBroken = true
    expect(codeOf(() => host.select({ promptTokens: 4800 }))).toBe('ROUTER_POLICY_FAILED')
    expect(copyResult(result)).toEqual(before)
  })
})

describe('promises', () => {
  const rejected = (): Promise<never> => Promise.reject(new Error('too late'))

  it.each([
    ['scorer', 'ROUTER_POLICY_FAILED', { scorers: [{ name: 'x', score: rejected }] }],
    ['filter', 'ROUTER_POLICY_FAILED', { filters: [{ name: 'x', keep: rejected }] }],
    ['picker', 'ROUTER_INVALID_PICKER_ROW', { picker: { name: 'x', pick: rejected } }],
  ])('of a %s are refused, and a rejected one is not left unhandled', (_kind, code, components) => {
    const host = tinyHost(components as never)
    // An unhandled rejection fails the run.
    expect(codeOf(() => host.select())).toBe(code)
  })
})
