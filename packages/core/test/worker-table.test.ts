import { describe, expect, it } from 'vitest'
import { WorkerTable } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'
import { firstAfter } from './support/policies.js'

const names = (table: WorkerTable): string[] =>
  table.workers.flatMap(({ workerId, dataParallelStartRank: start, dataParallelSize: size }) =>
    Array.from({ length: size }, (_, offset) => `${workerId}.${start + offset}`),
  )

/** Active requests as a policy sees them, by rank; `undefined` where unknown. */
function requestsSeen(host: Host): Record<string, number | undefined> {
  const seen: Record<string, number | undefined> = {}
  const probe = tinyHost(
    {
      picker: firstAfter((_context, { count, load, workerId, dpRank }) => {
        for (let row = 0; row < count; row++) {
          const requests = load!.activeRequests[row]!
          seen[`${workerId(row)}.${dpRank[row]}`] = Number.isNaN(requests) ? undefined : requests
        }
      }),
    },
    { table: host.table, workers: [] },
  )
  probe.select()
  probe.selector.dispose()
  return seen
}

describe('canonical order', () => {
  it('compares ids as unsigned 64-bit integers, never as text or doubles', () => {
    const ids = [
      2n ** 64n - 1n,
      10n,
      9n,
      2n ** 63n,
      2n ** 63n - 1n,
      2n ** 53n + 1n,
      2n ** 53n,
      2n ** 53n + 2n,
      2n ** 32n,
      2n ** 32n - 1n,
      0n,
    ]
    const table = new WorkerTable()
    for (const workerId of ids) table.upsertWorker({ workerId })
    const sorted = ids.toSorted((a, b) => (a < b ? -1 : 1))
    expect(table.workers.map(({ workerId }) => workerId)).toEqual(sorted)
    for (const workerId of ids) expect(table.rowOf(workerId, 0)).toBe(sorted.indexOf(workerId))
    for (const workerId of [1n, 2n ** 53n - 1n, 2n ** 53n + 3n, 2n ** 63n + 1n])
      expect(table.slotOf(workerId, 0)).toBe(-1)
  })

  it('has ranks ascending within a worker, from its first one', () => {
    const table = new WorkerTable()
    table.upsertWorker({ workerId: 2n, dataParallelStartRank: 8, dataParallelSize: 3 })
    table.upsertWorker({ workerId: 1n, dataParallelSize: 2 })
    table.upsertWorker({ workerId: 3n, dataParallelSize: 0 })
    expect(names(table)).toEqual(['1.0', '1.1', '2.8', '2.9', '2.10'])
    expect(table.slotCount).toBe(5)
    expect([table.slotOf(2n, 7), table.slotOf(2n, 11), table.slotOf(3n, 0)]).toEqual([-1, -1, -1])
    expect(table.slotOf(1n, 0.5)).toBe(-1)
  })
})

describe('slots', () => {
  it('stay with their rank while others join and leave', () => {
    const table = new WorkerTable()
    table.upsertWorker({ workerId: 50n, dataParallelSize: 2 })
    const slots = [table.slotOf(50n, 0), table.slotOf(50n, 1)]
    for (let id = 0; id < 100; id += 2)
      table.upsertWorker({ workerId: BigInt(id), ...(id === 50 ? { dataParallelSize: 2 } : {}) })
    for (let id = 0; id < 40; id += 2) table.removeWorker(BigInt(id))
    expect([table.slotOf(50n, 0), table.slotOf(50n, 1)]).toEqual(slots)
  })

  it('of ranks that stay survive a change of the range, with their columns', () => {
    const host = tinyHost({}, { workers: [{ workerId: 1n, dataParallelSize: 3 }, { workerId: 2n }] })
    const slotOf = (rank: number) => host.table.slotOf(1n, rank)
    const [, second, third] = [slotOf(0), slotOf(1), slotOf(2)]
    for (const rank of [0, 1, 2]) host.table.setLoad(slotOf(rank), 0, 0, 10 + rank)
    host.table.setLoad(host.slot('2'), 0, 0, 99)
    host.table.upsertWorker({ workerId: 1n, dataParallelStartRank: 1, dataParallelSize: 4 })
    expect([slotOf(0), slotOf(1), slotOf(2)]).toEqual([-1, second, third])
    expect(requestsSeen(host)).toEqual({
      '1.1': 11,
      '1.2': 12,
      '1.3': undefined,
      '1.4': undefined,
      '2.0': 99,
    })
  })

  it('are used again, starting from nothing', () => {
    const host = tinyHost({}, { workers: [{ workerId: 1n }, { workerId: 2n }] })
    const slot = host.slot('1')
    host.table.setLoad(slot, 1, 2, 3)
    host.table.setOverlap(slot, 1, 2, 3, 4, 5)
    host.table.setOccupancy(slot, 7, 8)
    host.table.setPrefillBacklog(slot, 9)
    host.table.setOverloaded(slot, true)
    host.table.removeWorker(1n)
    host.table.upsertWorker({ workerId: 3n })
    expect(host.slot('3')).toBe(slot)
    expect(requestsSeen(host)).toEqual({ '2.0': undefined, '3.0': undefined })
    const { cache, occupancy, prefillTime } = host.table.columns.views
    const row = host.table.rowOf(3n, 0)
    expect([cache!.isAvailable[row], cache!.estimateTokens[row]]).toEqual([1, 0])
    expect([occupancy!.reservations[row], occupancy!.cacheHits[row]]).toEqual([0, 0])
    expect(prefillTime!.backlogMs[row]).toBeNaN()
    expect(host.selector.explain(request()).rows.every((row) => row.rejection === undefined)).toBe(true)
  })

  it('do not pile up over many joins and leaves', () => {
    const table = new WorkerTable()
    const seen = new Set<number>()
    for (let round = 0; round < 500; round++) {
      const workerId = BigInt(round)
      table.upsertWorker({ workerId, dataParallelSize: 1 + (round % 4) })
      table.upsertWorker({ workerId, dataParallelSize: 1 + ((round + 1) % 4) })
      for (let rank = 0; rank < 4; rank++) seen.add(table.slotOf(workerId, rank))
      table.removeWorker(workerId)
    }
    expect(Math.max(...seen)).toBeLessThan(8)
  })

  it('that name no rank are refused by every setter', () => {
    const { table } = tinyHost({})
    const slot = table.slotOf(2n, 0)
    table.removeWorker(2n)
    for (const bad of [slot, -1, 99, 0.5, Number.NaN]) {
      for (const write of [
        () => table.setLoad(bad, 1, 1, 1),
        () => table.clearLoad(bad),
        () => table.setOverlap(bad, 1, 1, 1, 1, 1),
        () => table.setCacheUnknown(bad),
        () => table.setOccupancy(bad, 1, 1),
        () => table.setPrefillBacklog(bad, 1),
        () => table.setOverloaded(bad, true),
      ]) {
        expect(codeOf(write)).toBe('ROUTER_BAD_REQUEST')
      }
    }
    expect(caught(() => table.setLoad(slot, 1, 1, 1)).details).toEqual({ slot })
  })
})

describe('values', () => {
  it.each([Number.NaN, Infinity, -Infinity])(
    'of %s are refused for load and overlap, and change nothing',
    (bad) => {
      const host = tinyHost({})
      const slot = host.slot('1')
      host.table.setLoad(slot, 1, 2, 3)
      host.table.setOverlap(slot, 1, 2, 3, 4, 5)
      const loads: readonly [number, number, number][] = [
        [bad, 0, 0],
        [0, bad, 0],
        [0, 0, bad],
      ]
      for (const load of loads)
        expect(codeOf(() => host.table.setLoad(slot, ...load))).toBe('ROUTER_BAD_REQUEST')
      for (let at = 0; at < 5; at++) {
        const overlap = [0, 0, 0, 0, 0].with(at, bad) as [number, number, number, number, number]
        expect(codeOf(() => host.table.setOverlap(slot, ...overlap))).toBe('ROUTER_BAD_REQUEST')
      }
      expect(requestsSeen(host)['1.0']).toBe(3)
      expect(host.table.columns.views.cache!.estimateTokens[host.table.rowOf(1n, 0)]).toBe(5)
    },
  )

  it('of any finite size are taken', () => {
    const host = tinyHost({})
    const huge = Number.MAX_VALUE
    host.table.setLoad(host.slot('1'), huge, huge, huge)
    host.table.setOverlap(host.slot('1'), huge, huge, huge, huge, huge)
    expect(requestsSeen(host)['1.0']).toBe(huge)
  })
})

describe('clearOverlaps', () => {
  it('clears exactly what was written, unknown states included, and nothing else', () => {
    const host = tinyHost({}, { workers: [1n, 2n, 3n, 4n].map((workerId) => ({ workerId })) })
    const { table } = host
    const { cache, load } = table.columns.views
    for (const name of ['1', '2', '3', '4']) table.setLoad(host.slot(name), 1, 1, Number(name))
    table.setOverlap(host.slot('1'), 1, 2, 3, 4, 5)
    table.setCacheUnknown(host.slot('2'))
    table.setCacheUnknown(host.slot('3'))
    table.setOverlap(host.slot('3'), 9, 9, 9, 9, 9)
    // A mark that only the host's own bookkeeping would leave alone: clearing must not visit this row.
    cache!.deviceOverlapBlocks[3] = 77
    table.clearOverlaps()
    expect([...cache!.deviceOverlapBlocks.subarray(0, 4)]).toEqual([0, 0, 0, 77])
    expect([...cache!.estimateTokens.subarray(0, 4)]).toEqual([0, 0, 0, 0])
    expect([...cache!.isAvailable.subarray(0, 4)]).toEqual([1, 1, 1, 1])
    expect([...load!.activeRequests.subarray(0, 4)]).toEqual([1, 2, 3, 4])
    cache!.deviceOverlapBlocks[0] = 55
    table.clearOverlaps()
    expect(cache!.deviceOverlapBlocks[0]).toBe(55)
  })

  it('clears a whole fleet, again and again', () => {
    const workers = Array.from({ length: 90 }, (_, id) => ({ workerId: BigInt(id) }))
    const { table } = tinyHost({}, { workers })
    const { cache } = table.columns.views
    for (let round = 0; round < 3; round++) {
      for (let slot = 0; slot < 90; slot++) table.setOverlap(slot, 1 + slot, 0, 0, 1, 16)
      table.clearOverlaps()
      expect(cache!.deviceOverlapBlocks.subarray(0, 90).every((blocks) => blocks === 0)).toBe(true)
    }
  })

  it('finds what was written before workers joined, left and came back', () => {
    const host = tinyHost({})
    const { table } = host
    for (const name of ['1', '2', '3']) table.setOverlap(host.slot(name), 5, 0, 0, 5, 80)
    table.removeWorker(1n)
    table.upsertWorker({ workerId: 0n })
    table.upsertWorker({ workerId: 1n })
    table.setOverlap(host.slot('1'), 6, 0, 0, 6, 96)
    table.clearOverlaps()
    const { cache } = table.columns.views
    expect([...cache!.deviceOverlapBlocks.subarray(0, 4)]).toEqual([0, 0, 0, 0])
  })
})

describe('workers', () => {
  it('are told whether they were there when removed', () => {
    const table = new WorkerTable()
    table.upsertWorker({ workerId: 7n })
    expect([table.removeWorker(8n), table.removeWorker(7n), table.removeWorker(7n)]).toEqual([
      false,
      true,
      false,
    ])
    expect([table.slotCount, table.workers.length]).toEqual([0, 0])
  })

  it('replaced by what was known anyway keep everything; one changed fact does not touch the rest', () => {
    const host = tinyHost({}, { workers: [{ workerId: 1n, dataParallelSize: 2, engine: 'a' }] })
    host.table.setLoad(host.slot('1.1'), 1, 1, 5)
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 2, engine: 'b' })
    expect(host.table.workers[0]!.engine).toBe('b')
    expect(requestsSeen(host)).toEqual({ '1.0': undefined, '1.1': 5 })
  })
})

describe('growth', () => {
  it.each([true, false])('re-points every view of every selector, WebAssembly %s', (webAssembly) => {
    const seen: number[][] = []
    const host = tinyHost(
      (_parameters, scope) => {
        const scratch = scope.memory.allocate(12)
        const column = scope.memory.allocateColumn()
        scratch.float64[1] = 1234
        return {
          scorers: [
            {
              name: 's',
              score: (_context, { count, load }, costs) => {
                expect(costs.buffer).toBe(load!.activeRequests.buffer)
                expect(column.float64.buffer).toBe(costs.buffer)
                expect(scratch.float64.buffer).toBe(costs.buffer)
                expect([column.byteOffset, scratch.byteOffset]).toEqual([
                  column.float64.byteOffset,
                  scratch.float64.byteOffset,
                ])
                expect(scratch.float64).toHaveLength(2)
                expect(scratch.float64[1]).toBe(1234)
                expect(column.float64.length).toBeGreaterThanOrEqual(count)
                for (let row = 0; row < count; row++) costs[row] = load!.activeRequests[row]!
                seen.push([...load!.activeRequests.subarray(0, count)])
              },
            },
          ],
        }
      },
      { webAssembly },
    )
    const others = Array.from({ length: 3 }, () => tinyHost({}, { table: host.table, workers: [] }))
    for (let size = 3; size <= 3000; size *= 10) {
      for (let id = 1; id <= size; id++) host.table.upsertWorker({ workerId: BigInt(id) })
      for (let id = 1; id <= size; id++) host.table.setLoad(host.slot(String(id)), 0, 0, id)
      expect(host.select()).toBe('1.0')
      for (const other of others) expect(other.select()).toBe('1.0')
      expect(seen.at(-1)).toEqual(Array.from({ length: size }, (_, index) => index + 1))
    }
    expect(host.table.memory.webAssemblyMemory !== undefined).toBe(webAssembly)
  })

  it('that fails for want of memory is tried again at the next use', () => {
    const { table } = tinyHost({})
    const { memory } = table
    const reserve = memory.reserve.bind(memory)
    memory.reserve = () => {
      throw new RangeError('out of memory')
    }
    table.upsertWorker({ workerId: 4n })
    expect(() => table.slotCount).toThrow(RangeError)
    memory.reserve = reserve
    expect(table.slotCount).toBe(4)
    expect(table.slotOf(4n, 0)).toBeGreaterThanOrEqual(0)
  })

  it('happens also when a selector is opened on a full table, whose columns stay', () => {
    const host = tinyHost({}, { workers: [{ workerId: 1n, dataParallelSize: 4096 }] })
    host.table.setLoad(host.slot('1.4095'), 0, 0, 8)
    host.table.setOverloaded(host.slot('1.0'), true)
    expect(host.select()).toBe('1.1')
    const later = Array.from({ length: 5 }, () => tinyHost({}, { table: host.table, workers: [] }))
    for (const each of [host, ...later]) expect(each.select()).toBe('1.1')
    expect(requestsSeen(host)['1.4095']).toBe(8)
    expect(nameOf(host.selector.select(request()))).toBe('1.1')
  })
})
