import { describe, expect, it } from 'vitest'
import type { RouterCoreConfig, RoutedWorker } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { nameOf } from './support/hosts.js'
import { type RoutingHost, believed, hashed, routingHost, told, tokensOf } from './support/routing-hosts.js'

const on = (workerId: bigint, dpRank = 0) => ({ pinnedWorker: { workerId, dpRank } })
const idle = { activeBlocks: 0, activePrefillTokens: 0, activeRequests: 0, modeledRemainingMs: 0 }

/** Worker 1 with two ranks that hold blocks on each tier, of bookings and by prediction; worker 2 as a bystander. */
function fleet(source: RoutedWorker, config: RouterCoreConfig): RoutingHost {
  const host = routingHost({ workers: [source, ...told(2)], config: { predictedTtlMs: 60_000, ...config } })
  for (const rank of ['1.0', '1.1']) {
    if (source.hasEvents !== true) continue
    host.store(rank, 'ab')
    host.store(rank, 'abc', { from: 2, tier: 1 })
    host.store(rank, 'abcd', { from: 3, tier: 2 })
    host.store(rank, 'abcde', { from: 4, tier: 3 })
  }
  host.store('2', 'ab')
  host.reserve('of-1.0', 'abx', on(1n))
  host.reserve('of-1.1', 'aby', { ...on(1n, 1), loraName: '' } as never)
  host.reserve('of-2', 'abz', on(2n))
  host.router.noteOutput('of-1.0', 9)
  return host
}

const withEvents: RoutedWorker = {
  workerId: 1n,
  dataParallelSize: 2,
  hasEvents: true,
  incarnationId: 'first',
}
const without: RoutedWorker = { workerId: 1n, dataParallelSize: 2, totalKvBlocks: 64, incarnationId: 'first' }
const sources: [string, RoutedWorker, RouterCoreConfig][] = [
  ['with events', withEvents, { tracksOutputBlocks: true }],
  ['without', without, {}],
  ['without, kept by capacity', without, { approximateCachePolicy: 'lru' }],
]

/** Ways in which the engine of worker 1 comes to be another. */
const restarts: [string, (host: RoutingHost, source: RoutedWorker) => void][] = [
  ['restarts', ({ router }) => expect(router.restartWorker(1n)).toBe(true)],
  [
    'registers with another incarnation id',
    ({ router }, source) => router.upsertWorker({ ...source, incarnationId: 'second' }),
  ],
  [
    'leaves and comes back',
    ({ router }, source) => {
      expect(router.removeWorker(1n)).toBe(true)
      router.upsertWorker(source)
    },
  ],
  [
    'leaves, another one takes its slots, and it comes back',
    ({ router }, source) => {
      router.removeWorker(1n)
      router.upsertWorker({ workerId: 3n, dataParallelSize: 2, hasEvents: true })
      router.upsertWorker(source)
      expect([router.slotOf(3n, 0), router.slotOf(3n, 1)].toSorted()).toEqual([0, 1])
      router.removeWorker(3n)
    },
  ],
]

describe.each(sources)('a worker %s', (_name, source, config) => {
  it.each(restarts)('E6: that %s inherits no block, booking or belief', (_how, restart) => {
    const host = fleet(source, config)
    const { router } = host
    const bystander = router.snapshot().ranks.find(({ workerId }) => workerId === 2n)
    expect(Object.values(host.device('abx')).filter((blocks) => blocks! >= 2)).toHaveLength(3)
    restart(host, source)
    const fresh = source.hasEvents === true ? undefined : 0
    for (const word of ['abcde', 'abx', 'aby']) {
      const device = host.device(word)
      expect([device['1.0'], device['1.1'], device['2.0']]).toEqual([fresh, fresh, 2])
    }
    const { ranks, index, believedBlocks, predictedBlocks, retention, bookings } = router.snapshot()
    for (const { load, cachedBlocks } of ranks.slice(0, 2))
      expect([load, cachedBlocks]).toEqual([idle, fresh])
    expect(ranks.at(-1)).toEqual(bystander)
    expect([index!.entries.device, believedBlocks, predictedBlocks, bookings]).toEqual([2, 0, 3, 1])
    if (retention !== undefined) expect(retention).toMatchObject({ leases: 0, active: 0, resident: 0 })
    expect(router.ledger.audit()).toEqual([])
    // It tells, or is sent, something: nothing of before comes to light again.
    if (source.hasEvents === true) {
      host.clear('1.0')
      expect(host.cache('abcde')['1.0']).toMatchObject({ device: 0, host: 0, disk: 0 })
      expect(host.store('1.0', 'abcdef', { from: 2 })).toBe('parent_not_found')
      host.store('1.0', 'a')
    } else {
      host.reserve('new', 'a', on(1n))
    }
    expect(host.device('abcde')['1.0']).toBe(1)
  })

  it.each(restarts)('E6: that %s hears late calls about its bookings in silence', (_how, restart) => {
    const host = fleet(source, config)
    const { router } = host
    restart(host, source)
    const before = router.snapshot()
    for (const id of ['of-1.0', 'of-1.1']) {
      expect(router.noteDispatched(id, hashed('abx'))).toBe(false)
      expect(router.noteOutput(id, 40)).toBe(false)
      expect(router.markPrefillCompleted(id)).toBe(false)
      expect(router.free(id)).toBe(false)
    }
    router.tick()
    expect(router.snapshot()).toMatchObject({ ranks: before.ranks, bookings: before.bookings })
    host.reserve('of-1.0', 'abx', on(1n))
    expect([router.free('of-1.0'), router.free('of-1.0')]).toEqual([true, false])
    expect(router.snapshot().ranks).toMatchObject([{ load: idle }, { load: idle }, {}])
  })

  it('E6: whose ranks change keeps those that stay, and forgets those that go', () => {
    const host = fleet(source, config)
    const { router } = host
    const [, kept] = router.snapshot().ranks
    const slot = router.slotOf(1n, 1)
    router.upsertWorker({ ...source, dataParallelStartRank: 1, dataParallelSize: 2 })
    expect(codeOf(() => router.slotOf(1n, 0))).toBe('ROUTER_NOT_FOUND')
    const [first, second] = router.snapshot().ranks
    expect(first).toEqual(kept)
    expect(router.slotOf(1n, 1)).toBe(slot)
    expect(second).toMatchObject({
      dpRank: 2,
      load: idle,
      cachedBlocks: source.hasEvents === true ? undefined : 0,
    })
    expect(host.device('aby')['1.1']).toBe(3)
    expect([router.free('of-1.0'), router.free('of-1.1')]).toEqual([false, true])
    router.upsertWorker(source)
    expect(host.device('abx')).toEqual({
      '1.0': source.hasEvents === true ? undefined : 0,
      '1.1': 2,
      '2.0': 2,
    })
  })

  it('that registers again, with the same incarnation id or none, keeps everything', () => {
    const host = fleet(source, config)
    const before = host.router.snapshot()
    host.router.upsertWorker({ ...source, taints: ['new'] })
    host.router.upsertWorker({ ...source, incarnationId: undefined })
    host.router.upsertWorker(source)
    expect(host.router.snapshot()).toEqual(before)
    expect(host.device('abx')).toMatchObject({ '1.0': 3, '2.0': 2 })
  })
})

it('E6: a restart forgets what was learned of an id that came late', () => {
  const host = routingHost({ workers: believed(1) })
  host.router.upsertWorker({ workerId: 1n, incarnationId: 'first' })
  host.reserve('r', 'ab')
  host.router.upsertWorker({ workerId: 1n })
  expect(host.device('ab')).toEqual({ '1.0': 2 })
  host.router.upsertWorker({ workerId: 1n, incarnationId: 'second' })
  expect([host.device('ab')['1.0'], host.router.free('r')]).toEqual([0, false])
})

it('a restart of nobody is none', () => {
  const { router } = routingHost()
  router.removeWorker(3n)
  const before = router.snapshot()
  expect([router.restartWorker(3n), router.restartWorker(9n), router.removeWorker(9n)]).toEqual([
    false,
    false,
    false,
  ])
  expect(router.snapshot()).toEqual(before)
})

it('what left gives its memory back while nothing is stored', () => {
  const host = routingHost({ workers: [...told(1, 2), ...believed(3)] })
  const words = Array.from({ length: 200 }, (_, at) => `${String.fromCodePoint(0x4e00 + at)}bc`)
  for (const word of words) {
    host.store('1', word)
    host.store('2', word)
    host.store('2', word, { tier: 1 })
    host.reserve(word, word, on(3n))
  }
  for (const workerId of [1n, 2n, 3n]) host.router.removeWorker(workerId)
  expect(host.router.snapshot().index).toMatchObject({ dyingRanks: 3 })
  for (let time = 0; time < 3; time++) host.router.tick()
  expect(host.router.snapshot()).toMatchObject({
    bookings: 0,
    believedBlocks: 0,
    index: { dyingRanks: 0, liveBlocks: 0, edges: 0, entries: { device: 0, host_pinned: 0 } },
  })
})

it('workers that the table had before are routed to, as workers without events', () => {
  const { core, clock } = routingHost()
  const key = { role: 'decode' } as const
  core.partition(key).table.upsertWorker({ workerId: 8n, dataParallelStartRank: 2, dataParallelSize: 2 })
  const router = core.router(key)
  const tokens = tokensOf('ab')
  const { dpRank } = router.reserve({ requestId: 'r', tokens })
  const device = () => router.explain({ tokens }).result?.bestOverlapWorker
  expect(nameOf(device()!)).toBe(`8.${dpRank}`)
  router.upsertWorker({ workerId: 8n, dataParallelStartRank: 2, dataParallelSize: 3 })
  expect(nameOf(device()!)).toBe(`8.${dpRank}`)
  expect(router.restartWorker(8n)).toBe(true)
  expect([device(), router.free('r'), clock.ms]).toEqual([undefined, false, 0])
})
