import { type PartitionRouter, type RoutedWorker, copyResult, createRouterCore } from '@router/core'
import { PolicyCatalog, type PolicyDefinition, SelectionError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import {
  deviceAwareWeightedPolicy,
  directPolicy,
  leastLoadedPolicy,
  policies,
  roundRobinPolicy,
} from '../src/index.js'

/** The router of one partition, with this policy. */
function routerOf(policy: PolicyDefinition, workers: readonly RoutedWorker[]): PartitionRouter {
  const catalog = new PolicyCatalog().withDefault(policy)
  let seed = 6n
  const core = createRouterCore({ policy: catalog.resolve({}), clock: () => 0, random: () => ++seed })
  const router = core.router({ role: 'aggregated' })
  for (const worker of workers) router.upsertWorker(worker)
  return router
}

const workers = (...ids: number[]): RoutedWorker[] =>
  ids.map((id) => ({ workerId: BigInt(id), dataParallelSize: 2 }))
const tokens = Array.from({ length: 40 }, (_, at) => at)
const place = ({ workerId, dpRank }: { workerId: bigint; dpRank: number }): string => `${workerId}.${dpRank}`
const reserve = (router: PartitionRouter, requestId: string, rest: object = {}) =>
  copyResult(router.reserve({ tokens, requestId, ...rest }))

describe.each(policies)('$type', (policy) => {
  it('decides, books and frees; a query tells what comes next and leaves no trace', () => {
    const router = routerOf(policy, workers(1, 2, 3))
    const named = policy === directPolicy ? { affinityTarget: { workerId: 2n } } : {}
    for (let at = 0; at < 30; at++) {
      const before = router.snapshot()
      const query = place(router.select({ tokens, ...named }))
      expect(router.explain({ tokens, ...named }).tieSet.map(place)).toContain(query)
      expect(router.snapshot()).toEqual(before)
      expect(place(reserve(router, `${at}`, named))).toBe(query)
      if (at % 3 === 2) router.free(`${at - 1}`)
    }
    expect(router.ledger.live).toBe(20)
    expect(router.ledger.audit()).toEqual([])
  })
})

describe('dynamo-least-loaded', () => {
  it('fills ranks evenly, and those first that were freed', () => {
    const router = routerOf(leastLoadedPolicy, workers(1, 2, 3))
    const places = Array.from({ length: 12 }, (_, at) => place(reserve(router, `${at}`)))
    for (const rank of new Set(places)) expect(places.filter((one) => one === rank)).toHaveLength(2)
    expect(new Set(places).size).toBe(6)
    const freed = [3, 7].map((at) => (router.free(`${at}`), places[at]!))
    const again = [12, 13].map((at) => place(reserve(router, `${at}`)))
    expect(again.map((name) => name.split('.')[0]).toSorted()).toEqual(
      freed.map((name) => name.split('.')[0]).toSorted(),
    )
  })

  it('U46: gives a worker that is four times as slow less than half of a fair share', () => {
    const router = routerOf(leastLoadedPolicy, workers(1, 2, 3, 4))
    const endsAt: { id: string; tick: number }[] = []
    let slow = 0
    const requests = 2000
    for (let tick = 0; tick < requests; tick++) {
      for (const { id } of endsAt.filter((one) => one.tick === tick)) router.free(id)
      const { workerId } = reserve(router, `${tick}`)
      if (workerId === 4n) slow++
      endsAt.push({ id: `${tick}`, tick: tick + (workerId === 4n ? 80 : 20) })
    }
    expect(slow).toBeGreaterThan(0)
    expect(slow).toBeLessThan(requests / 4 / 2)
  })
})

describe('dynamo-round-robin', () => {
  it('keeps its turns while a worker is away, but for those of its own ranks', () => {
    const router = routerOf(roundRobinPolicy, workers(1, 2))
    let id = 0
    const next = (): string => place(reserve(router, `${id++}`))
    expect([next(), next(), next()]).toEqual(['1.0', '2.0', '1.1'])
    router.removeWorker(2n)
    expect(next()).toBe('1.0')
    router.upsertWorker({ workerId: 2n, dataParallelSize: 2 })
    expect([next(), next(), next()]).toEqual(['1.1', '2.0', '1.0'])
  })
})

describe('dynamo-direct', () => {
  const failure = (rest: object): unknown => {
    const router = routerOf(directPolicy, workers(1, 2))
    try {
      return reserve(router, 'r', rest)
    } catch (error) {
      expect(SelectionError.isInstance(error)).toBe(true)
      expect(router.ledger.live).toBe(0)
      return (error as SelectionError).details
    }
  }

  it('books nothing for a request without a target, and blames it', () => {
    expect(failure({})).toMatchObject({ reason: 'target-required', blamesRequest: true })
  })

  it('books nothing for a target that is not eligible', () => {
    const gone = { affinityTarget: { workerId: 3n } }
    const notAllowed = { affinityTarget: { workerId: 2n, dpRank: 0 }, allowedWorkerIds: [1n] }
    for (const rest of [gone, notAllowed])
      expect(failure(rest)).toMatchObject({ reason: 'target-not-eligible', blamesRequest: false })
  })
})

describe('dynamo-device-aware-weighted', () => {
  it('holds CPU workers to their share, and lets full hits pass without a reservation', () => {
    const router = routerOf(deviceAwareWeightedPolicy, [
      { workerId: 1n, deviceKind: 'cpu' },
      { workerId: 2n, deviceKind: 'accelerator' },
    ])
    const { table } = router.partition
    const places = Array.from({ length: 20 }, (_, at) => reserve(router, `${at}`).workerId)
    // The 9th and the 18th find 8 and 16 on the accelerator.
    expect(places.flatMap((id, at) => (id === 1n ? [at] : []))).toEqual([8, 17])
    table.setCacheHits(router.slotOf(1n, 0), 3)
    const hit = reserve(router, 'hit', { requiredCacheHits: 3 })
    expect([hit.workerId, hit.reservesOccupancy]).toEqual([1n, false])
    router.explain({ tokens })
    expect([...table.columns.views.occupancy!.reservations.subarray(0, 2)]).toEqual([2, 18])
  })
})
