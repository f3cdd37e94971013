import { describe, expect, it } from 'vitest'
import {
  MachineLog,
  liveFrames,
  payloadOf,
  sequenceFrame,
  startedAt,
  terminatorFrames,
} from './support/machine-log.js'

const withReplay = { hasReplay: true }

describe('the first batch', () => {
  it('at 0 makes the rank complete', () => {
    const one = new MachineLog()
    expect(one.machine.state).toBe('connecting')
    expect(one.connect().live(0, 1).take()).toEqual(['0', '1'])
    expect(one.machine).toMatchObject({ state: 'live', causes: [], cursor: 1n })
  })

  it('above 0 without a replay socket starts empty', () => {
    const one = new MachineLog()
    expect(one.connect().live(41, 42).take()).toEqual(['41', '42'])
    expect(one.machine).toMatchObject({ state: 'rebuilding', causes: ['index_started_empty'], cursor: 42n })
    expect(one.machine.counters).toMatchObject({ gaps: 0, missing: 0 })
  })

  it('above 0 with a replay socket asks from 0, also without a word of the connection', () => {
    const one = new MachineLog(withReplay)
    expect(one.live(2).take()).toEqual(['request 0'])
    expect(one.machine.state).toBe('recovering')
    expect(one.reply(0, 1, 2).take()).toEqual([])
    expect(one.terminator().take()).toEqual(['0', '1', '2'])
    expect(one.machine.state).toBe('live')
  })
})

describe('connecting with a replay socket', () => {
  it('asks from 0 and keeps what comes meanwhile', () => {
    const one = new MachineLog(withReplay)
    expect(one.connect().live(3, 4).take()).toEqual(['request 0'])
    expect(one.reply(0, 1, 2).terminator().take()).toEqual(['0', '1', '2', '3', '4'])
    expect(one.machine).toMatchObject({ state: 'live', counters: { replays: { filled: 1 } } })
  })

  it('with an empty answer is complete, without a cursor', () => {
    const one = new MachineLog(withReplay)
    expect(one.connect().terminator().take()).toEqual(['request 0'])
    expect(one.machine).toMatchObject({ state: 'live', cursor: undefined })
    expect(one.live(0).take()).toEqual(['0'])
    expect(one.machine.state).toBe('live')
  })

  it('with a truncated answer starts empty', () => {
    const one = new MachineLog(withReplay)
    expect(one.connect().live(42).reply(30, 41).take()).toEqual(['request 0'])
    expect(one.terminator().take()).toEqual(['30', 'drop 0', '41', '42'])
    const other = new MachineLog(withReplay)
    expect(other.connect().reply(40, 41).terminator().live(42).take()).toEqual([
      'request 0',
      '40',
      '41',
      '42',
    ])
    expect(other.machine).toMatchObject({ state: 'rebuilding', causes: ['index_started_empty'] })
    expect(other.machine.counters).toMatchObject({ replays: { truncated: 1 }, missing: 0 })
  })

  it('after an answer that never comes is not asked again for the same batches', () => {
    const one = new MachineLog(withReplay)
    one.connect().later(5000)
    expect(one.machine).toMatchObject({ state: 'rebuilding', causes: ['index_started_empty'] })
    expect(one.live(42, 43).take()).toEqual(['request 0', '42', '43'])
    expect(one.live(45).take()).toEqual(['request 44'])
  })
})

describe('a gap', () => {
  it('E2: from 5 to 7 makes exactly one request and loses no buffered batch', () => {
    const one = startedAt(5, withReplay)
    expect(one.live(7, 8, 9).take()).toEqual(['request 6'])
    expect(one.reply(6, 7, 8).live(10).terminator().take()).toEqual(['6', '7', '8', '9', '10'])
    expect(one.machine).toMatchObject({ state: 'live', cursor: 10n })
    expect(one.machine.counters).toMatchObject({ gaps: 1, missing: 0, replays: { filled: 1 } })
  })

  it('without a replay socket drops the rank', () => {
    const one = startedAt(5)
    expect(one.live(7, 8).take()).toEqual(['drop 0', '7', '8'])
    expect(one.machine).toMatchObject({ state: 'rebuilding', causes: ['index_rebuilding'] })
    expect(one.machine.counters).toMatchObject({ gaps: 1, missing: 1 })
  })

  it('that the answer does not cover drops the rank and applies what there is', () => {
    const one = startedAt(5, withReplay)
    expect(one.live(100).reply(98, 99).terminator().take()).toEqual([
      'request 6',
      'drop 0',
      '98',
      '99',
      '100',
    ])
    expect(one.machine).toMatchObject({ state: 'rebuilding', causes: ['index_rebuilding'] })
    expect(one.machine.counters).toMatchObject({ missing: 92, replays: { truncated: 1 } })
  })

  it('whose answer stays away for 5 s drops the rank', () => {
    const one = startedAt(5, withReplay)
    one.live(8).reply(6)
    expect(one.machine.nextDeadlineMs()).toBe(one.nowMs + 5000)
    expect(one.later(4999).take()).toEqual(['request 6'])
    expect(one.later(1).take()).toEqual(['drop 0', '6', '8'])
    expect(one.terminator().reply(7).take()).toEqual([])
    expect(one.machine).toMatchObject({ state: 'rebuilding', counters: { replays: { timeout: 1 } } })
  })

  it.each([
    ['a terminator alone', []],
    ['replies that end too early', [6, 7]],
  ])('after %s is never asked for again', (_, replies) => {
    const one = startedAt(5, withReplay)
    const applied = replies.map(String)
    expect(
      one
        .live(9)
        .reply(...replies)
        .terminator()
        .live(10)
        .take(),
    ).toEqual(['request 6', 'drop 0', ...applied, '9', '10'])
    expect(one.machine.state).toBe('rebuilding')
  })

  it('behind a gap in the buffer is a gap of its own', () => {
    const one = startedAt(5, withReplay)
    expect(one.live(7, 10).reply(6, 7).terminator().take()).toEqual(['request 6', '6', '7', 'request 8'])
    expect(one.reply(8, 9, 10).terminator().take()).toEqual(['8', '9', '10'])
    expect(one.machine).toMatchObject({ state: 'live', counters: { gaps: 2 } })
  })

  it.each([
    ['batches', { maxBufferedBatches: 2 }],
    ['bytes', { maxBufferedBytes: 2 * payloadOf(7).length }],
  ])('that meets too many %s is given up', (_, limits) => {
    const one = startedAt(5, { ...withReplay, ...limits })
    expect(one.live(8, 9).reply(6).take()).toEqual(['request 6'])
    expect(one.live(10).take()).toEqual(['drop 0', '6', '8', '9', '10'])
    expect(one.machine.state).toBe('rebuilding')
  })

  it('with more replies than are kept applies them as they come', () => {
    const one = startedAt(5, { ...withReplay, maxBufferedBatches: 3 })
    expect(one.live(12).reply(6, 7).take()).toEqual(['request 6'])
    for (const sequence of [8, 9]) one.machine.reply(one.requestId, liveFrames(sequence), one.nowMs)
    expect(one.machine.isSaturated).toBe(true)
    one.later(5000)
    expect(one.machine.state).toBe('recovering')
    expect(one.reply(10, 11).terminator().take()).toEqual(['6', '7', '8', '9', '10', '11', '12'])
    expect(one.machine.state).toBe('live')
  })

  it('found in the middle of a long answer from 0 is not forgotten at its end', () => {
    const one = new MachineLog({ ...withReplay, maxBufferedBatches: 1 })
    expect(one.connect().reply(0, 2, 3).terminator().take()).toEqual(['request 0', '0', 'drop 0', '2', '3'])
    expect(one.machine).toMatchObject({
      state: 'rebuilding',
      counters: { missing: 1, replays: { truncated: 1 } },
    })
  })

  it('is followed with sequences above 2^53', () => {
    const start = 2n ** 63n
    const one = new MachineLog({ ...withReplay, start: { cursor: start, isComplete: true, dpRanks: [0] } })
    expect(one.live(start + 1n, start + 3n).take()).toEqual([`${start + 1n}`, `request ${start + 2n}`])
    expect(
      one
        .reply(start + 2n)
        .terminator()
        .take(),
    ).toEqual([`${start + 2n}`, `${start + 3n}`])
    expect(one.machine.cursor).toBe(start + 3n)
  })
})

describe('late copies of replayed batches', () => {
  it('are skipped for 5 s after the terminator', () => {
    const one = startedAt(5, withReplay)
    one.live(7).reply(6, 7, 8, 9).terminator().take()
    one.nowMs += 4999
    expect(one.live(8, 9, 10).take()).toEqual(['10'])
    expect(one.machine.counters).toMatchObject({ lateCopies: 3, restarts: 0 })
  })

  it('are a restart afterwards', () => {
    const one = new MachineLog(withReplay)
    one.connect().reply(0, 1, 2, 3, 4).terminator().take()
    one.nowMs += 5000
    expect(one.live(3).take()).toEqual(['restarted', 'request 0'])
    expect(one.reply(0, 1, 2, 3).terminator().live(4).take()).toEqual(['0', '1', '2', '3', '4'])
    expect(one.machine.state).toBe('live')
  })

  it('are not what goes back behind the live socket', () => {
    const one = startedAt(5, withReplay)
    one.live(7).reply(6, 7, 8, 9).terminator().take()
    expect(one.live(0, 1).take()).toEqual(['restarted', '0', '1'])
    expect(one.machine.state).toBe('live')
  })
})

describe('a sequence that goes back', () => {
  it.each([50, 3, 0])('to %i is another process', (sequence) => {
    const one = startedAt(50)
    expect(one.live(sequence).take()).toEqual(['restarted', `${sequence}`])
    expect(one.machine).toMatchObject({ state: sequence === 0 ? 'live' : 'rebuilding' })
    expect(one.machine.counters.restarts).toBe(1)
  })

  it('during a replay makes that answer void', () => {
    const one = startedAt(5, withReplay)
    one.live(7).reply(6)
    const old = one.requestId
    expect(one.live(2).take()).toEqual(['request 6', 'restarted', 'request 0'])
    one.machine.reply(old, liveFrames(7), one.nowMs)
    one.machine.reply(old, terminatorFrames, one.nowMs)
    expect(one.run().take()).toEqual([])
    expect(one.reply(0, 1, 2).terminator().take()).toEqual(['0', '1', '2'])
    expect(one.machine.state).toBe('live')
  })

  it('lets what is in hand go', () => {
    const one = startedAt(5)
    one.machine.live(liveFrames(6), 0)
    expect(one.machine.next(0)?.sequence).toBe(6n)
    one.live(0)
    one.machine.settle({ isBatch: true, dpRank: 0, isCleared: false }, 0)
    expect(one.machine.cursor).toBe(0n)
  })
})

describe('a payload that is no batch', () => {
  it('is asked for again', () => {
    const one = startedAt(5, withReplay)
    expect(one.bad(6).live(7).take()).toEqual(['request 6'])
    expect(one.reply(6, 7).terminator().take()).toEqual(['6', '7'])
    expect(one.machine).toMatchObject({ state: 'live', counters: { undecodable: 1, lateCopies: 2 } })
  })

  it('is gone without a replay socket', () => {
    const one = startedAt(5)
    expect(one.bad(6).live(7).take()).toEqual(['drop 0', '7'])
    expect(one.machine).toMatchObject({ state: 'rebuilding', counters: { restarts: 0 } })
  })

  it('is gone when it is replayed like that', () => {
    const one = startedAt(5, withReplay)
    expect(one.bad(6).badReply(6).terminator().take()).toEqual(['request 6', 'drop 0'])
    expect(one.machine).toMatchObject({ state: 'rebuilding', cursor: 6n })
    expect(one.live(7).take()).toEqual(['7'])
  })

  it.each([[[]], [[7]]])('is gone when the answer is %j', (replies) => {
    const one = startedAt(5, withReplay)
    one
      .bad(6)
      .live(8)
      .reply(...replies)
      .terminator()
    expect(one.machine.state).toBe(replies.length > 0 ? 'rebuilding' : 'recovering')
    const drops = one.take().filter((line) => line.startsWith('drop'))
    expect(drops).toEqual(['drop 0'])
    expect(one.machine.counters.restarts).toBe(0)
  })

  it('in the answer gives way to the copy of the live socket', () => {
    const one = startedAt(5, withReplay)
    expect(one.live(7, 8).reply(6).badReply(7).reply(8).terminator().take()).toEqual([
      'request 6',
      '6',
      '7',
      '8',
    ])
    expect(one.machine.state).toBe('live')
  })

  it('at 0 leaves the rank incomplete', () => {
    const one = new MachineLog()
    expect(one.bad(0).live(1).take()).toEqual(['1'])
    expect(one.machine).toMatchObject({ state: 'rebuilding', causes: ['index_started_empty'] })
  })
})

describe('a rebuilding rank is live again', () => {
  it('when it was cleared', () => {
    const one = startedAt(50, {}, false)
    expect(one.machine.state).toBe('rebuilding')
    expect(one.cleared(51).take()).toEqual(['51'])
    expect(one.machine).toMatchObject({ state: 'live', causes: [] })
  })

  it('when every rank of the socket was cleared', () => {
    const one = new MachineLog({ start: { cursor: 5n, isComplete: false, dpRanks: [0, 1] } })
    expect(one.cleared(6).machine.state).toBe('rebuilding')
    one.machine.live(liveFrames(7), one.nowMs)
    one.machine.next(one.nowMs)
    one.machine.settle({ isBatch: true, dpRank: 1, isCleared: true }, one.nowMs)
    expect(one.machine.state).toBe('live')
  })

  it('after 600 s without a gap', () => {
    const one = new MachineLog()
    one.live(41)
    one.nowMs += 300_000
    one.live(43)
    expect(one.machine.nextDeadlineMs()).toBe(one.nowMs + 600_000)
    expect(one.later(599_999).machine.state).toBe('rebuilding')
    expect(one.later(1).machine.state).toBe('live')
    expect(one.machine.nextDeadlineMs()).toBe(Infinity)
  })
})

describe('frames', () => {
  it.each([
    ['bad_frame_count', [sequenceFrame(0), payloadOf(0)]],
    ['bad_frame_count', []],
    ['bad_sequence', [new Uint8Array(0), new Uint8Array(4), payloadOf(0)]],
    ['bad_sequence', [new Uint8Array(0), sequenceFrame(2n ** 64n - 1n), payloadOf(0)]],
  ] as const)('%s: dropped, the sequence unread', (reason, frames) => {
    const one = startedAt(5)
    expect(
      one
        .message([...frames])
        .live(6)
        .take(),
    ).toEqual(['6'])
    expect(one.machine.counters.badFrames[reason]).toBe(1)
  })

  it('a reply may carry the topic; others of another count are dropped', () => {
    const one = startedAt(5, withReplay)
    one.live(8)
    const topic = new Uint8Array([107])
    for (const frames of [
      [new Uint8Array(0), topic, sequenceFrame(6), payloadOf(6)],
      [sequenceFrame(7), payloadOf(7)],
      [new Uint8Array(0), new Uint8Array(3), payloadOf(7)],
      [new Uint8Array(0), topic, sequenceFrame(7), payloadOf(7)],
      [new Uint8Array(0), topic, sequenceFrame(2n ** 64n - 1n), new Uint8Array(0)],
    ])
      one.machine.reply(one.requestId, frames, one.nowMs)
    expect(one.run().take()).toEqual(['request 6', '6', '7', '8'])
    expect(one.machine.counters.badFrames).toEqual({ bad_frame_count: 1, bad_sequence: 1 })
  })

  it('replies that repeat, go back or lie below the request are skipped', () => {
    const one = startedAt(5, withReplay)
    expect(one.live(9).reply(3, 6, 7, 7, 6, 8, 6).terminator().take()).toEqual([
      'request 6',
      '6',
      '7',
      '8',
      '9',
    ])
  })
})
