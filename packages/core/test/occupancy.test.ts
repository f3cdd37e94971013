import { describe, expect, it } from 'vitest'
import { type SelectionRequest, copyResult } from '../src/index.js'
import { hostOf, request } from './support/hosts.js'
import { ledgerHost } from './support/ledgers.js'
import { tinyPolicy } from './support/policies.js'
import { routingHost } from './support/routing-hosts.js'

const admissions = ['always', 'unless-full-hit'] as const
/** Takes the last row, and notes the reservations it sees. */
const lastRow = (occupancyAdmission: (typeof admissions)[number], seen: string[] = []) => ({
  ...tinyPolicy({
    inputs: ['occupancy'],
    roles: ['aggregated', 'decode'],
    create: () => ({
      picker: {
        name: 'last',
        pick: (_context, { count, occupancy }) => {
          seen.push(occupancy!.reservations.slice(0, count).join())
          return count - 1
        },
      },
    }),
  }),
  occupancyAdmission,
})

describe.each(admissions)('reservesOccupancy, %s', (admission) => {
  const reserves = (cacheHits: number, overrides: Partial<SelectionRequest>): boolean => {
    const host = hostOf(lastRow(admission), { workers: [{ workerId: 1n }, { workerId: 2n }] })
    host.table.setOccupancy(host.slot('1'), 9, 9)
    host.table.setOccupancy(host.slot('2'), 9, cacheHits)
    const tracked = copyResult(host.selector.select(request(overrides)))
    expect(host.selector.select(request({ ...overrides, mode: 'query' }))).toMatchObject({
      workerId: 2n,
      reservesOccupancy: tracked.reservesOccupancy,
    })
    return tracked.reservesOccupancy
  }
  const onFullHit = admission === 'always'

  it('is false for a full hit only', () => {
    expect(reserves(2, { requiredCacheHits: 3 })).toBe(true)
    expect(reserves(3, { requiredCacheHits: 3 })).toBe(onFullHit)
    expect(reserves(4, { requiredCacheHits: 3 })).toBe(onFullHit)
    expect(reserves(4, { requiredCacheHits: 0 })).toBe(true)
    expect(reserves(4, {})).toBe(true)
  })

  it('is true where the request named the row', () => {
    const full = { requiredCacheHits: 1 }
    expect(reserves(1, { ...full, pinnedWorker: { workerId: 2n, dpRank: 0 } })).toBe(true)
    expect(reserves(1, { ...full, affinityTarget: { workerId: 2n, dpRank: 0 } })).toBe(true)
    expect(reserves(1, { ...full, affinityTarget: { workerId: 2n } })).toBe(true)
    expect(reserves(1, { ...full, affinityTarget: { workerId: 2n, dpRank: 1 } })).toBe(onFullHit)
    expect(reserves(1, { ...full, affinityTarget: { workerId: 1n } })).toBe(onFullHit)
  })
})

describe('reservations of a ledger', () => {
  const columns = (host: ReturnType<typeof ledgerHost>): number[] => {
    host.ledger.project()
    return [...host.table.columns.views.occupancy!.reservations.subarray(0, host.table.count)]
  }

  it('are its bookings by rank, but those that do not count', () => {
    const host = ledgerHost()
    expect(columns(host)).toEqual([0, 0, 0])
    host.add('a')
    host.add('b', { reservesOccupancy: false })
    host.add('c', { on: '2.0', reservesOccupancy: true })
    expect(columns(host)).toEqual([1, 0, 1])
    expect(host.ledger.loadOf(host.slot('1.0')).activeRequests).toBe(2)
    expect(host.ledger.audit()).toEqual([])
    host.ledger.free('b')
    expect(columns(host)).toEqual([1, 0, 1])
    host.ledger.free('a')
    host.add('d', { on: '1.1' })
    expect(columns(host)).toEqual([0, 1, 1])
    expect(host.ledger.audit()).toEqual([])
  })

  it('are those of the rank when records are used again, and none after it left', () => {
    const host = ledgerHost()
    host.add('a', { reservesOccupancy: false })
    host.ledger.free('a')
    host.add('b')
    expect(columns(host)).toEqual([1, 0, 0])
    host.table.removeWorker(1n)
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 2 })
    expect(columns(host)).toEqual([0, 0, 0])
    expect(host.ledger.audit()).toEqual([])
  })

  it('stay while many more are booked than there was room for', () => {
    const host = ledgerHost()
    for (let at = 0; at < 100; at++) host.add(`${at}`, { reservesOccupancy: at % 4 === 0 })
    expect(columns(host)).toEqual([25, 0, 0])
    expect(host.ledger.audit()).toEqual([])
  })

  it('leave the cache hits of the host alone', () => {
    const host = ledgerHost()
    host.table.setCacheHits(host.slot('1.0'), 5)
    host.add('a')
    expect(columns(host)).toEqual([1, 0, 0])
    expect(host.table.columns.views.occupancy!.cacheHits[0]).toBe(5)
  })
})

describe.each([true, false])('a router of a partition, WebAssembly %s', (webAssembly) => {
  it('books full hits without a reservation, in the columns of the next request', () => {
    const seen: string[] = []
    const host = routingHost({ webAssembly, policy: lastRow('unless-full-hit', seen) })
    const { router } = host
    router.partition.table.setCacheHits(router.slotOf(3n, 0), 2)
    host.reserve('full', 'ab', { requiredCacheHits: 2 })
    host.reserve('partly', 'ab', { requiredCacheHits: 3 })
    host.reserve('pinned', 'ab', { requiredCacheHits: 2, pinnedWorker: { workerId: 1n, dpRank: 0 } })
    host.select('ab')
    expect(seen).toEqual(['0,0,0', '0,0,0', '0', '1,0,1'])
    router.free('partly')
    router.free('full')
    host.select('ab')
    expect(seen.at(-1)).toBe('1,0,0')
    expect(router.ledger.audit()).toEqual([])
  })
})
