import { hashAt } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { SelectionCache } from '../../src/fleet/selection-cache.js'
import { loadServePolicy } from '../../src/serve-policy.js'
import { routerModes } from '../../src/settings/routing-settings.js'
import { codeOf, everybody, promptOf, testFleet } from './support.js'

const group = { ...everybody, routingGroup: 'g' }

function twoWorkers() {
  const one = testFleet()
  one.add(1)
  one.add(2)
  return one
}

describe('bookings', () => {
  it('U15, U17: 10,000 requests with errors, aborts and retries leave every count at 0', () => {
    const { fleet, reserve, requests, add } = testFleet()
    add(1, { dataParallelSize: 2 })
    add(2)
    const live: string[] = []
    for (let request = 0; request < 10_000; request++) {
      const id = `r${request}`
      if (request % 7 === 0)
        expect(codeOf(() => reserve(id, 'ab', { allowedWorkerIds: [] }))).toBe('ROUTER_NO_ENDPOINTS')
      if (request % 11 === 0 && live.length > 0)
        expect(codeOf(() => reserve(live[0]!, 'a'))).toBe('ROUTER_DUPLICATE_REQUEST')
      reserve(id, 'ab'.slice(request % 3))
      if (request % 5 === 0) fleet.prefillCompleted(id)
      if (request % 13 === 0) fleet.outputBlock(id, 0.5)
      live.push(id)
      if (live.length > 50) expect(fleet.free(live.splice(request % 50, 1)[0]!)).toBe(true)
    }
    expect(Object.values(requests()).reduce((sum, count) => sum + count, 0)).toBe(live.length)
    for (const id of live) expect([fleet.free(id), fleet.free(id)]).toEqual([true, false])
    expect(Object.values(requests())).toEqual([0, 0, 0])
    expect(fleet.partitions[0]!.router.ledger.audit()).toEqual([])
  })

  it('U49: 100 callers at once, one request a rank: never two, and the others are told of overload', async () => {
    const { add, fleet, requests } = testFleet({ usesKvEvents: false, maximumRequestsPerRank: 1 })
    for (let id = 1; id <= 8; id++) add(id)
    const call = async (caller: number) => {
      await Promise.resolve()
      return codeOf(() => fleet.reserve(everybody, { prompt: promptOf('ab') }, { requestId: `c${caller}` }))
    }
    const codes = await Promise.all(Array.from({ length: 100 }, (_, caller) => call(caller)))
    expect(codes.filter((code) => code === undefined)).toHaveLength(8)
    expect(new Set(codes.slice(8))).toEqual(new Set(['ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED']))
    expect(Object.values(requests())).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    fleet.free('c3')
    expect(await call(200)).toBeUndefined()
  })

  it('U7: of start 2 and size 2 only ranks 2 and 3 ever leave', () => {
    const { add, fleet, reserve } = testFleet()
    add(1, { dataParallelStartRank: 2, dataParallelSize: 2 })
    const ranks = new Set(Array.from({ length: 40 }, (_, at) => reserve(`r${at}`, 'abc').dpRank))
    expect([...ranks].toSorted()).toEqual([2, 3])
    for (const dpRank of [0, 1, 4]) {
      const pinnedWorker = { workerId: 1n, dpRank }
      expect(codeOf(() => reserve('pin', 'a', { pinnedWorker }))).toBe('ROUTER_NO_ENDPOINTS')
      const explicit = { requestId: 'x', workerId: 1n, dpRank, prompt: promptOf('a') }
      expect(codeOf(() => fleet.reserveOn(everybody, explicit))).toBe('ROUTER_NOT_FOUND')
    }
  })

  it('have ids of their own over all partitions', () => {
    const { add, fleet, reserve } = twoWorkers()
    add(3, { routingGroup: 'g' })
    reserve('r', 'a')
    const again = () => fleet.reserve(group, { prompt: promptOf('a') }, { requestId: 'r' })
    expect(codeOf(again)).toBe('ROUTER_DUPLICATE_REQUEST')
    expect(fleet.free('r')).toBe(true)
    expect(again().workerId).toBe(3n)
    fleet.prefillCompleted('r')
  })

  it('an output block counts, and its fraction is checked before its id', () => {
    const { fleet, reserve } = twoWorkers()
    reserve('r', 'ab', { allowedWorkerIds: [1n] })
    fleet.outputBlock('r')
    fleet.outputBlock('r', 1)
    expect(fleet.loads(fleet.partitions[0]!)[0]!.potentialDecodeBlocks).toBe(4)
    for (const fraction of [-0.1, 1.1, Number.NaN])
      expect(codeOf(() => fleet.outputBlock('nobody', fraction))).toBe('ROUTER_BAD_REQUEST')
    expect(codeOf(() => fleet.outputBlock('nobody', 1))).toBe('ROUTER_NOT_FOUND')
  })

  it('on a rank of the caller are made whatever keeps the worker from selections, but for a drain', () => {
    const { fleet, select, requests } = twoWorkers()
    const explicit = (requestId: string, workerId: bigint) =>
      codeOf(() => fleet.reserveOn(everybody, { requestId, workerId, dpRank: 0, prompt: promptOf('a') }))
    for (const id of [1n, 2n])
      fleet.workers.setHindrances(id, [{ code: 'inhibited', detail: 'connection refused', sinceMs: 0 }])
    expect(codeOf(() => select('a'))).toBe('ROUTER_NOT_READY')
    expect([explicit('x', 1n), explicit('y', 2n)]).toEqual([undefined, undefined])
    expect(explicit('z', 3n)).toBe('ROUTER_NOT_READY')
    expect(requests()).toEqual({ '1.0': 1, '2.0': 1 })
    fleet.workers.setHindrances(2n, [])
    fleet.workers.drain(1n)
    expect(explicit('z', 1n)).toBe('ROUTER_NOT_FOUND')
  })

  it('that nobody frees expire', () => {
    const { fleet, reserve, requests, clock } = twoWorkers()
    reserve('r', 'ab', { allowedWorkerIds: [1n] })
    for (let seconds = 30; seconds <= 390; seconds += 30) {
      clock.ms = 1000 * seconds
      fleet.tick()
    }
    expect([requests()['1.0'], fleet.free('r')]).toEqual([0, false])
  })
})

describe('Q6: a query', () => {
  it('changes nothing', () => {
    const { fleet, select, reserve } = twoWorkers()
    reserve('r', 'abc')
    const { router } = fleet.partitions[0]!
    const before = router.snapshot()
    select('abcd')
    fleet.overlaps(everybody, { prompt: promptOf('abcd') })
    fleet.potentialLoads(everybody, { prompt: promptOf('abcd') })
    fleet.explain(everybody, { prompt: promptOf('abcd') })
    expect(router.snapshot()).toEqual(before)
  })

  it('and a booking tell the same', () => {
    const { fleet, select, reserve } = twoWorkers()
    fleet.reserveOn(everybody, { requestId: 'x', workerId: 2n, dpRank: 0, prompt: promptOf('abc') })
    const asked = select('abcd.', { allowedWorkerIds: [2n] })
    const booked = reserve('r', 'abcd.', { allowedWorkerIds: [2n] })
    expect({ ...booked, partition: 0 }).toEqual({ ...asked, partition: 0 })
    expect(asked).toMatchObject({
      cachedTokens: 12,
      potentialDecodeBlocks: 5,
      bestOverlap: { workerId: 2n, blocks: 3 },
    })
    expect(hashAt(asked.sequence, 0)).toBe(hashAt(booked.sequence, 0))
  })
})

describe('a selection that is kept', () => {
  it('is booked as it was selected, once', () => {
    const { fleet, select, requests } = twoWorkers()
    const { workerId } = select('abcd', { allowedWorkerIds: [2n] }, 's')
    expect(fleet.reserveSelected(everybody, 's')).toMatchObject({
      workerId,
      dpRank: 0,
      endpoint: 'http://w2',
    })
    expect(requests()).toEqual({ '1.0': 0, '2.0': 1 })
    expect(fleet.loads(fleet.partitions[0]!)[1]).toMatchObject({
      potentialPrefillTokens: 16,
      potentialDecodeBlocks: 4,
    })
    expect(codeOf(() => fleet.reserveSelected(everybody, 's'))).toBe('ROUTER_NOT_FOUND')
  })

  it('survives a failure, not a booking on a rank of its id', () => {
    const { add, fleet, select, reserve } = twoWorkers()
    reserve('s', 'x')
    select('abcd', { allowedWorkerIds: [2n] }, 's')
    expect(codeOf(() => fleet.reserveSelected(everybody, 's'))).toBe('ROUTER_DUPLICATE_REQUEST')
    fleet.free('s')
    fleet.workers.remove(2n)
    expect(codeOf(() => fleet.reserveSelected(everybody, 's'))).toBe('ROUTER_NOT_FOUND')
    add(2)
    expect(fleet.reserveSelected(everybody, 's').workerId).toBe(2n)
    fleet.free('s')
    select('abcd', {}, 's')
    fleet.reserveOn(everybody, { requestId: 's', workerId: 1n, dpRank: 0, prompt: promptOf('a') })
    fleet.free('s')
    expect(codeOf(() => fleet.reserveSelected(everybody, 's'))).toBe('ROUTER_NOT_FOUND')
  })

  it('shares no block where reuse was not assumed, however often it is booked', () => {
    const { fleet, select } = twoWorkers()
    for (const id of ['a', 'b']) {
      select('abcd', { allowedWorkerIds: [1n], assumesKvReuse: false }, id)
      fleet.reserveSelected(everybody, id)
    }
    expect(fleet.loads(fleet.partitions[0]!)[0]!.potentialDecodeBlocks).toBe(8)
  })

  it('goes after its life, as one of too many, or as too large; the oldest first', () => {
    const words = (blocks: number) => new Uint32Array(2 * blocks)
    const { measures } = twoWorkers().select('a')
    const selection = (blocks: number) => ({
      workerId: 1n,
      dpRank: 0,
      local: words(blocks),
      sequence: words(blocks),
      promptTokens: 0,
      prefillTokens: 0,
      assumesKvReuse: undefined,
      expectedOutputTokens: undefined,
      loraName: undefined,
      measures,
    })
    const cache = new SelectionCache({ ttlMs: 100, maximumEntries: 3, maximumBytes: 10_000 })
    const kept = (nowMs: number) => ['a', 'b', 'c', 'd'].filter((key) => cache.get(key, nowMs) !== undefined)
    for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) cache.put(key, selection(1), at)
    expect(kept(4)).toEqual(['b', 'c', 'd'])
    cache.put('b', selection(1), 50)
    expect([kept(101), kept(102), kept(103), kept(150)]).toEqual([['b', 'c', 'd'], ['b', 'd'], ['b'], []])
    expect([cache.size, cache.bytes]).toEqual([0, 0])
    cache.put('a', selection(200), 200)
    cache.put('b', selection(200), 200)
    cache.put('c', selection(200), 200)
    expect([kept(200), cache.bytes <= 10_000]).toEqual([['b', 'c'], true])
    cache.put('d', selection(1000), 200)
    expect([kept(200), cache.size, cache.bytes]).toEqual([[], 0, 0])
  })
})

describe('G2: busy ranks', () => {
  const loaded = (settings: Parameters<typeof testFleet>[0]) => {
    const one = testFleet({ usesKvEvents: false, ...settings })
    one.add(1, { totalKvBlocks: 10, maxNumBatchedTokens: 32 })
    one.add(2, { totalKvBlocks: 10, maxNumBatchedTokens: 32 })
    one.reserve('a', 'abcd', { allowedWorkerIds: [1n] })
    return one
  }
  const free = ({ select }: ReturnType<typeof testFleet>) =>
    [1n, 2n].filter((id) => codeOf(() => select('x', { allowedWorkerIds: [id] })) === undefined)

  it.each([
    [{ activeDecodeBlocks: 0.3 }, [2n]],
    [{ activeDecodeBlocks: 0.4 }, [1n, 2n]],
    [{ activePrefillTokens: 15 }, [2n]],
    [{ activePrefillTokens: 16 }, [1n, 2n]],
    [{ activePrefillTokensFraction: 0.4 }, [2n]],
    [{ activePrefillTokensFraction: 0.5 }, [1n, 2n]],
    [{}, [1n, 2n]],
  ])('by %o take no more', (busyThresholds, expected) => {
    expect(free(loaded({ busyThresholds }))).toEqual(expected)
  })

  it.each(routerModes)('mode %s skips them, and says overload when all are', async (mode) => {
    const { bundle: policy } = await loadServePolicy({ flags: { 'router-mode': mode } })
    const limits = { usesKvEvents: false, maximumRequestsPerRank: 1, isDirect: mode === 'direct' }
    const { add, reserve } = testFleet(limits, { policy })
    for (let id = 1; id <= 4; id++) add(id)
    const target = (id: number) => (mode === 'direct' ? { affinityTarget: { workerId: BigInt(id) } } : {})
    const chosen = [1, 2, 3, 4].map((id) => reserve(`r${id}`, 'ab', target(id)).workerId)
    expect(chosen.toSorted()).toEqual([1n, 2n, 3n, 4n])
    expect(codeOf(() => reserve('more', 'ab', target(1)))).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
  })

  it('are told as overload, also to a pin, and are free again with the booking', () => {
    const one = loaded({ busyThresholds: { activePrefillTokens: 0 } })
    const { fleet, select } = one
    expect(select('x').workerId).toBe(2n)
    const pinnedWorker = { workerId: 1n, dpRank: 0 }
    expect(codeOf(() => select('x', { pinnedWorker }))).toBe('ROUTER_PINNED_WORKER_OVERLOADED')
    expect(codeOf(() => select('x', { allowedWorkerIds: [1n] }))).toBe(
      'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
    )
    fleet.free('a')
    expect(free(one)).toEqual([1n, 2n])
    one.reserve('b', 'wxyz', { allowedWorkerIds: [1n] })
    expect(free(one)).toEqual([2n])
  })

  it('a rank without capacity is never busy by its share of it', () => {
    const { add, select, reserve } = testFleet({
      usesKvEvents: false,
      busyThresholds: { activeDecodeBlocks: 0, activePrefillTokensFraction: 0.5 },
    })
    add(1)
    reserve('a', 'abcd')
    expect(select('x').workerId).toBe(1n)
  })
})
