import { describe, expect, it } from 'vitest'
import { codeOf } from './support/caught.js'
import { nameOf } from './support/hosts.js'
import {
  type RoutingHost,
  believed,
  engineRun,
  hashed,
  routingHost,
  told,
  tokensOf,
} from './support/routing-hosts.js'

const on = (worker: number) => ({ pinnedWorker: { workerId: BigInt(worker), dpRank: 0 } })

describe('a rank whose engine tells', () => {
  const events: [string, (host: RoutingHost) => void, number][] = [
    ['stores', (host) => host.store('2', 'ab'), 2],
    [
      'stores what cannot be',
      (host) => expect(host.store('2', 'ab', { from: 1 })).toBe('parent_not_found'),
      0,
    ],
    ['removes what nobody knows', (host) => expect(host.remove('2', 'a')).toBe('block_not_found'), 0],
    ['clears', (host) => host.clear('2'), 0],
    ['is said to be complete', (host) => host.router.setCacheKnown(2n, 0, true), 0],
    [
      'is told of by slot',
      ({ router }) => router.index.store(router.slotOf(2n, 0), 0, engineRun(2n, 'abc', 0)),
      3,
    ],
  ]
  it.each(events)('is unknown, not cold, until it %s', (_event, tell, blocks) => {
    const host = routingHost({ workers: told(1, 2) })
    expect(host.cache('abc')).toEqual({ '1.0': undefined, '2.0': undefined })
    tell(host)
    expect(host.device('abc')).toEqual({ '1.0': undefined, '2.0': blocks })
    const { ranks } = host.router.snapshot()
    expect(ranks.map(({ cachedBlocks }) => cachedBlocks)).toEqual([undefined, blocks])
  })

  it('is unknown rank by rank, and again when its source says so', () => {
    const host = routingHost({ workers: [{ workerId: 1n, hasEvents: true, dataParallelSize: 3 }] })
    host.store('1.1', 'ab')
    expect(host.device('ab')).toEqual({ '1.0': undefined, '1.1': 2, '1.2': undefined })
    host.router.setCacheKnown(1n, 1, false)
    expect(host.device('ab')['1.1']).toBeUndefined()
    host.router.setCacheKnown(1n, 1, true)
    expect(host.device('ab')['1.1']).toBe(2)
  })

  it('is booked with the whole prompt while it is unknown', () => {
    const host = routingHost({ workers: told(1) })
    host.store('1', 'abc')
    host.router.setCacheKnown(1n, 0, false)
    const { cachedTokens, selectedRawCachedTokens, slot } = host.reserve('r', 'abcd')
    expect([cachedTokens, selectedRawCachedTokens]).toEqual([0, 0])
    expect(host.router.ledger.loadOf(slot).activePrefillTokens).toBe(16)
    expect(host.router.potentialLoads({ tokens: tokensOf('abcd') })).toEqual([
      { workerId: 1n, dpRank: 0, potentialPrefillTokens: 32, potentialDecodeBlocks: 4, activeRequests: 1 },
    ])
  })

  it('keeps what it told when its record changes, unless another source tells from now on', () => {
    const host = routingHost({ workers: told(1) })
    host.store('1', 'ab')
    host.router.upsertWorker({ workerId: 1n, hasEvents: true, taints: ['new'], dataParallelSize: 2 })
    expect(host.device('ab')).toEqual({ '1.0': 2, '1.1': undefined })
    host.router.upsertWorker({ workerId: 1n })
    expect(host.device('ab')).toEqual({ '1.0': 0 })
    host.router.upsertWorker({ workerId: 1n, hasEvents: true })
    expect(host.device('ab')).toEqual({ '1.0': undefined })
  })
})

describe('a rank without events', () => {
  it('is believed to hold what it was sent, beside ranks that tell', () => {
    const host = routingHost({ workers: [...told(1), ...believed(2, 3)] })
    host.clear('1')
    host.reserve('one', 'abc.', on(2))
    host.store('1', 'ab')
    expect(host.device('abcd')).toEqual({ '1.0': 2, '2.0': 3, '3.0': 0 })
    host.router.free('one')
    expect(host.device('abcd')['2.0']).toBe(3)
    expect(nameOf(host.select('abcd'))).toBe('2.0')
  })

  it('not for what was asked, refused or not sent yet', () => {
    const host = routingHost({ workers: believed(1, 2) })
    host.select('abc')
    host.router.explain({ tokens: tokensOf('abc') })
    host.router.potentialLoads({ tokens: tokensOf('abc') })
    expect(codeOf(() => host.reserve('r', 'abc', { allowedWorkerIds: [] }))).toBe('ROUTER_NO_ENDPOINTS')
    host.reserve('late', 'abc', { ...on(1), isDispatched: false })
    host.reserve('never', 'abc', { ...on(2), isDispatched: false })
    expect(host.device('abc')).toEqual({ '1.0': 0, '2.0': 0 })
    expect(host.router.noteDispatched('late', hashed('abc'))).toBe(true)
    expect(host.device('abc')).toEqual({ '1.0': 3, '2.0': 0 })
    host.router.free('never')
    expect(host.router.noteDispatched('never', hashed('abc'))).toBe(false)
    expect(host.device('abc')).toEqual({ '1.0': 3, '2.0': 0 })
  })

  it('for a lifetime that a new dispatch begins again', () => {
    const host = routingHost({ workers: believed(1), config: { approximate: { ttlMs: 1000 } } })
    host.reserve('one', 'ab')
    host.clock.ms = 950
    host.reserve('two', 'a')
    host.router.markPrefillCompleted('one')
    host.clock.ms = 999
    expect(host.device('ab')['1.0']).toBe(2)
    host.clock.ms = 1000
    expect(host.device('ab')['1.0']).toBe(1)
    // 950 + 1000, up to the next full 100 ms.
    host.clock.ms = 1999
    expect(host.device('ab')['1.0']).toBe(1)
    host.clock.ms = 2000
    expect([host.device('ab')['1.0'], host.router.snapshot().believedBlocks]).toEqual([0, 0])
  })

  it('whose time is over gives its memory back while nobody asks', () => {
    const { router, reserve, clock } = routingHost({ workers: believed(1), config: { predictedTtlMs: 500 } })
    router.upsertWorker({ workerId: 2n, hasEvents: true })
    reserve('one', 'abc', on(1))
    reserve('two', 'abcd', on(2))
    expect([router.prefix.lifetime.size, router.prefix.predicted!.size]).toEqual([3, 4])
    clock.ms = 500
    router.tick()
    expect([router.prefix.lifetime.size, router.prefix.predicted!.size]).toEqual([3, 0])
    clock.ms = 120_000
    router.tick()
    expect([router.prefix.lifetime.size, router.index.currentSize]).toEqual([0, 0])
  })

  it('refuses events, which would never expire', () => {
    const { router, ...host } = routingHost({ workers: believed(1) })
    const before = router.snapshot()
    expect(codeOf(() => host.store('1', 'ab'))).toBe('ROUTER_BAD_REQUEST')
    expect(codeOf(() => host.remove('1', 'ab'))).toBe('ROUTER_BAD_REQUEST')
    expect(codeOf(() => host.clear('1'))).toBe('ROUTER_BAD_REQUEST')
    expect(codeOf(() => router.setCacheKnown(1n, 0, false))).toBe('ROUTER_BAD_REQUEST')
    expect(router.snapshot()).toEqual(before)
  })
})

describe('predictions', () => {
  const predicting = () => routingHost({ workers: told(1, 2), config: { predictedTtlMs: 500 } })

  it('I6: raise the overlap of ranks with events until the event comes, or the time is over', () => {
    const host = predicting()
    host.clear('1')
    host.clear('2')
    host.store('1', 'ab')
    host.reserve('r', 'abcd', on(1))
    host.reserve('s', 'xy', on(2))
    expect(host.cache('abcdef')['1.0']).toMatchObject({ device: 4, blocks: 4, tokens: 16, raw: 4 })
    expect(host.device('xyz')).toEqual({ '1.0': 0, '2.0': 2 })
    host.store('1', 'abc', { from: 2 })
    expect(host.device('abcdef')).toEqual({ '1.0': 4, '2.0': 0 })
    host.clock.ms = 500
    expect(host.device('abcdef')).toEqual({ '1.0': 3, '2.0': 0 })
    expect(host.device('xyz')).toEqual({ '1.0': 0, '2.0': 0 })
    expect(host.router.snapshot().predictedBlocks).toBe(0)
  })

  it('I6: take over blocks of slower tiers, and never add to them', () => {
    const host = predicting()
    host.store('1', 'a')
    host.store('1', 'abcd', { from: 1, tier: 1 })
    host.store('1', 'abcdef', { from: 4, tier: 2 })
    expect(host.cache('abcdefg')['1.0']).toMatchObject({ device: 1, host: 3, disk: 2 })
    host.reserve('r', 'ab', on(1))
    expect(host.cache('abcdefg')['1.0']).toMatchObject({ device: 2, host: 2, disk: 2, raw: 6 })
    host.reserve('s', 'abcde', on(1))
    expect(host.cache('abcdefg')['1.0']).toMatchObject({ device: 5, host: 0, disk: 1, raw: 6 })
    host.clock.ms = 500
    expect(host.cache('abcdefg')['1.0']).toMatchObject({ device: 1, host: 3, disk: 2 })
  })

  it('I6: leave the cache of a rank unknown that never told, and the index as it is', () => {
    const host = predicting()
    host.reserve('r', 'abcd', on(1))
    expect(host.cache('abcd')).toEqual({ '1.0': undefined, '2.0': undefined })
    host.clear('1')
    expect(host.device('abcd')).toEqual({ '1.0': 4, '2.0': undefined })
    expect([host.router.index.currentSize, host.router.snapshot().predictedBlocks]).toEqual([0, 4])
  })

  it('are not made by default', () => {
    const host = routingHost()
    host.reserve('r', 'abcd', on(1))
    expect(host.device('abcd')).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    expect(host.router.snapshot().predictedBlocks).toBeUndefined()
  })
})

describe('retention by capacity', () => {
  const config = { approximateCachePolicy: 'lru' } as const
  const retaining = (...workers: [id: number, totalKvBlocks: number][]) =>
    routingHost({
      config,
      workers: workers.map(([id, totalKvBlocks]) => ({ workerId: BigInt(id), totalKvBlocks })),
    })

  it('keeps what requests in flight use, then what was released last', () => {
    const host = retaining([1, 4])
    host.reserve('one', 'ab')
    host.reserve('two', 'cd')
    host.clock.ms = 1e9
    expect([host.device('ab')['1.0'], host.device('cd')['1.0']]).toEqual([2, 2])
    host.reserve('three', 'ef')
    // Over capacity: all of it is in use.
    expect(host.router.snapshot().retention).toMatchObject({ leases: 3, resident: 6, overCapacity: 2 })
    host.router.free('two')
    expect(['ab', 'cd', 'ef'].map((word) => host.device(word)['1.0'])).toEqual([2, 0, 2])
    host.router.free('one')
    host.router.free('three')
    host.reserve('four', 'g')
    expect(['ab', 'ef', 'g'].map((word) => host.device(word)['1.0'])).toEqual([1, 2, 1])
    expect(host.router.snapshot().retention).toMatchObject({ leases: 1, active: 1, inactive: 3 })
  })

  it('counts the incomplete block of a prompt, which nobody shares', () => {
    const host = retaining([1, 3])
    host.reserve('one', 'ab')
    host.router.free('one')
    host.reserve('two', 'x.')
    expect(host.router.snapshot().retention).toMatchObject({ private: 1, active: 2, inactive: 1 })
    expect([host.device('ab')['1.0'], host.device('x')['1.0']]).toEqual([1, 1])
    host.router.free('two')
    expect(host.router.snapshot().retention).toMatchObject({ private: 0, leases: 0, inactive: 2 })
  })

  it('holds the blocks of a booking once, however often its dispatch is told', () => {
    const host = retaining([1, 8])
    host.reserve('one', 'ab', { isDispatched: false })
    expect(host.router.snapshot().retention).toMatchObject({ leases: 0 })
    for (let time = 0; time < 3; time++) host.router.noteDispatched('one', hashed('ab'))
    expect(host.router.snapshot().retention).toMatchObject({ leases: 1, active: 2 })
    host.router.free('one')
    expect(host.router.snapshot().retention).toMatchObject({ leases: 0, active: 0, inactive: 2 })
  })

  it('evicts at once when a rank has less capacity, and falls back to a lifetime without any', () => {
    const host = retaining([1, 8], [2, 0])
    host.reserve('one', 'abcd', on(1))
    host.reserve('two', 'abcd', on(2))
    host.router.free('one')
    host.router.upsertWorker({ workerId: 1n, totalKvBlocks: 2 })
    expect(host.device('abcd')).toEqual({ '1.0': 2, '2.0': 4 })
    expect(host.router.snapshot()).toMatchObject({
      retention: { ranks: 1, fallbackRanks: 1 },
      believedBlocks: 4,
    })
    host.clock.ms = 120_000
    expect(host.device('abcd')).toEqual({ '1.0': 2, '2.0': 0 })
  })

  it('gives back what bookings held that nobody freed', () => {
    const host = retaining([1, 4])
    host.reserve('lost', 'ab')
    host.reserve('again', 'cd')
    // By the ledger's own door, as expiry does.
    host.router.ledger.free('lost')
    host.router.ledger.free('again')
    host.reserve('again', 'ef')
    expect(host.router.snapshot().retention).toMatchObject({ leases: 2, active: 4 })
    host.router.tick()
    expect(host.router.snapshot().retention).toMatchObject({ leases: 1, active: 2 })
    for (const ms of [300_001, 330_001, 360_002]) {
      host.clock.ms = ms
      host.router.tick()
    }
    expect(host.router.snapshot()).toMatchObject({ bookings: 0, retention: { leases: 0, active: 0 } })
  })

  it('forgets them in time even if nobody ticks', () => {
    const host = retaining([1, 4])
    for (let request = 0; request < 3000; request++) {
      host.reserve(`request-${request}`, 'ab')
      host.router.ledger.free(`request-${request}`)
    }
    const { leases } = host.router.snapshot().retention!
    expect(leases).toBeGreaterThan(0)
    expect(leases).toBeLessThan(1100)
  })
})
