import { DISK, HOST_PINNED } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import type { RankBooking } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { hashed, routingHost, told, tokensOf } from './support/routing-hosts.js'

const booking = (requestId: string, word: string, rest: Partial<RankBooking> = {}): RankBooking => ({
  requestId,
  workerId: 2n,
  dpRank: 0,
  blocks: hashed(word),
  promptTokens: 4 * word.length,
  prefillTokens: 0,
  ...rest,
})
const loadsOf = (host: ReturnType<typeof routingHost>) =>
  host.router
    .potentialLoads({ blocks: hashed(''), promptTokens: 0 })
    .map(({ potentialPrefillTokens: tokens, potentialDecodeBlocks: blocks, activeRequests }) => [
      tokens,
      blocks,
      activeRequests,
    ])

describe('a booking on a rank that its caller chose', () => {
  it('takes what it says, shares blocks with the others and is freed once', () => {
    const host = routingHost({ workers: told(1, 2) })
    host.router.book(booking('a', 'abcd', { prefillTokens: 5, loraName: 'x' }))
    host.router.book(booking('b', 'abxy'))
    expect(loadsOf(host)).toEqual([
      [0, 0, 0],
      [5, 6, 2],
    ])
    expect([...host.router.ledger.loras]).toEqual([['x', 1]])
    expect([host.router.free('a'), host.router.free('a'), host.router.free('b')]).toEqual([true, false, true])
    expect(loadsOf(host)[1]).toEqual([0, 0, 0])
    expect(host.router.ledger.audit()).toEqual([])
  })

  it('makes a rank without events hold its blocks, where their content is known and it went out', () => {
    const host = routingHost({ workers: [{ workerId: 1n }, { workerId: 2n }] })
    const { sequence, count } = hashed('uvw')
    host.router.book(booking('a', 'abc'))
    host.router.book(booking('b', 'xyz', { isDispatched: false }))
    host.router.book(booking('c', '', { blocks: { local: new Uint32Array(0), sequence, count } }))
    expect([host.device('abc')['2.0'], host.device('xyz')['2.0'], host.device('uvw')['2.0']]).toEqual([
      3, 0, 0,
    ])
    expect(loadsOf(host)[1]).toEqual([0, 9, 3])
  })

  it('shares no block when it says so', () => {
    const host = routingHost({ workers: told(2) })
    host.router.book(booking('a', 'abc'))
    host.router.book(booking('b', 'abc', { assumesKvReuse: false }))
    host.router.book(booking('c', 'abc', { assumesKvReuse: false }))
    expect(loadsOf(host)).toEqual([[0, 9, 3]])
  })

  it.each([
    ['an unknown worker', 'ROUTER_NOT_FOUND', { workerId: 9n }],
    ['an unknown rank', 'ROUTER_NOT_FOUND', { dpRank: 1 }],
    ['a live id', 'ROUTER_DUPLICATE_REQUEST', { requestId: 'live' }],
    ['prefill that is no count', 'ROUTER_BAD_REQUEST', { prefillTokens: -1 }],
    [
      'blocks without hashes',
      'ROUTER_BAD_REQUEST',
      { blocks: { local: new Uint32Array(0), sequence: new Uint32Array(2), count: 2 } },
    ],
  ])('is refused for %s, and changes nothing', (_case, code, rest) => {
    const host = routingHost({ workers: told(1, 2), config: { tracksOutputBlocks: true } })
    host.router.book(booking('live', 'ab'))
    const before = host.router.snapshot()
    expect(codeOf(() => host.router.book(booking('new', 'abc', rest)))).toBe(code)
    expect(host.router.snapshot()).toEqual(before)
  })
})

describe('what ranks hold of a prompt', () => {
  it('is told rank by rank and tier by tier, and of one worker after a selection', () => {
    const host = routingHost({
      workers: [{ workerId: 1n, hasEvents: true, dataParallelSize: 2 }, ...told(3)],
    })
    host.store('1.1', 'ab')
    host.store('1.1', 'abc', { from: 2, tier: HOST_PINNED })
    host.store('1.1', 'abcd', { from: 3, tier: DISK })
    const unknown = { isKnown: false, deviceBlocks: 0, hostBlocks: 0, diskBlocks: 0, cachedTokens: 0 }
    const known = { isKnown: true, deviceBlocks: 2, hostBlocks: 1, diskBlocks: 1, cachedTokens: 12 }
    expect(host.router.overlaps({ tokens: tokensOf('abcde') })).toEqual([
      { workerId: 1n, dpRank: 0, ...unknown },
      { workerId: 1n, dpRank: 1, ...known },
      { workerId: 3n, dpRank: 0, ...unknown },
    ])
    host.select('abcde')
    expect(host.router.lastOverlapsOf(1n)).toEqual([
      { workerId: 1n, dpRank: 0, ...unknown },
      { workerId: 1n, dpRank: 1, ...known },
    ])
    host.select('ab')
    expect(host.router.lastOverlapsOf(1n)[1]).toMatchObject({ deviceBlocks: 2, hostBlocks: 0 })
    expect(host.router.lastOverlapsOf(2n)).toEqual([])
  })
})

describe('a request that changes parameters for itself', () => {
  const host = () => {
    const fleet = routingHost({ workers: told(1, 2) })
    for (const rank of ['1', '2']) fleet.clear(rank)
    fleet.store('1', 'abc')
    fleet.router.book(booking('load', 'xy', { workerId: 1n, prefillTokens: 8 }))
    return fleet
  }

  it('is scored by them, and the next one as before', () => {
    const fleet = host()
    const asked = (parameterOverrides?: Record<string, unknown>) =>
      fleet.select('abcd', parameterOverrides === undefined ? {} : { parameterOverrides }).workerId
    expect(asked()).toBe(2n)
    expect(asked({ overlap_score_credit: 2.5 })).toBe(1n)
    expect(asked({ prefill_load_scale: 3 })).toBe(1n)
    expect(asked()).toBe(2n)
    expect(fleet.core.policies()[0]).toMatchObject({ revision: 1, parameters: {} })
  })

  it('says who would be taken when it is explained', () => {
    const explained = host().router.explain({
      tokens: tokensOf('abcd'),
      parameterOverrides: { overlap_score_credit: 2.5 },
    })
    expect(explained.rows.map(({ total }) => total)).toEqual([6, 8])
  })

  it('has no effect by what the policy cannot change or does not take', () => {
    const fleet = host()
    for (const parameterOverrides of [{ seed: 3 }, { nonsense: 1 }, { overlap_score_credit: -1 }])
      expect(fleet.select('abcd', { parameterOverrides }).workerId).toBe(2n)
  })
})
