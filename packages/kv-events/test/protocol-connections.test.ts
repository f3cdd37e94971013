import { describe, expect, it } from 'vitest'
import { liveFrames, type MachineLog, startedAt } from './support/machine-log.js'

const withReplay = { hasReplay: true }

describe('a connection that breaks', () => {
  it('claims nothing until the sequence goes on', () => {
    const one = startedAt(5)
    one.machine.connectionLost(one.nowMs)
    expect(one.machine.state).toBe('connecting')
    expect(one.connect().machine.state).toBe('connecting')
    expect(one.live(6).take()).toEqual(['6'])
    expect(one.machine.state).toBe('live')
  })

  it('asks for what it may have missed', () => {
    const one = startedAt(5, withReplay)
    one.machine.connectionLost(one.nowMs)
    expect(one.connect().reply(6, 7).terminator().live(7, 8).take()).toEqual(['request 6', '6', '7', '8'])
    expect(one.machine.counters.lateCopies).toBe(1)
  })

  it('makes late copies of what was heard over the old connection', () => {
    const one = startedAt(5, withReplay)
    one.live(7).machine.connectionLost(one.nowMs)
    one.connect().reply(6, 7, 8).terminator()
    expect(one.live(7, 8, 9).take()).toEqual(['request 6', 'request 6', '6', '7', '8', '9'])
    expect(one.machine.counters).toMatchObject({ restarts: 0, lateCopies: 3 })
  })

  it('makes no copies of what was replayed over the one before: what goes back is a restart at once', () => {
    const one = startedAt(5, withReplay)
    one.live(8).reply(6, 7).terminator().machine.connectionLost(one.nowMs)
    expect(one.connect().live(7).terminator().take()).toEqual([
      'request 6',
      '6',
      '7',
      '8',
      'request 9',
      'restarted',
      'request 0',
    ])
    expect(one.machine.counters).toMatchObject({ restarts: 1, lateCopies: 0 })
  })

  it('during a replay starts the request again, and only its answer counts', () => {
    const one = startedAt(5, withReplay)
    one.live(8)
    const old = one.requestId
    one.machine.connectionLost(one.nowMs)
    one.connect()
    one.requestId = old
    expect(one.reply(6, 7).terminator().take()).toEqual(['request 6', 'request 6'])
    one.requestId = old + 1
    expect(one.reply(6, 7).terminator().take()).toEqual(['6', '7', '8'])
  })

  it('three times in a row has failed, until it is there again', () => {
    const one = startedAt(5)
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(one.machine.state).not.toBe('failed')
      one.machine.connectionLost(one.nowMs)
    }
    expect(one.machine).toMatchObject({ state: 'failed', causes: ['kv_events_disconnected'] })
    expect(one.connect().live(6).machine).toMatchObject({ state: 'live', causes: [] })
  })

  it('without a replay socket and with a batch below the cursor afterwards is a restart', () => {
    const one = startedAt(50)
    one.machine.connectionLost(one.nowMs)
    expect(one.connect().live(3).take()).toEqual(['restarted', '3'])
  })
})

describe('a replay socket that fails', () => {
  function failed(): MachineLog {
    const one = startedAt(5, withReplay)
    for (const sequence of [7, 9, 11]) one.live(sequence).later(5000)
    return one
  }

  it('three times in a row is tried for ever with longer and longer pauses, live batches are applied meanwhile', () => {
    const one = failed()
    expect(one.machine.state).toBe('failed')
    expect(one.machine.causes).toEqual(['kv_events_disconnected', 'index_rebuilding'])
    one.take()
    expect(one.later(1999).take()).toEqual([])
    expect(one.later(1).live(12, 13).take()).toEqual(['request 12', '12', '13'])
    const pauses: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      one.later(5000)
      pauses.push(one.machine.nextDeadlineMs() - one.nowMs)
      one.later(pauses.at(-1)!)
      expect(one.take()).toEqual(['request 14'])
    }
    expect(pauses).toEqual([4000, 8000, 16_000, 30_000, 30_000, 30_000])
  })

  it('is back when it answers, and nothing of that answer is applied', () => {
    const one = failed()
    one.later(2000).live(12).take()
    expect(one.reply(12, 13).terminator().take()).toEqual([])
    expect(one.machine).toMatchObject({ state: 'rebuilding', cursor: 12n })
    expect(one.live(14).take()).toEqual(['request 13'])
  })

  it('by refusing connections counts each attempt', () => {
    const one = startedAt(5, withReplay)
    one.live(7)
    for (let attempt = 0; attempt < 3; attempt++) one.machine.replayConnectionLost(one.requestId, one.nowMs)
    expect(one.machine.state).toBe('failed')
    expect(one.reply(6).terminator().machine.state).toBe('live')
    one.machine.replayConnectionLost(one.requestId, one.nowMs)
    expect(one.machine.state).toBe('live')
  })
})

describe('after an outage', () => {
  it('what was asked before is asked again, however long it took', () => {
    const one = startedAt(5, withReplay)
    one.live(7).machine.connectionLost(one.nowMs)
    one.machine.suspect()
    expect(one.later(60_000).connect().live(8).take()).toEqual(['request 6', 'same', 'request 6'])
    expect(one.reply(6, 7).terminator().take()).toEqual(['6', '7', '8'])
    expect(one.machine).toMatchObject({ state: 'live', counters: { replays: { timeout: 0 } } })
  })

  it('a sequence that goes on proves the same process', () => {
    const one = startedAt(5, withReplay)
    one.machine.connectionLost(one.nowMs)
    one.machine.suspect()
    expect(one.connect().take()).toEqual([])
    expect(one.live(6, 7).take()).toEqual(['same', '6', '7'])
    expect(one.machine.state).toBe('live')
  })

  it.each([8, 5, 0])('a sequence of %i is another process', (sequence) => {
    const one = startedAt(5)
    one.machine.suspect()
    expect(one.live(sequence).take()).toEqual(['restarted', `${sequence}`])
  })

  it('a proof from elsewhere asks for what was missed', () => {
    const one = startedAt(5, withReplay)
    one.machine.connectionLost(one.nowMs)
    one.machine.suspect()
    one.connect()
    one.machine.proveSame(one.nowMs)
    expect(one.reply(6, 7).terminator().live(8).take()).toEqual(['request 6', '6', '7', '8'])
  })
})

describe('a new incarnation that somebody else noticed', () => {
  it('asks from 0, and forgets what waits', () => {
    const one = startedAt(5, withReplay)
    one.live(8)
    const old = one.requestId
    one.take()
    one.machine.reset(one.nowMs)
    expect(one.requestId).toBe(old + 1)
    expect(one.reply(0, 1).terminator().live(2).take()).toEqual(['request 0', '0', '1', '2'])
    expect(one.machine).toMatchObject({ state: 'live', counters: { restarts: 0 } })
  })

  it('waits for the connection', () => {
    const one = startedAt(5, withReplay)
    one.machine.connectionLost(one.nowMs)
    one.machine.reset(one.nowMs)
    expect(one.take()).toEqual([])
    expect(one.connect().take()).toEqual(['request 0'])
  })

  it('without a replay socket takes 0 as a first batch, not as one more restart', () => {
    const one = startedAt(5)
    one.machine.reset(one.nowMs)
    expect(one.machine.state).toBe('connecting')
    expect(one.live(0).take()).toEqual(['0'])
    expect(one.machine.state).toBe('live')
  })
})

it('batches that nobody takes are refused at the limit, and make a gap', () => {
  const one = startedAt(5, { maxBufferedBatches: 2 })
  for (const sequence of [6, 7, 8, 9]) one.machine.live(liveFrames(sequence), 0)
  expect(one.machine.counters.overflowed).toBe(2)
  expect(one.run().live(10).take()).toEqual(['6', '7', 'drop 0', '10'])
})
