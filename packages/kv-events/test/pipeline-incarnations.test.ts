import { KvIndexError } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { cleared, removed, stored } from './support/events.js'
import { batch } from './support/events.js'
import { liveFrames, terminatorFrames } from './support/machine-log.js'
import { store, TestWorker } from './support/worker.js'

/** A worker of two ranks with a socket each, both with content on several tiers. */
function pair(hasReplay = false) {
  const one = new TestWorker({}, { hasReplay })
  const second = one.socket({ socketRank: 1, hasReplay })
  for (const [feed, rank] of [
    [one.feed, 0],
    [second, 1],
  ] as const) {
    feed.sequence.live(liveFrames(0, batch([store([1, 2]), store([3], 2, 'CPU')], rank)), 0)
    while (feed.step(1000, 0));
  }
  const heldByAll = () => [one.held([1, 2]), one.held([1, 2], 1), one.held([3], 0, 1), one.held([3], 1, 1)]
  expect(heldByAll().flat()).toEqual([1, 2, 1, 2, 3, 3])
  return { one, second, heldByAll }
}

describe('E6: a restarted engine leaves no entry of the old incarnation', () => {
  it('when a sequence goes back, on every rank and tier', () => {
    const { one, heldByAll } = pair()
    one.sendAs(1, [store([4], 2)])
    one.sendAs(0, [store([9])])
    expect(heldByAll().flat()).toEqual([])
    expect(one.held([4, 9])).toEqual([9])
    expect(one.incarnations).toEqual(['1 sequence'])
    expect(one.worker.nextEventId(0)).toBe(1)
    expect(one.worker.nextEventId(1)).toBe(0)
  })

  it('when the registration has another id', () => {
    const { one, heldByAll } = pair()
    for (const id of [undefined, 'a', 'a', undefined]) one.worker.register(id, 0)
    expect(one.incarnations).toEqual([])
    one.worker.register('b', 0)
    expect(heldByAll().flat()).toEqual([])
    expect(one.incarnations).toEqual(['1 registration'])
    expect(one.worker.reports.map(({ state, cursor }) => [state, cursor])).toEqual([
      ['connecting', undefined],
      ['connecting', undefined],
    ])
  })

  it('when its start time changes', () => {
    const { one, heldByAll } = pair()
    for (const seconds of [100.5, 100.5]) one.worker.processStarted(seconds, 0)
    expect(one.incarnations).toEqual([])
    one.worker.processStarted(200, 0)
    expect(heldByAll().flat()).toEqual([])
    expect(one.incarnations).toEqual(['1 process_start'])
  })

  it('when nothing proves in time after an outage that it is the same', () => {
    const { one, heldByAll } = pair()
    one.worker.outageBegan()
    one.worker.advance(60_000)
    expect(one.incarnations).toEqual([])
    one.worker.outageEnded(70_000)
    expect(one.worker.nextDeadlineMs()).toBe(75_000)
    one.worker.advance(74_999)
    expect(heldByAll().flat()).not.toEqual([])
    one.worker.advance(75_000)
    expect(heldByAll().flat()).toEqual([])
    expect(one.incarnations).toEqual(['1 outage'])
  })

  it('when its sequence does not go on after an outage', () => {
    const { one, heldByAll } = pair()
    one.worker.outageBegan()
    one.worker.outageEnded(0)
    one.sendAs(5, [store([9])])
    expect(heldByAll().flat()).toEqual([])
    expect(one.incarnations).toEqual(['1 sequence'])
    one.worker.advance(5000)
    expect(one.worker.incarnation).toBe(1)
  })

  it('nor a reference, nor a kind of a group, nor a salt', () => {
    const one = new TestWorker()
    const salted = (hashes: number[], salt: string) =>
      stored({ hashes, salt, tokens: [1, 2, 3, 4], group: 2, kind: 'mamba' })
    one.send([store([1]), store([1]), salted([5], 'x')])
    one.worker.processStarted(1, 0)
    one.worker.processStarted(2, 0)
    one.sendAs(0, [store([1])])
    one.send([removed([1], { group: 2 })])
    expect(one.worker.counters.dropped).toEqual({ non_main_attention_kind: 1, unlearned_group_idx: 1 })
    one.send([removed([1])])
    expect(one.held([1])).toEqual([])
  })
})

describe('one restart counts once', () => {
  it.each([
    ['the sequence', (one: TestWorker) => one.sendAs(0, [store([9])]), 'sequence'],
    ['the registration', (one: TestWorker) => one.worker.register('b', 0), 'registration'],
    ['the start time', (one: TestWorker) => one.worker.processStarted(2, 0), 'process_start'],
  ])('whoever is first: %s', (_, notice, cause) => {
    const { one, second } = pair()
    one.sendAs(1, [store([4], 2)])
    one.worker.register('a', 0)
    one.worker.processStarted(1, 0)
    notice(one)
    one.worker.register('b', 0)
    one.worker.processStarted(2, 0)
    if (cause !== 'sequence') one.sendAs(0, [store([9])])
    second.sequence.live(liveFrames(0, batch([store([8])], 1)), 0)
    while (second.step(1000, 0));
    expect(one.incarnations).toEqual([`1 ${cause}`])
    expect([one.held([9]), one.held([8], 1)]).toEqual([[9], [8]])
    expect(one.worker.reports.map(({ state }) => state)).toEqual(['live', 'live'])
  })

  it('and the next one again', () => {
    const { one } = pair()
    one.worker.register('a', 0)
    one.worker.register('b', 0)
    one.worker.register('c', 0)
    expect(one.incarnations).toEqual(['1 registration', '2 registration'])
  })
})

describe('the same process after an outage is proved by', () => {
  it('a sequence that goes on, for every socket of the worker', () => {
    const { one, second, heldByAll } = pair()
    one.worker.outageBegan()
    one.worker.outageEnded(0)
    one.sendAs(1, [store([4], 2)])
    second.sequence.live(liveFrames(3, batch([store([8])], 1)), 0)
    while (second.step(1000, 0));
    one.worker.advance(5000)
    expect(one.incarnations).toEqual([])
    expect(heldByAll()[0]).toEqual([1, 2])
    expect(one.held([1, 8], 1)).toEqual([8])
  })

  it('an unchanged start time', () => {
    const { one, heldByAll } = pair()
    one.worker.processStarted(1, 0)
    one.worker.outageBegan()
    one.worker.outageEnded(0)
    one.worker.processStarted(1, 10)
    one.worker.advance(5000)
    one.sendAs(1, [])
    expect(one.incarnations).toEqual([])
    expect(heldByAll().flat()).toHaveLength(6)
  })
})

describe('a worker with a replay socket', () => {
  it('asks anew for every rank after a restart that one socket noticed', () => {
    const { one, second } = pair(true)
    one.sendAs(1, [])
    one.requests.length = 0
    one.sendAs(0, [store([9])])
    expect(one.requests).toEqual([0n])
    second.sequence.reply(1, liveFrames(0, batch([store([8])], 1)), 0)
    second.sequence.reply(1, terminatorFrames, 0)
    while (second.step(1000, 0));
    expect([one.held([9]), one.held([8], 1)]).toEqual([[9], [8]])
    expect(one.worker.reports.map(({ state }) => state)).toEqual(['live', 'live'])
  })
})

describe('sockets', () => {
  it('one a rank', () => {
    const one = new TestWorker()
    const again = () => one.socket({ socketRank: 0, hasReplay: false })
    expect(again).toThrow(expect.objectContaining({ code: 'KV_INDEX_SOCKET_DUPLICATE' }))
    expect(again).toThrow(KvIndexError)
    one.worker.removeSocket(0)
    expect(again).not.toThrow()
  })

  it('a gap drops the ranks that the socket has fed, and no other', () => {
    const { one } = pair()
    one.sendAs(5, [store([9])])
    expect([one.held([1, 2, 9]), one.held([1, 2], 1)]).toEqual([[9], [1, 2]])
    expect(one.worker.reports.map(({ state, causes }) => [state, ...causes])).toEqual([
      ['rebuilding', 'index_rebuilding'],
      ['live'],
    ])
    expect(one.send([cleared]).worker.reports[0]!.state).toBe('live')
  })

  it('one that goes on from a dump drops what it holds at a gap', () => {
    const one = new TestWorker()
    one.send([store([1])])
    one.worker.removeSocket(0)
    const start = { cursor: 7n, isComplete: true, dpRanks: [0] }
    const next = new TestWorker({ index: one.index }, { start })
    expect(next.worker.reports).toMatchObject([{ state: 'live', cursor: 7n }])
    next.sendAs(9, [store([2])])
    expect(next.held([1, 2])).toEqual([2])
  })

  it('a worker that leaves takes all with it', () => {
    const { one, heldByAll } = pair()
    one.worker.close()
    expect(heldByAll().flat()).toEqual([])
    expect(one.worker.reports).toEqual([])
  })
})

describe('what is told of batches', () => {
  it('when the engine made each that just came; those of a replay and those that are none are only counted', () => {
    const made: number[] = []
    const one = new TestWorker({ onApplied: (ts) => made.push(ts) }, { hasReplay: true })
    one.feed.sequence.connected(0)
    one.feed.sequence.reply(1, liveFrames(0, batch([store([1])])), 0)
    one.feed.sequence.reply(1, terminatorFrames, 0)
    one.run()
    expect([one.held([1]), made]).toEqual([[1], []])
    one.sendAs(1, [store([2])])
    expect(made).toEqual([1700000000.5])
    one.feed.sequence.live(liveFrames(2, Uint8Array.of(0xc1)), 0)
    one.feed.sequence.live(liveFrames(3, batch([store([3])])), 0)
    one.run()
    const [report] = one.worker.reports
    expect(made).toHaveLength(1)
    expect([report!.remembered, report!.references]).toEqual([0, 0])
    expect(report).toMatchObject({
      waiting: 2,
      counters: { batches: 2, undecodable: 1, gaps: 1, replays: { filled: 1 } },
    })
  })

  it('how much their events taught, and how many blocks are stored more than once', () => {
    const one = new TestWorker().send([
      store([1, 2]),
      store([1, 2]),
      stored({ hashes: [7], group: 1, kind: 'mamba' }),
    ])
    expect(one.worker.reports).toMatchObject([{ remembered: 1, references: 2 }])
    one.send([removed([1])])
    expect(one.worker.reports).toMatchObject([{ remembered: 1, references: 1 }])
  })
})
