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
