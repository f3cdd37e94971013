import { BlockHasher, BlockHashes } from '@router/kv-index'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog } from '@router/sdk'
import { expect, it } from 'vitest'
import { createRouterCore } from '../src/index.js'

function coreOf(maxIndexBlocks: number) {
  const dropped: string[] = []
  const core = createRouterCore({
    policy: new PolicyCatalog().withDefault(defaultPolicy).resolve({}),
    clock: () => 0,
    random: () => 1n,
    config: { blockSize: 16, maxIndexBlocks },
    onRankDropped: ({ workerId, dpRank }, { model }) => dropped.push(`${model} ${workerId}.${dpRank}`),
  })
  return { router: core.router({ model: 'llama', role: 'aggregated' }), dropped }
}

function run(first: number, count: number) {
  const words = Uint32Array.from({ length: 2 * count }, (_, word) => (word % 2 === 0 ? first + word / 2 : 1))
  return { hasParent: false, parentLow: 0, parentHigh: 0, engine: words, local: words, start: 0, count }
}

const cached = (router: ReturnType<typeof coreOf>['router']) =>
  router.snapshot().ranks.map(({ cachedBlocks }) => cachedBlocks)

it('a full index drops what the rank furthest beyond its capacity holds, and says so', () => {
  const { router, dropped } = coreOf(10)
  router.upsertWorker({ workerId: 1n, hasEvents: true, totalKvBlocks: 8 })
  router.upsertWorker({ workerId: 2n, hasEvents: true, totalKvBlocks: 1 })
  router.upsertWorker({ workerId: 3n, hasEvents: true })
  expect([router.stored(1n, 0, run(0, 6)), router.stored(2n, 0, run(20, 3))]).toEqual(['ok', 'ok'])
  // Six blocks of a capacity of eight weigh less than three of one.
  expect([router.stored(3n, 0, run(40, 2)), cached(router), dropped]).toEqual([
    'ok',
    [6, 0, 2],
    ['llama 2.0'],
  ])
  // Two more make room for two: the rank that stores is not spared, but here it is lighter.
  expect([router.stored(2n, 0, run(20, 4)), cached(router)]).toEqual(['ok', [6, 4, 0]])
  expect(dropped).toEqual(['llama 2.0', 'llama 3.0'])
})

it('a bound of 0 follows the capacities that ranks advertise', () => {
  const { router, dropped } = coreOf(0)
  router.upsertWorker({ workerId: 1n, hasEvents: true })
  expect(router.stored(1n, 0, run(0, 100))).toBe('ok')
  router.upsertWorker({ workerId: 2n, hasEvents: true, totalKvBlocks: 2, dataParallelSize: 2 })
  // Four times four: more is held than that already.
  expect([router.stored(2n, 0, run(200, 3)), cached(router), dropped]).toEqual([
    'ok',
    [0, 3, undefined],
    ['llama 1.0'],
  ])
  expect(router.stored(2n, 1, run(300, 17))).toBe('capacity')
  router.removeWorker(2n)
  expect(router.stored(1n, 0, run(0, 100))).toBe('ok')
})

it('what is no rank or tier is refused before anything is noted about it', () => {
  const { router } = coreOf(10)
  router.upsertWorker({ workerId: 1n, hasEvents: true })
  const codeOf = (body: () => unknown) => {
    try {
      body()
      return undefined
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
  for (const rank of [1e9, 2 ** 40, -1, 0.5]) {
    expect(codeOf(() => router.index.store(rank, 0, run(0, 1)))).toBe('KV_INDEX_RANK_INVALID')
    expect(codeOf(() => router.index.remove(rank, 0, new Uint32Array(2), 0, 1))).toBe('KV_INDEX_RANK_INVALID')
    expect(codeOf(() => router.index.removeRank(rank))).toBe('KV_INDEX_RANK_INVALID')
  }
  expect(codeOf(() => router.index.store(0, 7, run(0, 1)))).toBe('KV_INDEX_TIER_INVALID')
  expect(codeOf(() => router.stored(1n, 0, null as never))).toBe('ROUTER_BAD_REQUEST')
  expect(cached(router)).toEqual([undefined])
})

it('output that is told in blocks is believed to be held where ranks are retained by LRU', () => {
  const core = createRouterCore({
    policy: new PolicyCatalog().withDefault(defaultPolicy).resolve({}),
    clock: () => 0,
    random: () => 1n,
    config: { blockSize: 4, approximateCachePolicy: 'lru' },
  })
  const router = core.router({ role: 'aggregated' })
  router.upsertWorker({ workerId: 1n, totalKvBlocks: 8 })
  const tokens = Uint32Array.from({ length: 20 }, (_, at) => at)
  router.reserve({ tokens: tokens.subarray(0, 10), requestId: 'a' })
  const blocks = new BlockHashes()
  new BlockHasher().hash(tokens.subarray(0, 18), { blockSize: 4 }, blocks)
  expect(router.select({ tokens }).cachedTokens).toBe(8)
  expect(router.noteOutput('a', 8, blocks)).toBe(true)
  expect(router.select({ tokens }).cachedTokens).toBe(16)
  expect(router.noteOutput('a', 9, blocks)).toBe(true)
  expect(router.prefix.lru!.stats()).toMatchObject({ active: 5, resident: 5 })
  router.free('a')
  expect(router.prefix.lru!.stats()).toMatchObject({ active: 0, resident: 4 })
  expect(router.select({ tokens }).cachedTokens).toBe(16)
})

it('a rank that alone is more than the index takes loses what it has, and nothing else moves', () => {
  const { router, dropped } = coreOf(4)
  router.upsertWorker({ workerId: 1n, hasEvents: true })
  expect(router.stored(1n, 0, run(0, 3))).toBe('ok')
  expect([router.stored(1n, 0, run(40, 5)), cached(router), dropped]).toEqual([
    'capacity',
    [0],
    ['llama 1.0'],
  ])
  expect([router.stored(1n, 0, run(40, 5)), dropped.length]).toEqual(['capacity', 1])
  expect([router.stored(1n, 0, run(40, 4)), cached(router)]).toEqual(['ok', [4]])
})

it('a caller who hashed a prompt is believed about its length, and a router that is disposed of takes no workers', () => {
  const { router } = coreOf(10)
  router.upsertWorker({ workerId: 1n })
  const blocks = { local: new Uint32Array(4), sequence: new Uint32Array(4), count: 2 }
  expect(router.reserve({ blocks, promptTokens: 1, requestId: 'a' })).toMatchObject({
    workerId: 1n,
    potentialDecodeBlocks: 2,
  })
  expect([router.findSlot(1n, 0), router.findSlot(1n, 1), router.findSlot(2n, 0)]).toEqual([
    0,
    undefined,
    undefined,
  ])
  router.dispose()
  expect(() => router.upsertWorker({ workerId: 2n })).toThrow(TypeError)
  expect(router.partition.table.workers.map(({ workerId }) => workerId)).toEqual([1n])
})

it('a block size that cannot be leaves no partition behind', () => {
  const core = createRouterCore({
    policy: new PolicyCatalog().withDefault(defaultPolicy).resolve({}),
    clock: () => 0,
    random: () => 1n,
  })
  expect(() => core.router({ role: 'decode' }, 0)).toThrow(
    expect.objectContaining({ code: 'ROUTER_BAD_REQUEST' }),
  )
  expect(core.partitions).toEqual([])
})
