import { type HashWords, PrefixIndex, hashWords } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { HashCounts } from '../src/pipeline/hash-counts.js'
import { applyNormalisedEvent, newEventCounters, type NormalisedEvent } from '../src/pipeline/index.js'
import { RelayedRank } from '../src/protocol/index.js'

class Relay {
  readonly log: string[] = []
  readonly rank = new RelayedRank<{ readonly eventId: bigint }>({
    apply: ({ eventId }) => this.log.push(`${eventId}`),
    dropRank: () => this.log.push('drop'),
    requestSnapshot: () => this.log.push('ask'),
    replace: (events) => this.log.push(`replace ${events.map(({ eventId }) => eventId).join(' ')}`.trimEnd()),
  })

  events(...ids: number[]): this {
    for (const id of ids) this.rank.event({ eventId: BigInt(id) })
    return this
  }

  snapshot(lastEventId: bigint | undefined, ...ids: bigint[]): this {
    this.rank.snapshot({ events: ids.map((eventId) => ({ eventId })), lastEventId })
    return this
  }

  take(): string[] {
    return this.log.splice(0)
  }
}

describe('relayed events', () => {
  it('are applied in order, and dropped when they are old', () => {
    const one = new Relay().events(0, 1, 1, 0, 2)
    expect(one.take()).toEqual(['0', '1', '2'])
    expect(one.rank.cursor).toBe(2n)
  })

  it('behind a gap wait for one snapshot, which takes the place of what was held', () => {
    const one = new Relay().events(0, 3, 4, 5)
    expect(one.take()).toEqual(['0', 'drop', 'ask'])
    expect(one.rank.isWaiting).toBe(true)
    expect(one.snapshot(4n, 900n, 901n).take()).toEqual(['replace 900 901', '5'])
    expect(one.rank.cursor).toBe(5n)
    expect(one.events(6).take()).toEqual(['6'])
  })

  it('the cursor takes real ids only, whatever ids a snapshot makes up', () => {
    const one = new Relay()
      .events(5)
      .snapshot(5n, 2n ** 63n)
      .events(6)
    expect(one.take()).toEqual(['drop', 'ask', `replace ${2n ** 63n}`, '6'])
    const none = new Relay().events(1).snapshot(undefined)
    expect(none.take()).toEqual(['drop', 'ask', 'replace', 'drop', 'ask'])
  })

  it('behind a second gap ask again; a snapshot that nobody asked for is ignored', () => {
    const one = new Relay().events(2, 3, 6).snapshot(3n).events(7)
    expect(one.take()).toEqual(['drop', 'ask', 'replace', 'drop', 'ask'])
    expect(one.snapshot(7n).snapshot(1n).events(8).take()).toEqual(['replace', '8'])
  })

  it('are kept up to a limit; what is dropped is asked for again', () => {
    const one = new Relay().events(1)
    for (let id = 2; id <= 100_005; id++) one.events(id)
    expect(one.take()).toEqual(['drop', 'ask'])
    one.snapshot(99_999n).events(100_006)
    expect(one.take()).toEqual(['replace', '100000', 'drop', 'ask'])
  })

  it('of a new incarnation start at 0 again; a source that could not answer is asked again', () => {
    const one = new Relay().events(0, 2)
    one.rank.retrySnapshot()
    expect(one.take()).toEqual(['0', 'drop', 'ask', 'ask'])
    one.rank.reset()
    one.rank.retrySnapshot()
    expect(one.snapshot(9n).events(0).take()).toEqual(['0'])
  })

  it('reach the index by tier and parent', () => {
    const index = new PrefixIndex({ blockSize: 4 })
    const block = (hash: bigint) => ({ blockHash: hash, tokensHash: hash + 100n })
    const events: NormalisedEvent['data'][] = [
      { kind: 'stored', blocks: [block(1n), block(-2n)] },
      { kind: 'stored', parentHash: -2n, blocks: [block(3n)] },
      { kind: 'removed', blockHashes: [1n, 77n] },
    ]
    const counters = newEventCounters()
    const apply = (event: NormalisedEvent) => applyNormalisedEvent(index, 4, event, counters)
    const outcomes = events.map((data, id) => apply({ eventId: BigInt(id), data }))
    expect(outcomes).toEqual(['ok', 'ok', 'block_not_found'])
    const lower = { eventId: 3n, tier: 'disk', data: events[0]! } as const
    expect(apply(lower)).toBe('ok')
    expect([index.sizeOf(4), index.holds(4, 0, 3, 0), index.holds(4, 2, 0xffff_fffe, 0xffff_ffff)]).toEqual([
      2,
      true,
      true,
    ])
    apply({ eventId: 4n, residency: 'worker', data: { kind: 'cleared' } })
    expect([index.sizeOf(4), index.holds(4, 2, 1, 0)]).toEqual([0, false])
    expect(counters).toMatchObject({ cleared: 1, dropped: {} })
    expect([counters.stored.ok, counters.removed.block_not_found]).toEqual([3, 1])
  })

  it.each([
    ['unsupported_residency', { residency: 'cache_owner' }],
    ['unsupported_residency', { residency: 'cache_owner', tier: 'tape' }],
    ['unsupported_residency', { residency: 'somebody' }],
    ['unknown_medium', { tier: 'tape' }],
    ['unknown_medium', { tier: 'GPU' }],
    ['unknown_medium', { tier: '' }],
  ])('are refused as %s, counted, with no other effect: %o', (reason, fields) => {
    const index = new PrefixIndex({ blockSize: 4 })
    const counters = newEventCounters()
    const apply = (event: object) => applyNormalisedEvent(index, 4, event as NormalisedEvent, counters)
    const stored = { kind: 'stored', blocks: [{ blockHash: 1n, tokensHash: 101n }] }
    expect(apply({ eventId: 0n, data: stored })).toBe('ok')
    const before = index.stats()
    for (const data of [{ kind: 'removed', blockHashes: [1n] }, { kind: 'cleared' }, stored])
      expect(apply({ eventId: 1n, data, ...fields })).toBe(reason)
    expect(index.stats()).toEqual(before)
    expect(counters).toEqual({
      ...newEventCounters(),
      stored: { ...newEventCounters().stored, ok: 1 },
      dropped: { [reason]: 3 },
    })
  })
})

it('counts by hash equal a plain map over any changes', () => {
  const counts = new HashCounts()
  const model = new Map<number, number>()
  let state = 1
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % limit
  }
  for (let round = 0; round < 20_000; round++) {
    const key = next(700)
    const count = round % 4000 < 2000 ? next(3) : 0
    const [low, high] = words(key)
    counts.set(low!, high!, count)
    if (count === 0) model.delete(key)
    else model.set(key, count)
    expect(counts.size).toBe(model.size)
  }
  for (let key = 0; key < 700; key++) {
    const [low, high] = words(key)
    expect(counts.get(low!, high!)).toBe(model.get(key) ?? 0)
  }
})

/** Hashes that crowd the same slots. */
function words(key: number): HashWords {
  return hashWords([BigInt(key % 7) | (BigInt(key) << 40n)])
}
