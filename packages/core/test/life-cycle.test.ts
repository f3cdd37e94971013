import type { SelectionOutcome, WorkerInfo } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { WorkerTable } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { request, tinyHost } from './support/hosts.js'
import { costsBy, firstAfter, firstRow, lowestTotal } from './support/policies.js'

const outcome: SelectionOutcome = { workerId: 1n, dpRank: 0, promptTokens: 10, status: 'ok' }

describe('onWorkersChanged', () => {
  it('is called between selections, at the first one and after each change, with all workers in order', () => {
    const seen: string[] = []
    const host = tinyHost({
      onWorkersChanged: (workers) => void seen.push(workers.map(({ workerId }) => workerId).join()),
      picker: firstAfter(() => seen.push('pick')),
    })
    expect(seen).toEqual([])
    host.select()
    host.select()
    host.table.removeWorker(2n)
    host.table.upsertWorker({ workerId: 0n })
    host.table.setLoad(host.slot('1'), 1, 1, 1)
    host.table.setOverloadedWorkers([3n])
    host.table.setAvailableWorkers([0n, 1n])
    host.select()
    expect(seen).toEqual(['1,2,3', 'pick', 'pick', '0,1,3', 'pick'])
  })

  it('is called too when the selection after the change is a query or fails', () => {
    const seen: number[] = []
    const host = tinyHost({ onWorkersChanged: (workers) => void seen.push(workers.length) })
    host.select({ mode: 'query' })
    host.table.removeWorker(1n)
    host.table.removeWorker(2n)
    host.table.removeWorker(3n)
    expect(codeOf(() => host.select())).toBe('ROUTER_NO_ENDPOINTS')
    expect(seen).toEqual([3, 0])
  })

  it('may draw from a stream: a query that happens to come first does not take that back', () => {
    const build = () =>
      tinyHost((_parameters, scope) => {
        const random = scope.random(1n)
        let offset = 0
        return {
          onWorkersChanged: () => {
            offset = random.below(1000)
          },
          picker: { name: 'p', pick: (_context, { count }) => (offset + random.below(1000)) % count },
        }
      })
    const plain = build()
    const asked = build()
    for (let round = 0; round < 10; round++) {
      for (const host of [plain, asked]) host.table.upsertWorker({ workerId: 10n + BigInt(round) })
      const query = asked.select({ mode: 'query' })
      expect(asked.select()).toBe(query)
      expect(plain.select()).toBe(query)
    }
  })

  it('sees rows that are settled, in views that are whole', () => {
    const table = new WorkerTable()
    const sizes: number[] = []
    const host = tinyHost(
      (_parameters, scope) => {
        const column = scope.memory.allocateColumn()
        return {
          onWorkersChanged: (workers: readonly WorkerInfo[]) =>
            void sizes.push(workers.length, column.float64.length),
          picker: firstRow,
        }
      },
      { table },
    )
    host.select()
    for (let id = 0; id < 100; id++) table.upsertWorker({ workerId: BigInt(id) })
    host.select()
    expect(sizes[0]).toBe(3)
    expect(sizes[2]).toBe(100)
    expect(sizes[3]).toBeGreaterThanOrEqual(100)
  })
})

describe('hooks that throw', () => {
  const fail = (): never => {
    throw new Error('hook broke')
  }

  it('are reported once per hook and never reach a request', () => {
    const host = tinyHost({
      onWorkersChanged: fail,
      observe: fail,
      snapshot: fail,
      restore: fail,
      dispose: fail,
    })
    for (let round = 0; round < 2; round++) {
      host.table.upsertWorker({ workerId: 5n + BigInt(round) })
      expect(host.select()).toBe('1.0')
      host.selector.observe(outcome)
      expect(host.selector.snapshot()).toBeUndefined()
      host.selector.restore({ version: 1 })
    }
    host.selector.dispose()
    expect(host.warnings.map(({ code }) => code)).toEqual([
      'policy_onWorkersChanged_failed',
      'policy_observe_failed',
      'policy_snapshot_failed',
      'policy_restore_failed',
      'policy_dispose_failed',
    ])
    expect(host.warnings[0]!.message).toContain('hook broke')
  })

  it('are reported also when a query met the change of workers', () => {
    const host = tinyHost({ onWorkersChanged: fail })
    host.select({ mode: 'query' })
    expect(host.warnings.map(({ code }) => code)).toEqual(['policy_onWorkersChanged_failed'])
  })

  it('are reported between selections whatever the last one was', () => {
    const host = tinyHost({ observe: fail })
    host.select({ mode: 'query' })
    host.selector.explain(request())
    host.selector.observe(outcome)
    expect(host.warnings.map(({ code }) => code)).toEqual(['policy_observe_failed'])
  })

  it('may be asynchronous by mistake without ending the process', () => {
    const later = (): never => Promise.reject(new Error('too late')) as never
    const host = tinyHost({ onWorkersChanged: later, observe: later, restore: later, dispose: later })
    host.select()
    host.selector.observe(outcome)
    host.selector.restore(1)
    host.selector.dispose()
    // An unhandled rejection fails the run.
    expect(host.warnings.map(({ code }) => code)).toEqual([
      'policy_onWorkersChanged_failed',
      'policy_observe_failed',
      'policy_restore_failed',
      'policy_dispose_failed',
    ])
  })
})

describe('observe, snapshot, restore', () => {
  it('reach the policy, and are optional', () => {
    const seen: unknown[] = []
    const host = tinyHost({
      observe: (value) => void seen.push(value),
      snapshot: () => ({ version: 1, seen: 3 }),
      restore: (value) => void seen.push(value),
    })
    host.selector.observe(outcome)
    host.selector.restore({ version: 1, seen: 3 })
    expect(seen).toEqual([outcome, { version: 1, seen: 3 }])
    expect(host.selector.snapshot()).toEqual({ version: 1, seen: 3 })
    const plain = tinyHost({})
    plain.selector.observe(outcome)
    plain.selector.restore(1)
    expect(plain.selector.snapshot()).toBeUndefined()
  })
})

describe('re-entering a selection', () => {
  it('of the same object is ROUTER_SELECTION_REENTERED, from any component or hook', () => {
    const codes: string[] = []
    let reenter = (): unknown => undefined
    const note = (): boolean => codes.push(codeOf(reenter)) > 0
    const host = tinyHost({
      onWorkersChanged: note,
      filters: [{ name: 'f', keep: note }],
      scorers: [
        {
          name: 's',
          score: (_context, { count }, costs) => {
            note()
            costs.fill(0, 0, count)
          },
        },
      ],
      picker: firstAfter(note),
    })
    reenter = () => host.selector.select(request())
    expect(host.select({ allowedWorkerIds: [2n] })).toBe('2.0')
    reenter = () => host.selector.explain(request())
    expect(host.select({ allowedWorkerIds: [2n] })).toBe('2.0')
    expect(new Set(codes)).toEqual(new Set(['ROUTER_SELECTION_REENTERED']))
    expect(codes).toHaveLength(7)
  })

  it('fails the selection whose component let the error out, and leaves the object usable', () => {
    let reenters = true
    let again = (): void => {}
    const host = tinyHost({
      picker: firstAfter(() => {
        if (reenters) again()
      }),
    })
    again = () => void host.select()
    const error = caught(() => host.select())
    expect(error).toMatchObject({
      code: 'ROUTER_POLICY_FAILED',
      cause: { code: 'ROUTER_SELECTION_REENTERED' },
    })
    reenters = false
    expect(host.select()).toBe('1.0')
  })
})

describe('dispose', () => {
  it('runs once, last, and gives the memory back', () => {
    let disposed = 0
    const table = new WorkerTable()
    const other = tinyHost({ scorers: [costsBy((id) => -Number(id))], picker: lowestTotal }, { table })
    const bytes = () => table.memory.webAssemblyMemory!.buffer.byteLength
    let size = 0
    for (let round = 0; round < 200; round++) {
      const host = tinyHost(
        (_parameters, scope) => {
          scope.memory.allocate(4096)
          scope.memory.allocateColumn()
          return { dispose: () => void disposed++ }
        },
        { table, workers: [] },
      )
      host.select()
      host.selector.dispose()
      host.selector.dispose()
      if (round === 0) size = bytes()
    }
    expect(disposed).toBe(200)
    expect(bytes()).toBe(size)
    expect(other.select()).toBe('3.0')
  })

  it('hands zeroed memory to whoever comes next', () => {
    const table = new WorkerTable()
    const build = () => {
      const seen: number[] = []
      const host = tinyHost(
        (_parameters, scope) => {
          const regions = [
            scope.memory.allocate(100),
            scope.memory.allocateColumn(),
            scope.memory.allocate(8),
          ]
          for (const { float64 } of regions) seen.push(...float64)
          return {
            picker: firstAfter(() => {
              for (const { float64 } of regions) float64.fill(7)
            }),
          }
        },
        { table },
      )
      host.select()
      host.selector.dispose()
      return new Set(seen)
    }
    for (let round = 0; round < 4; round++) expect(build()).toEqual(new Set([0]))
  })

  it('lets go of the table: nobody is told of moves any more', () => {
    const { table } = tinyHost({})
    const { memory } = table
    const onMove = memory.onMove.bind(memory)
    let listeners = 0
    memory.onMove = (listener) => {
      const stop = onMove(listener)
      listeners++
      return () => {
        listeners--
        stop()
      }
    }
    const host = tinyHost({}, { table, workers: [] })
    expect(listeners).toBeGreaterThan(0)
    host.selector.dispose()
    expect(listeners).toBe(0)
  })

  it('ends the selector: what it would read and write belongs to others by then', () => {
    const host = tinyHost({ scorers: [costsBy((id) => Number(id))] })
    const other = tinyHost(
      { scorers: [costsBy((id) => -Number(id))], picker: lowestTotal },
      { table: host.table, workers: [] },
    )
    host.selector.dispose()
    expect(() => host.select()).toThrow(/dispose/u)
    expect(() => host.selector.explain(request())).toThrow(/dispose/u)
    expect(other.select()).toBe('3.0')
  })

  it('of a policy that could not be built gives its memory back', () => {
    const table = new WorkerTable()
    const bytes = () => table.memory.webAssemblyMemory!.buffer.byteLength
    const build = () =>
      tinyHost(
        (_parameters, scope) => {
          scope.memory.allocate(65_536)
          throw new Error('no')
        },
        { table, workers: [] },
      )
    expect(codeOf(build)).toBe('ROUTER_POLICY_DEFINITION_INVALID')
    const size = bytes()
    for (let round = 0; round < 20; round++) expect(codeOf(build)).toBe('ROUTER_POLICY_DEFINITION_INVALID')
    expect(bytes()).toBe(size)
  })
})

describe('two selectors on one table', () => {
  it('do not disturb each other, one after the other in any order', () => {
    const table = new WorkerTable()
    const low = tinyHost({ scorers: [costsBy((id) => Number(id))], picker: lowestTotal }, { table })
    const high = tinyHost(
      { scorers: [costsBy((id) => -Number(id))], picker: lowestTotal },
      { table, workers: [] },
    )
    const kept = low.selector.select(request({ promptTokens: 16 }))
    expect(high.select({ promptTokens: 160 })).toBe('3.0')
    expect([kept.workerId, kept.requiredBlocks]).toEqual([1n, 1])
    table.setOverloadedWorkers([1n])
    for (let round = 0; round < 4; round++) {
      expect(low.select()).toBe('2.0')
      expect(high.select({ mode: 'query', hasTierMatches: true })).toBe('3.0')
    }
    high.selector.dispose()
    expect(low.select()).toBe('2.0')
  })

  it('may be used from inside each other: one object per owner, not one per table', () => {
    const table = new WorkerTable()
    const inner = tinyHost({ scorers: [costsBy((id) => -Number(id))], picker: lowestTotal }, { table })
    const outer = tinyHost(
      {
        scorers: [
          {
            name: 'asks',
            score: (_context, { count, cache }, costs) => {
              expect(inner.select({ hasTierMatches: false })).toBe('3.0')
              expect(inner.select({ allowedWorkerIds: [2n] })).toBe('2.0')
              expect(count).toBe(3)
              expect(cache!.estimateBlocks[1]).toBe(7)
              for (let row = 0; row < count; row++) costs[row] = row === 1 ? 0 : 1
            },
          },
        ],
        picker: lowestTotal,
      },
      { table, workers: [] },
    )
    table.setOverlap(table.slotOf(2n, 0), 0, 0, 0, 7, 0)
    expect(outer.select()).toBe('2.0')
    expect(outer.select({ allowedWorkerIds: [1n, 2n, 3n] })).toBe('2.0')
  })
})
