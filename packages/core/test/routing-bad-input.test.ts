import { describe, expect, it } from 'vitest'
import type { RoutedWorker, RouterCoreConfig } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { coreOf, engineRun, hashed, routingHost, told } from './support/routing-hosts.js'

const bad = 'ROUTER_BAD_REQUEST'
const run = engineRun(1n, 'abcd', 0)
const short = run.engine.slice(0, 6)
type Router = ReturnType<typeof routingHost>['router']

const calls: [string, string, (router: Router) => unknown][] = [
  ['blocks of an unknown worker', 'ROUTER_NOT_FOUND', (router) => router.stored(9n, 0, run)],
  ['blocks of an unknown rank', 'ROUTER_NOT_FOUND', (router) => router.stored(1n, 1, run)],
  ['blocks of half a rank', 'ROUTER_NOT_FOUND', (router) => router.stored(1n, 0.5, run)],
  ['a removal of an unknown rank', 'ROUTER_NOT_FOUND', (router) => router.removed(1n, 1, run.engine)],
  ['everything of an unknown rank', 'ROUTER_NOT_FOUND', (router) => router.cleared(9n, 0)],
  ['news of an unknown rank', 'ROUTER_NOT_FOUND', (router) => router.setCacheKnown(9n, 0, true)],
  ['a tier that there is not', bad, (router) => router.stored(1n, 0, run, 4)],
  ['a removal from no tier', bad, (router) => router.removed(1n, 0, run.engine, -1)],
  ['half a tier', bad, (router) => router.stored(1n, 0, run, 0.5)],
  ['more blocks than engine hashes', bad, (router) => router.stored(1n, 0, { ...run, engine: short })],
  ['more blocks than local hashes', bad, (router) => router.stored(1n, 0, { ...run, local: short })],
  ['blocks beyond the end', bad, (router) => router.stored(1n, 0, { ...run, start: 1 })],
  ['fewer than no blocks', bad, (router) => router.stored(1n, 0, { ...run, count: -1 })],
  ['half a block', bad, (router) => router.stored(1n, 0, { ...run, count: 1.5 })],
  ['blocks from before the start', bad, (router) => router.stored(1n, 0, { ...run, start: -1 })],
  ['hashes that are no words', bad, (router) => router.stored(1n, 0, { ...run, local: [1, 2] as never })],
  ['removed hashes that are no words', bad, (router) => router.removed(1n, 0, [1n] as never)],
  ['an output that is no count', bad, (router) => router.noteOutput('live', -1)],
  ['half a token of output', bad, (router) => router.noteOutput('live', 0.5)],
  ['no number of output', bad, (router) => router.noteOutput('live', Number.NaN)],
  ['output without end', bad, (router) => router.noteOutput('live', Infinity)],
  ['more output than there is', bad, (router) => router.noteOutput('live', 2 ** 24 + 1)],
  [
    'a dispatch of blocks without hashes',
    bad,
    (router) => router.noteDispatched('live', { ...hashed('ab'), count: 9 }),
  ],
  ['a dispatch of nothing', bad, (router) => router.noteDispatched('live', undefined as never)],
  [
    'a query with fewer than no tokens',
    bad,
    (router) => router.select({ blocks: hashed('a'), promptTokens: -4 }),
  ],
  ['loads of a prompt that is none', bad, (router) => router.potentialLoads({} as never)],
  [
    'an explanation of a token that is none',
    'KV_INDEX_TOKEN_INVALID',
    (router) => router.explain({ tokens: [2 ** 32] }),
  ],
  ['a worker id that is no u64', bad, (router) => router.upsertWorker({ workerId: -1n })],
  [
    'a worker of half a rank',
    bad,
    (router) => router.upsertWorker({ workerId: 1n, dataParallelSize: 0.5, hasEvents: true }),
  ],
  [
    'more ranks than a worker has',
    bad,
    (router) => router.upsertWorker({ workerId: 1n, dataParallelSize: 4097 }),
  ],
  [
    'a capacity that is none',
    bad,
    (router) => router.upsertWorker({ workerId: 1n, totalKvBlocks: -1, incarnationId: 'b' }),
  ],
]

describe('what cannot be is refused, and changes nothing', () => {
  it.each(calls)('%s', (_case, code, call) => {
    const host = routingHost({
      workers: [{ workerId: 1n, hasEvents: true, incarnationId: 'a' }, ...told(2), { workerId: 3n }],
      config: { tracksOutputBlocks: true },
    })
    host.store('1', 'ab')
    host.reserve('live', 'abc')
    const before = [host.router.snapshot(), host.cache('abc')]
    let thrown: unknown
    try {
      call(host.router)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code })
    expect([host.router.snapshot(), host.cache('abc')]).toEqual(before)
    expect(host.router.ledger.audit()).toEqual([])
    // Not known, by what was refused.
    expect(host.cache('abc')['2.0']).toBeUndefined()
    expect(host.store('1', 'abc', { from: 2 })).toBe('ok')
    expect(host.router.free('live')).toBe(true)
  })

  it('output up to the most that there is is counted', () => {
    const { router, reserve } = routingHost({
      workers: told(1),
      config: { tracksOutputBlocks: true, blockSize: 4096 },
    })
    const { slot } = reserve('r', '')
    expect(router.noteOutput('r', 2 ** 24)).toBe(true)
    expect(router.ledger.loadOf(slot).activeBlocks).toBe(4096)
  })

  it('more ranks than an index takes', () => {
    const host = routingHost({ workers: [] })
    const worker = (workerId: bigint, dataParallelSize = 4096): RoutedWorker => ({
      workerId,
      dataParallelSize,
    })
    for (let id = 0n; id < 8n; id++) host.router.upsertWorker(worker(id))
    expect(codeOf(() => host.router.upsertWorker(worker(8n, 1)))).toBe(bad)
    expect(host.router.partition.table.slotCount).toBe(32_768)
    host.router.upsertWorker(worker(7n))
    host.router.upsertWorker({ ...worker(7n, 4000), dataParallelStartRank: 96 })
    host.router.upsertWorker(worker(8n, 96))
    expect(codeOf(() => host.router.upsertWorker({ ...worker(7n, 4000), dataParallelStartRank: 97 }))).toBe(
      bad,
    )
    host.router.removeWorker(0n)
    host.router.upsertWorker({ ...worker(7n, 4000), dataParallelStartRank: 97 })
    host.router.upsertWorker(worker(9n))
    expect(host.router.partition.table.slotCount).toBe(32_768)
  })

  it('also those that the table had before', () => {
    const core = coreOf({}, { ms: 0 })
    const { table } = core.partition({ role: 'decode' })
    for (let workerId = 0n; workerId < 8n; workerId++)
      table.upsertWorker({ workerId, dataParallelSize: 4096 })
    const router = core.router({ role: 'decode' })
    expect(codeOf(() => router.upsertWorker({ workerId: 8n }))).toBe(bad)
    router.removeWorker(7n)
    router.upsertWorker({ workerId: 8n })
  })
})

describe('a configuration that cannot be', () => {
  const atStart: [string, RouterCoreConfig][] = [
    ['blockSize', { blockSize: 0 }],
    ['blockSize', { blockSize: 1.5 }],
    ['tracksOutputBlocks', { tracksOutputBlocks: true, tracksActiveBlocks: false }],
    ['approximateCachePolicy', { approximateCachePolicy: 'fifo' as never }],
    [
      'host_cache_hit_weight',
      { routerDefaults: { host_cache_hit_weight: 1.1, disk_cache_hit_weight: 0 } as never },
    ],
    [
      'disk_cache_hit_weight',
      { routerDefaults: { host_cache_hit_weight: 1, disk_cache_hit_weight: Number.NaN } as never },
    ],
  ]
  it.each(atStart)('stops the core, naming %s: %o', (name, config) => {
    const start = () => coreOf({ config }, { ms: 0 })
    expect(codeOf(start)).toBe(bad)
    expect(start).toThrow(name)
  })

  const atRouter: [string, RouterCoreConfig][] = [
    ['KV_INDEX_OPTION_INVALID', { maxIndexBlocks: -1 }],
    ['KV_INDEX_OPTION_INVALID', { approximate: { ttlMs: 0 } }],
    ['KV_INDEX_OPTION_INVALID', { predictedTtlMs: -1 }],
    ['KV_INDEX_OPTION_INVALID', { approximate: { pruneTargetRatio: 2 } }],
    [bad, { bookingExpiry: { measure: 'idle', afterMs: 0 } }],
  ]
  it.each(atRouter)('stops the router, and leaves the table without listeners: %s for %o', (code, config) => {
    const core = coreOf({ config }, { ms: 0 })
    const { table } = core.partition({ role: 'decode' })
    let stopped = 0
    const { onSlots } = table
    table.onSlots = (listener) => {
      stopped++
      const stop = onSlots.call(table, listener)
      return () => void (stopped--, stop())
    }
    expect(() => core.router({ role: 'decode' })).toThrow(expect.objectContaining({ code }))
    expect(stopped).toBe(0)
  })
})
