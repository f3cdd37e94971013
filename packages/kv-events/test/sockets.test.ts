import type { PrefixIndex } from '@router/kv-index'
import { afterEach, describe, expect, it } from 'vitest'
import type { WorkerEvents } from '../src/pipeline/index.js'
import { endpointOfRank, type EventSocket } from '../src/zeromq/index.js'
import { batch, stored } from './support/events.js'
import { numbered, SocketWorker } from './support/socket-worker.js'
import { pause, TestEngine, until, isTaken } from './support/test-engine.js'
import { store } from './support/worker.js'

const closing: { close?: () => Promise<void>; stop?: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0)) await (one.close?.() ?? one.stop?.())
})

function opened<T extends SocketWorker | TestEngine>(one: T): T {
  closing.unshift(one)
  return one
}

/** An engine that keeps and publishes `numbered` batches up to a sequence. */
async function publish(engine: TestEngine, from: number, to: number): Promise<void> {
  for (let sequence = from; sequence <= to; sequence++) {
    engine.kept.set(BigInt(sequence), numbered(sequence))
    await engine.publish(sequence, numbered(sequence))
  }
}

const upTo = (last: number, first = 0) =>
  Array.from({ length: last - first + 1 }, (_, index) => `${first + index}`)

describe('a subscriber that joins late', () => {
  it('starts empty without a replay socket', async () => {
    const engine = opened(new TestEngine())
    const { events } = await engine.start()
    await publish(engine, 0, 5)
    const one = opened(new SocketWorker())
    one.open({ endpoint: events })
    await until('subscribed', () => engine.subscriptions === 1)
    await publish(engine, 6, 8)
    await until('applied', () => one.log.length === 3)
    expect(one.log).toEqual(['6', '7', '8'])
    expect(one.worker.reports).toMatchObject([{ state: 'rebuilding', causes: ['index_started_empty'] }])
  })

  it.each([false, true])(
    'gets all of it from the replay socket, with the topic in replies: %s',
    async (withTopic) => {
      const engine = opened(new TestEngine())
      engine.repliesWithTopic = withTopic
      const { events, replay } = await engine.start()
      await publish(engine, 0, 5)
      const one = opened(new SocketWorker())
      one.open({ endpoint: events, replayEndpoint: replay })
      await until('subscribed', () => engine.subscriptions === 1)
      await publish(engine, 6, 8)
      await until('complete', () => one.log.length === 9 && one.state === 'live')
      expect(one.log).toEqual(upTo(8))
      expect(engine.requests).toEqual([0n])
    },
  )

  it('takes thousands of batches without keeping others from their turn', async () => {
    const engine = opened(new TestEngine())
    const { events, replay } = await engine.start()
    for (let sequence = 0; sequence < 3000; sequence++) engine.kept.set(BigInt(sequence), numbered(sequence))
    let turns = 0
    let isRunning = true
    const turn = (): void => {
      turns++
      if (isRunning) setImmediate(turn)
    }
    const one = opened(new SocketWorker())
    one.open({ endpoint: events, replayEndpoint: replay })
    turn()
    await until('complete', () => one.log.length === 3000)
    isRunning = false
    expect(one.log).toEqual(upTo(2999))
    expect(turns).toBeGreaterThan(20)
    await until('live', () => one.state === 'live')
  })
})

describe('E6: an engine that restarts at the same address', () => {
  it.each([false, true])('starts with nothing, with a replay socket: %s', async (hasReplay) => {
    const engine = new TestEngine()
    const endpoints = await engine.start()
    const one = opened(new SocketWorker())
    one.open({ endpoint: endpoints.events, replayEndpoint: hasReplay ? endpoints.replay : undefined })
    await until('subscribed', () => engine.subscriptions === 1)
    await publish(engine, 0, 3)
    await until('applied', () => one.log.length === 4)
    await engine.stop()
    await until('noticed', () => one.state === 'connecting')
    const next = opened(new TestEngine())
    await next.start(endpoints)
    await until('subscribed again', () => next.subscriptions === 1)
    await publish(next, 0, 1)
    await until(
      'applied',
      () => one.log.at(-1) === '1' && one.state === 'live',
      () => [one.log, one.worker.reports, one.incarnations, next.subscriptions],
    )
    expect(one.log).toEqual([...upTo(3), 'drop', '0', '1'])
    expect(one.incarnations).toEqual(['1 sequence'])
    expect(one.index.sizeOf(0)).toBe(2)
  })
})

describe('an engine that is not there', () => {
  it('has failed after three attempts, and is found when it comes', async () => {
    const probe = new TestEngine()
    const endpoints = await probe.start()
    await probe.stop()
    const one = opened(new SocketWorker())
    one.open({ endpoint: endpoints.events, replayEndpoint: endpoints.replay })
    await until('failed', () => one.state === 'failed')
    expect(one.worker.reports[0]!.causes).toEqual(['kv_events_disconnected'])
    const engine = opened(new TestEngine())
    await engine.start(endpoints)
    await until('subscribed', () => engine.subscriptions === 1)
    await publish(engine, 0, 1)
    await until('live', () => one.state === 'live' && one.log.length === 2)
    expect(one.log).toEqual(['0', '1'])
    expect(one.incarnations).toEqual([])
  })
})

describe('where sockets meet', () => {
  it('the engine connects when we bind', async () => {
    const probe = new TestEngine()
    const { events } = await probe.start()
    const one = opened(new SocketWorker())
    one.open({ endpoint: events, bind: true })
    await until('the address is taken', () => one.state === 'connecting')
    await pause(20)
    await probe.stop()
    await until('the address is free', async () => !(await isTaken(events)))
    await until('the address is ours', () => isTaken(events))
    const engine = opened(new TestEngine())
    engine.connect(events)
    const seen = () => [one.log, one.worker.reports, one.incarnations, engine.subscriptions]
    await until('subscribed', () => engine.subscriptions === 1, seen)
    await publish(engine, 0, 1)
    await until('live', () => one.state === 'live', seen)
    await until('applied', () => one.log.length === 2, seen)
  })

  it('each rank has a socket of its own, at the next port', async () => {
    const one = opened(new SocketWorker())
    const first = opened(new TestEngine())
    const second = opened(new TestEngine())
    const { events } = await first.start()
    await second.start({ events: endpointOfRank(events, 1) })
    for (const socketRank of [0, 1]) one.open({ endpoint: events, socketRank })
    await until('subscribed', () => first.subscriptions + second.subscriptions === 2)
    await first.publish(0, batch([store([1])]))
    await second.publish(0, batch([store([2, 3])]))
    await until('live', () => one.worker.reports.every(({ state }) => state === 'live'))
    expect([one.index.sizeOf(0), one.index.sizeOf(1)]).toEqual([1, 2])
  })

  it('inside one process a name is enough', async () => {
    const engine = opened(new TestEngine())
    const { events, replay } = await engine.start({
      events: 'inproc://kv-events-test_dp2',
      replay: 'inproc://kv-replay-test_dp2',
    })
    const one = opened(new SocketWorker())
    one.open({
      socketRank: 2,
      endpoint: events.replace('_dp2', ''),
      replayEndpoint: replay.replace('_dp2', ''),
    })
    await until('subscribed', () => engine.subscriptions === 1)
    await publish(engine, 0, 1)
    await until('live', () => one.state === 'live' && one.index.sizeOf(2) === 2)
  })

  it('only the configured topic is taken', async () => {
    const engine = opened(new TestEngine({ topic: 'kv@a' }))
    const { events } = await engine.start()
    const one = opened(new SocketWorker())
    one.open({ endpoint: events, topic: 'kv@a' })
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.send([Buffer.from('other'), Buffer.alloc(8, 7), numbered(7)])
    await publish(engine, 0, 1)
    await until('live', () => one.log.length === 2)
    expect(one.log).toEqual(['0', '1'])
  })
})

describe('messages that are none', () => {
  it('are dropped and counted, and the next one is taken', async () => {
    const engine = opened(new TestEngine())
    const { events } = await engine.start()
    const one = opened(new SocketWorker())
    one.open({ endpoint: events })
    await until('subscribed', () => engine.subscriptions === 1)
    await publish(engine, 0, 0)
    await engine.send([Buffer.alloc(8), numbered(1)])
    await engine.send([Buffer.alloc(0), Buffer.alloc(3), numbered(1)])
    await publish(engine, 1, 1)
    await until('applied', () => one.log.length === 2)
    expect(one.state).toBe('live')
  })
})

describe('the example of the README', () => {
  interface Example {
    readonly index: PrefixIndex
    readonly worker: WorkerEvents
    readonly notes: readonly string[]
    readonly follow: (endpoint: string, replayEndpoint: string) => EventSocket[]
  }

  it('follows two ranks and tells what happens', async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    const { follow, index, worker, notes } = (await import('./fixtures/follow-worker.js')) as Example
    const first = opened(new TestEngine())
    const second = opened(new TestEngine())
    const { events, replay } = await first.start()
    await second.start({ events: endpointOfRank(events, 1), replay: endpointOfRank(replay, 1) })
    const sockets = follow(events, replay)
    await until('live', () => worker.reports.every(({ state }) => state === 'live'))
    const tokens = Array.from({ length: 16 }, (_, token) => token)
    await first.publish(0, batch([stored({ hashes: [1], tokens, blockSize: 16 })]))
    await first.publish(1, batch([stored({ hashes: [2], parent: 1 })]))
    await second.publish(0, batch([stored({ hashes: [1], tokens, blockSize: 16 })]))
    await until('applied', () => index.sizeOf(0) + index.sizeOf(1) === 2 && notes.length === 1)
    await first.publish(0, batch([]))
    await until('wiped', () => index.currentSize === 0)
    expect(notes).toEqual(['rank 0: block_size_mismatch', 'another process (sequence): the index is wiped'])
    for (const socket of sockets) await socket.close()
  })
})

describe('endpoints', () => {
  it.each([
    ['tcp://10.0.0.1:5557', 3, 'tcp://10.0.0.1:5560'],
    ['tcp://*:5557', 1, 'tcp://*:5558'],
    ['tcp://[::1]:5557', 1, 'tcp://[::1]:5558'],
    ['inproc://events', 0, 'inproc://events'],
    ['inproc://events', 2, 'inproc://events_dp2'],
    ['ipc:///run/events', 0, 'ipc:///run/events'],
  ])('%s of rank %i is %s', (endpoint, rank, expected) => {
    expect(endpointOfRank(endpoint, rank)).toBe(expected)
  })

  it.each([
    ['tcp://10.0.0.1', 0],
    ['tcp://10.0.0.1:65535', 1],
    ['tcp://10.0.0.1:0', 0],
    ['ipc:///run/events', 1],
    ['http://10.0.0.1:80', 0],
    ['inproc://', 0],
    ['', 0],
  ])('%s of rank %i is refused', (endpoint, rank) => {
    const invalid = expect.objectContaining({
      code: 'KV_INDEX_ENDPOINT_INVALID',
      details: { endpoint, rank },
    })
    expect(() => endpointOfRank(endpoint, rank)).toThrow(invalid)
    const one = new SocketWorker()
    expect(() => one.open({ endpoint, socketRank: rank })).toThrow(invalid)
    expect(one.worker.reports).toEqual([])
  })

  it('one that ZeroMQ refuses leaves no socket behind', () => {
    const one = new SocketWorker()
    expect(() => one.open({ endpoint: 'tcp://no host:1' })).toThrow(
      expect.objectContaining({ code: 'KV_INDEX_ENDPOINT_INVALID' }),
    )
    expect(one.worker.reports).toEqual([])
  })
})

it.each([true, false])('closing while the address is taken: %s', async (isTaken) => {
  const engine = opened(new TestEngine())
  const { events } = await engine.start()
  const socket = new SocketWorker().open({ endpoint: isTaken ? events : 'tcp://127.0.0.1:49187', bind: true })
  await socket.close()
})

it('a socket that is closed stays quiet, and its address is free', async () => {
  const engine = opened(new TestEngine())
  const { events, replay } = await engine.start()
  engine.isSilent = true
  const one = new SocketWorker()
  const socket = one.open({ endpoint: events, replayEndpoint: replay })
  await until('asked', () => engine.requests.length === 1)
  await Promise.all([socket.close(), socket.close()])
  expect(one.worker.reports).toEqual([])
  await publish(engine, 0, 1)
  await pause(50)
  expect(one.log).toEqual([])
})

it('a rank that moves has its new socket at once, at an address of its own', async () => {
  const [old, next] = [opened(new TestEngine()), opened(new TestEngine())]
  const [from, to] = [(await old.start()).events, (await next.start()).events]
  const one = new SocketWorker()
  const socket = one.open({ endpoint: from, socketRank: 1, endpointOffset: 0 })
  await until('subscribed', () => old.subscriptions === 1)
  const ended = socket.close()
  const other = one.open({ endpoint: to, socketRank: 1, endpointOffset: 0 })
  await ended
  expect(one.worker.reports).toMatchObject([{ socketRank: 1 }])
  await until('subscribed', () => next.subscriptions === 1)
  await next.publish(0, numbered(0))
  await until('applied', () => one.index.sizeOf(1) === 1)
  await other.close()
})
