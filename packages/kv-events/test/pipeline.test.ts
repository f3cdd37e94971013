import { describe, expect, it } from 'vitest'
import { MAX_COUNTED_BLOCKS, ReferenceCounts } from '../src/pipeline/reference-counts.js'
import { batch, cleared, removed, stored } from './support/events.js'
import { liveFrames } from './support/machine-log.js'
import { store, TestWorker } from './support/worker.js'

describe('ranks', () => {
  it('E3: the rank of the batch wins over that of the socket; cleared touches one rank', () => {
    const one = new TestWorker()
    one.send([store([1, 2])]).send([store([1, 2])], 2)
    expect([one.held([1, 2]), one.held([1, 2], 2)]).toEqual([
      [1, 2],
      [1, 2],
    ])
    one.send([cleared], 2)
    expect([one.held([1, 2]), one.held([1, 2], 2)]).toEqual([[1, 2], []])
    one.send([cleared])
    expect(one.held([1, 2])).toEqual([])
    expect(one.worker.counters.cleared).toBe(2)
  })

  it('cleared takes every tier of the rank', () => {
    const one = new TestWorker()
    one.send([store([1]), store([2], 1, 'CPU'), store([3], 2, 'DISK')])
    expect([one.held([1]), one.held([2], 0, 1), one.held([3], 0, 2)]).toEqual([[1], [2], [3]])
    one.send([cleared])
    expect([one.held([1]), one.held([2], 0, 1), one.held([3], 0, 2)]).toEqual([[], [], []])
  })

  it('that the worker does not have are counted and skipped, and take no part in the state', () => {
    const one = new TestWorker()
    one.send([store([1])]).send([store([2]), cleared, removed([2])], 7)
    expect(one.worker.counters.unknownRank).toBe(3)
    expect(one.worker.nextEventId(7)).toBe(0)
    expect(one.held([1])).toEqual([1])
    expect(one.worker.reports).toMatchObject([{ socketRank: 0, state: 'live', cursor: 1n }])
  })

  it('that leave are emptied, and come back as new', () => {
    const one = new TestWorker().send([store([1])], 3)
    one.worker.removeRank(3)
    one.ranks = 3
    expect(one.held([1], 3)).toEqual([])
    one.send([store([2])], 3)
    expect(one.worker.counters.unknownRank).toBe(1)
    one.ranks = 4
    expect(one.worker.nextEventId(3)).toBe(0)
    expect(one.send([store([3])], 3).held([1, 2, 3], 3)).toEqual([3])
  })
})

describe('slots that belong to another worker by now', () => {
  it.each<[string, (one: TestWorker) => void]>([
    ['the rank is removed', (one) => one.worker.removeRank(3)],
    ['the worker is closed', (one) => one.worker.close()],
    ['the engine restarts', (one) => void one.send([store([9])], 0).worker.register('b', 0)],
  ])('keep their blocks when %s', (_name, end) => {
    const one = new TestWorker()
    one.worker.register('a', 0)
    one.send([store([1])], 3).send([store([2])], 0)
    // The host takes rank 3 away, empties its slot and gives it to another worker.
    one.ranks = 3
    one.index.removeRank(13)
    const other = new TestWorker({ index: one.index }).send([store([7])], 3)
    end(one)
    expect(other.held([7], 3)).toEqual([7])
    expect(one.held([2], 0)).toEqual(_name === 'the rank is removed' ? [2] : [])
  })
})

describe('what a host may say that means nothing', () => {
  it('a deadline of Infinity is no time', () => {
    const one = new TestWorker().send([store([1])])
    expect(one.worker.nextDeadlineMs()).toBe(Infinity)
    for (const nowMs of [Infinity, Number.NaN]) one.worker.advance(nowMs)
    expect([one.worker.incarnation, one.held([1])]).toEqual([0, [1]])
  })

  it.each([0, -1, Number.NaN])('a budget of %s gets done what one block takes', (budget) => {
    const worker = new TestWorker()
    worker.feed.sequence.live(liveFrames(0, batch([store([1, 2])])), 0)
    let steps = 0
    while (worker.feed.step(budget, 0) && steps < 100) steps++
    expect(worker.held([1, 2])).toEqual([1, 2])
    expect(steps).toBeLessThan(100)
  })

  it('a message for a feed whose worker is closed is applied no more', () => {
    const one = new TestWorker().send([store([1])])
    one.worker.close()
    one.feed.sequence.live(liveFrames(1, batch([store([2])])), 0)
    expect(one.feed.step(1000, 0)).toBe(false)
    expect(one.held([1, 2])).toEqual([])
  })
})

describe('ranks that the host dropped for want of room', () => {
  it('are rebuilding until they say what they hold; others of the worker are not touched', () => {
    const one = new TestWorker().send([store([1, 2]), store([1, 2])])
    one.index.removeRank(10)
    one.worker.rankDropped(0, 0)
    expect(one.worker.reports).toMatchObject([
      { state: 'rebuilding', causes: ['index_rebuilding'], cursor: 0n },
    ])
    // No reference of before counts: one removal takes the block.
    one.send([store([1])]).send([removed([1])])
    expect(one.held([1])).toEqual([])
    expect(one.send([cleared]).worker.reports).toMatchObject([{ state: 'live', causes: [] }])
  })

  it('and that no event has reached change nothing', () => {
    const one = new TestWorker().send([store([1])])
    one.worker.rankDropped(2, 0)
    expect(one.worker.reports).toMatchObject([{ state: 'live' }])
    expect(one.held([1])).toEqual([1])
  })
})

describe('event ids', () => {
  it('E2: a filtered event takes no id, nor does one that cannot be read; one that changes nothing does', () => {
    const one = new TestWorker().send([store([1])])
    expect(one.worker.nextEventId(0)).toBe(1)
    one.send([stored({ hashes: [2], medium: 'tape' }), ['Ignored'], ['Unheard'], stored({ hashes: 'x' })])
    expect(one.worker.nextEventId(0)).toBe(1)
    one.send([stored({ hashes: [2], blockSize: 8, tokens: [1, 2, 3, 4, 5, 6, 7, 8] })])
    expect(one.worker.nextEventId(0)).toBe(2)
    one.send([removed([1]), cleared]).send([store([5])], 1)
    expect([one.worker.nextEventId(0), one.worker.nextEventId(1)]).toEqual([4, 1])
    expect(one.worker.counters.dropped).toMatchObject({
      unknown_medium: 1,
      ignored_event: 1,
      unknown_tag: 1,
      block_size_mismatch: 1,
    })
    expect(one.worker.counters.droppedByKind).toEqual({
      stored: { unknown_medium: 1, block_size_mismatch: 1 },
      ignored: { ignored_event: 1 },
      undecodable: { unknown_tag: 1, 'missing_field:block_hashes': 1 },
    })
  })
})

describe('a wrong block size', () => {
  it('E4: stores nothing and is told once per rank', () => {
    const one = new TestWorker()
    const wrong = stored({ hashes: [2], blockSize: 8, tokens: [1, 2, 3, 4, 5, 6, 7, 8] })
    one.send([wrong, wrong]).send([wrong]).send([wrong], 1)
    expect(one.held([2])).toEqual([])
    expect(one.warnings).toEqual(['block_size_mismatch 0 (8)', 'block_size_mismatch 1 (8)'])
  })

  it('E4: short tokens store the leading blocks', () => {
    const one = new TestWorker().send([stored({ hashes: [1, 2, 3], tokens: [1, 2, 3, 4, 5, 6, 7, 8, 9] })])
    expect(one.held([1, 2, 3])).toEqual([1, 2])
    expect(one.worker.counters.shortTokens).toBe(1)
  })
})

describe('outcomes', () => {
  it('are counted by kind, and refused stores do not harm what follows', () => {
    const one = new TestWorker()
    one.send([store([1, 2]), store([1, 2]), store([9], 8), removed([77]), removed([2]), store([], 55)])
    expect(one.worker.counters.stored).toEqual({
      ok: 1,
      duplicate_store: 1,
      parent_not_found: 2,
      invalid_sequence: 0,
      capacity: 0,
    })
    expect(one.worker.counters.removed).toEqual({ ok: 0, block_not_found: 1 })
  })
})

describe('coalescing', () => {
  it('makes one store of events that continue each other, within one batch', () => {
    const one = new TestWorker().send([store([1]), store([2], 1), store([3, 4], 2)]).send([store([5], 4)])
    expect(one.worker.counters.stored.ok).toBe(2)
    expect(one.held([1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4, 5])
    one.send([removed([5]), removed([4, 3])])
    expect(one.worker.counters.removed.ok).toBe(1)
    expect(one.held([1, 2, 3, 4, 5])).toEqual([1, 2])
  })

  it.each([
    ['another parent', [store([1]), store([2], 1), store([3], 1)], 2],
    ['another tier', [store([1]), store([2], 1, 'CPU'), store([3], 2)], 2],
    ['a removal', [store([1]), removed([9]), store([2], 1)], 2],
    ['a root', [store([1]), store([2])], 2],
  ])('stops at %s', (_, events, stores) => {
    const one = new TestWorker().send(events)
    const { ok, parent_not_found: refused } = one.worker.counters.stored
    expect(ok + refused).toBeGreaterThanOrEqual(stores)
  })

  it('never names a block twice in one run', () => {
    const one = new TestWorker().send([store([1, 2]), store([3, 1], 2), store([4], 1)])
    expect(one.worker.counters.stored.ok).toBe(2)
    one.send([removed([1])])
    expect(one.held([1])).toEqual([1])
    one.send([removed([1])])
    expect(one.held([1, 2, 3, 4])).toEqual([2, 3, 4])
  })

  it('leaves lower tiers alone, which ignore the rest of a run that disagrees with them', () => {
    const one = new TestWorker().send([store([3], 1, 'DISK')])
    one.send([store([2, 3], 1, 'DISK'), store([4], 3, 'DISK')])
    expect(one.held([2, 3, 4], 0, 2)).toEqual([2, 3, 4])
  })

  it('takes the events of a refused group one by one', () => {
    const one = new TestWorker().send([store([1])])
    one.send([store([8], 7), store([1], 8), store([2], 1), store([3], 2)])
    expect(one.held([1, 2, 3, 8])).toEqual([1, 2, 3])
    expect(one.worker.counters.stored).toMatchObject({ ok: 3, parent_not_found: 2 })
  })
})

describe('references', () => {
  it('a block that was stored twice goes with the second removal', () => {
    const one = new TestWorker().send([store([1, 2]), store([1, 2, 3])]).send([store([2], 1)])
    one.send([removed([3, 2, 1])])
    expect(one.held([1, 2, 3])).toEqual([1, 2])
    one.send([removed([2, 1])])
    expect(one.held([1, 2, 3])).toEqual([2])
    one.send([removed([2])])
    expect(one.held([1, 2, 3])).toEqual([])
    expect(one.worker.counters).toMatchObject({ deduplicatedBlocks: 3, removed: { block_not_found: 0 } })
  })

  it('are counted by tier and by rank', () => {
    const one = new TestWorker().send([store([1]), store([1], null, 'CPU')]).send([store([1])], 1)
    one.send([removed([1])])
    expect([one.held([1]), one.held([1], 0, 1), one.held([1], 1)]).toEqual([[], [1], [1]])
  })

  it('a store that the index refused does not count', () => {
    const one = new TestWorker()
      .send([store([1])])
      .send([store([1], 9)])
      .send([removed([1])])
    expect(one.held([1])).toEqual([])
  })

  it('go with a cleared', () => {
    const one = new TestWorker().send([store([1]), store([1]), cleared, store([1])]).send([removed([1])])
    expect(one.held([1])).toEqual([])
  })

  it('are bounded: what is too many counts once, and is told', () => {
    const counts = new ReferenceCounts()
    for (let hash = 0; hash <= MAX_COUNTED_BLOCKS; hash++) counts.storedAgain(0, hash, 1)
    expect(counts).toMatchObject({ size: MAX_COUNTED_BLOCKS, forgotten: 1 })
    counts.storedAgain(0, 5, 1)
    const engine = Uint32Array.of(MAX_COUNTED_BLOCKS, 1, 5, 1, 6, 1)
    expect(counts.release(0, engine, 0, 3)).toBe(1)
    expect(engine[0]).toBe(MAX_COUNTED_BLOCKS)
    expect(counts.size).toBe(MAX_COUNTED_BLOCKS - 1)
  })
})

describe('a huge event', () => {
  const hashes = Array.from({ length: 50_000 }, (_, index) => index + 1)

  it('is stored in bounded steps, each a longer prefix', () => {
    const one = new TestWorker()
    one.feed.sequence.live(liveFrames(0, batch([store(hashes), removed([50_000, 49_999])])), 0)
    one.feed.sequence.live(liveFrames(1, batch([store([60_000], 1)])), 0)
    let before = 0
    let steps = 0
    while (one.feed.step(100, 0)) {
      const held = one.index.sizeOf(10)
      expect(Math.abs(held - before)).toBeLessThanOrEqual(2048)
      if (held > before) expect(one.held([1, held - 1, held, held + 1])).toEqual([1, held - 1, held])
      expect(one.held([60_000])).toEqual([])
      before = held
      steps++
    }
    expect(steps).toBeGreaterThanOrEqual(24)
    expect(one.held([...hashes.slice(-3), 60_000])).toEqual([49_998, 60_000])
    expect(one.worker.counters.stored.ok).toBe(2)
  })

  it('that was stored twice goes with the second removal, in steps too', () => {
    const blocks = hashes.slice(0, 5000)
    const one = new TestWorker().send([store(blocks)]).send([store(blocks)])
    expect(one.worker.counters.stored).toMatchObject({ ok: 1, duplicate_store: 1 })
    one.send([removed(blocks.toReversed())])
    expect(one.held(blocks)).toHaveLength(5000)
    one.send([removed(blocks.toReversed())])
    expect(one.held(blocks)).toEqual([])
    expect(one.worker.counters).toMatchObject({ deduplicatedBlocks: 5000, removed: { ok: 2 } })
  })

  it('that a new incarnation interrupts leaves nothing', () => {
    const one = new TestWorker()
    one.feed.sequence.live(liveFrames(0, batch([store(hashes)])), 0)
    one.feed.step(100, 0)
    one.feed.step(100, 0)
    expect(one.held([1, 2048, 49_000])).toEqual([1, 2048])
    one.worker.register('a', 0)
    one.worker.register('b', 0)
    one.run()
    expect(one.held(hashes)).toEqual([])
    expect(one.sendAs(0, [store([7])]).held(hashes)).toEqual([7])
  })

  it('of which only payload is left to look at counts as work, too', () => {
    const one = new TestWorker()
    const nothing = batch(Array.from({ length: 1000 }, () => ['Ignored', 1, 2, 3]))
    for (let sequence = 0; sequence < 10; sequence++) one.feed.sequence.live(liveFrames(sequence, nothing), 0)
    let steps = 1
    while (one.feed.step(100, 0)) steps++
    expect(steps).toBeGreaterThanOrEqual(10)
  })
})

describe('salts', () => {
  it('go with what a gap drops', () => {
    const one = new TestWorker().send([salted('s', [1])])
    one.sendAs(2, [store([1]), store([2], 1)])
    expect(one.held([1, 2])).toEqual([1, 2])
    expect(one.worker.counters.dropped).toEqual({})
  })

  const salted = (salt: string, hashes: readonly number[], parent: number | null = null) =>
    stored({ hashes, parent, salt, tokens: hashes.flatMap((hash) => [hash, 1, 2, 3]) })

  it('of a refused store are not learned, and blocks of the same batch count as held', () => {
    const one = new TestWorker()
    one.send([store([1]), salted('s', [1]), store([2], 1)])
    expect(one.worker.counters.dropped).toEqual({ ambiguous_cache_namespace: 1 })
    const other = new TestWorker().send([salted('s', [1], 9), store([1]), store([2], 1)])
    expect(other.worker.counters.dropped).toEqual({})
    expect(other.held([1, 2])).toEqual([1, 2])
  })
})
