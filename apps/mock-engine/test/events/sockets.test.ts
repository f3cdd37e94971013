import { describe, expect, it } from 'vitest'
import { EventLog, keptBatches } from '../../src/events/event-log.js'
import { RankPublisher } from '../../src/events/rank-publisher.js'
import { run, served, tokens } from '../engine/support/served.js'
import { codeAfter } from '../support/codes.js'
import { LiveSubscriber, replayed, until } from './support/subscriber.js'

const [live, replay] = ['tcp://127.0.0.1:0', 'tcp://127.0.0.1:0']
const terminator = 2n ** 64n - 1n

describe('the live socket', () => {
  it('tells what is stored and evicted, in batches that follow each other', async () => {
    const engine = await served({ blocksPerRank: 6, events: { endpoint: live, topic: 'kv' } })
    const subscriber = new LiveSubscriber(engine.eventSockets[0]!.endpoint, 'kv')
    const start = await subscriber.joined(engine)
    await run(engine, { promptTokens: tokens(10), outputTokens: tokens(7, 500) })
    await until(() => subscriber.events(start).length === 3)
    const all = [...tokens(10), ...tokens(7, 500)]
    const [first, second, third] = subscriber.events(start)
    expect(first).toEqual([
      'BlockStored',
      [expect.any(BigInt), expect.any(BigInt)],
      null,
      all.slice(0, 8),
      4,
      null,
      'GPU',
      null,
      [null, null],
    ])
    const [, [a, b]] = first as [string, [bigint, bigint]]
    expect(second).toEqual([
      'BlockStored',
      [expect.any(BigInt)],
      b,
      all.slice(8, 12),
      4,
      null,
      'GPU',
      null,
      [null],
    ])
    const [, [c]] = second as [string, [bigint]]
    expect(third).toEqual([
      'BlockStored',
      [expect.any(BigInt)],
      c,
      all.slice(12, 16),
      4,
      null,
      'GPU',
      null,
      [null],
    ])
    const [, [d]] = third as [string, [bigint]]
    expect(new Set([a, b, c, d]).size).toBe(4)
    // Another prompt takes four blocks: the last ones of the first go.
    await run(engine, { promptTokens: tokens(16, 7), outputTokens: tokens(1) })
    await until(() => subscriber.events(start).length === 6)
    expect(subscriber.events(start).slice(3)).toEqual([
      ['BlockRemoved', [d], 'GPU'],
      ['BlockRemoved', [c], 'GPU'],
      [
        'BlockStored',
        [expect.any(BigInt), expect.any(BigInt), expect.any(BigInt), expect.any(BigInt)],
        null,
        [...tokens(16, 7)],
        4,
        null,
        'GPU',
        null,
        [null, null, null, null],
      ],
    ])
    const { received } = subscriber
    expect(received.map(({ sequence }) => sequence)).toEqual(
      received.map((_, index) => received[0]!.sequence + BigInt(index)),
    )
    for (const { topic, batch } of received)
      expect([topic, typeof batch![0], batch![2]]).toEqual(['kv', 'number', 0])
    expect(received[0]!.batch![1]).toEqual([['AllBlocksCleared']])
  })

  it('speaks as SGLang', async () => {
    const engine = await served({ flavour: 'sglang', events: { endpoint: live } })
    const subscriber = new LiveSubscriber(engine.eventSockets[0]!.endpoint)
    const start = await subscriber.joined(engine)
    await run(engine, {})
    await until(() => subscriber.events(start).length >= 3)
    const [first, second] = subscriber.events(start)
    expect(first).toEqual(['BlockStored', [expect.any(BigInt)], null, [0, 1, 2, 3], 4, null, 'GPU'])
    expect(second).toEqual([
      'BlockStored',
      [expect.any(BigInt)],
      (first![1] as bigint[])[0],
      [4, 5, 6, 7],
      4,
      null,
      'GPU',
    ])
  })

  it('is one a rank, each with numbers of its own', async () => {
    const engine = await served({ ranks: 3, events: { endpoint: live } })
    const subscribers = engine.eventSockets.map(({ endpoint }) => new LiveSubscriber(endpoint))
    expect(new Set(engine.eventSockets.map(({ endpoint }) => endpoint)).size).toBe(3)
    for (const [rank, subscriber] of subscribers.entries()) await subscriber.joined(engine, rank)
    for (const [rank, subscriber] of subscribers.entries()) {
      const start = engine.facts()[rank]!.eventBatches
      await run(engine, { rank, promptTokens: tokens(8, rank) })
      await until(() => subscriber.events(start).length > 0)
      const { batch, sequence } = subscriber.received.at(-1)!
      expect([batch![2], Number(sequence)]).toEqual([rank, start])
      expect(subscriber.events(start)[0]![3]).toEqual([...tokens(8, rank)])
    }
  })

  it('has a name of its own for each rank inside one process', async () => {
    const engine = await served({ ranks: 2, events: { endpoint: 'inproc://mock-events' } })
    expect(engine.eventSockets).toEqual([
      { rank: 0, endpoint: 'inproc://mock-events', replayEndpoint: undefined },
      { rank: 1, endpoint: 'inproc://mock-events_dp1', replayEndpoint: undefined },
    ])
    const subscriber = new LiveSubscriber('inproc://mock-events_dp1')
    const start = await subscriber.joined(engine, 1)
    await run(engine, { rank: 1 })
    await until(() => subscriber.events(start).length > 0)
  })

  it('connects to a router that binds', async () => {
    const subscriber = new LiveSubscriber()
    await subscriber.socket.bind('tcp://127.0.0.1:*')
    const engine = await served({ events: { endpoint: subscriber.socket.lastEndpoint! } })
    expect(engine.eventSockets[0]!.endpoint).toBe(subscriber.socket.lastEndpoint)
    const start = await subscriber.joined(engine)
    await run(engine, {})
    await until(() => subscriber.events(start).length > 0)
  })

  it('may call blocks by their digests', async () => {
    const engine = await served({ events: { endpoint: live, replayEndpoint: replay, hashes: 'bytes' } })
    await run(engine, {})
    const [first] = await replayed(engine.eventSockets[0]!.replayEndpoint!, 0n)
    const [event] = first!.batch![1] as [[string, Uint8Array[]]]
    expect(event[1].map(({ length }) => length)).toEqual([32, 32])
  })
})

describe('the replay socket', () => {
  it('gives every batch from a number on, then a terminator', async () => {
    const engine = await served({ ranks: 2, events: { endpoint: live, replayEndpoint: replay } })
    for (const salt of ['a', 'b', 'c'])
      await run(engine, { rank: 1, cacheSalt: salt, outputTokens: tokens(1) })
    const endpoint = engine.eventSockets[1]!.replayEndpoint!
    const all = await replayed(endpoint, 0n)
    expect(all.map(({ sequence }) => sequence)).toEqual([0n, 1n, 2n, terminator])
    expect(all.map(({ batch }) => (batch?.[1][0]?.[8] as unknown[])?.[0])).toEqual([
      ['a'],
      ['b'],
      ['c'],
      undefined,
    ])
    expect((await replayed(endpoint, 2n)).map(({ sequence }) => sequence)).toEqual([2n, terminator])
    for (const beyond of [3n, 2n ** 63n, terminator])
      expect((await replayed(endpoint, beyond)).map(({ sequence }) => sequence)).toEqual([terminator])
    expect(await replayed(engine.eventSockets[0]!.replayEndpoint!, 0n)).toHaveLength(1)
  })

  it('keeps so many batches and no more', async () => {
    const publisher = new RankPublisher(
      0,
      { flavour: 'vllm', hashes: 'u64' },
      { endpoint: live, replayEndpoint: replay },
    )
    await publisher.open({ endpoint: live, isBound: true, replayEndpoint: replay })
    try {
      for (let batch = 0; batch < keptBatches + 5; batch++) publisher.publish([{ kind: 'cleared' }])
      const replies = await replayed(publisher.sockets.replayEndpoint!, 2n)
      expect([replies.length, replies[0]!.sequence, replies.at(-2)!.sequence]).toEqual([
        keptBatches + 1,
        5n,
        BigInt(keptBatches + 4),
      ])
      expect(publisher.batches).toBe(keptBatches + 5)
    } finally {
      await publisher.close()
    }
  })

  it('may be closed at any moment of an answer; what is told to closed sockets is lost', async () => {
    for (const pauseMs of [0, 1, 2, 4, 8]) {
      const publisher = new RankPublisher(
        0,
        { flavour: 'vllm', hashes: 'u64' },
        { endpoint: live, replayEndpoint: replay },
      )
      await publisher.open({ endpoint: live, isBound: true, replayEndpoint: replay })
      for (let batch = 0; batch < 2000; batch++) publisher.publish([{ kind: 'cleared' }])
      const { sockets } = publisher
      const gone = [replayed(sockets.replayEndpoint!, 0n), replayed(sockets.replayEndpoint!, 0n)]
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const closed = publisher.close()
      publisher.publish([{ kind: 'cleared' }])
      await closed
      publisher.publish([{ kind: 'cleared' }])
      for (const asked of gone) asked.catch(() => undefined)
    }
  })
})

it('a batch that is not kept any more, or not yet, is none', () => {
  const log = new EventLog()
  const payload = (batch: number): Uint8Array => Uint8Array.of(batch & 255)
  for (let batch = 0; batch <= keptBatches; batch++) expect(log.add(payload(batch))).toBe(batch)
  expect([0, 1, keptBatches, keptBatches + 1].map((sequence) => log.get(sequence))).toEqual([
    undefined,
    payload(1),
    payload(keptBatches),
    undefined,
  ])
})

describe('faults of the events', () => {
  const lost = async (lossSeed: number): Promise<{ kept: bigint[]; all: number; suppressed: number }> => {
    const engine = await served({ events: { endpoint: live, replayEndpoint: replay, lossSeed } })
    const subscriber = new LiveSubscriber(engine.eventSockets[0]!.endpoint)
    const start = await subscriber.joined(engine)
    engine.setEventFault({ lossFraction: 0.5 })
    for (let batch = 0; batch < 40; batch++) engine.resetPrefixCache()
    engine.setEventFault({})
    engine.resetPrefixCache()
    const all = start + 41
    await until(() => Number(subscriber.received.at(-1)!.sequence) === all - 1)
    expect(await replayed(engine.eventSockets[0]!.replayEndpoint!, 0n)).toHaveLength(all + 1)
    const kept = subscriber.received.map(({ sequence }) => sequence - BigInt(start)).filter((at) => at >= 0n)
    return { kept, all: 41, suppressed: engine.facts()[0]!.suppressedEventBatches }
  }

  it('a share is lost, always the same, and the replay socket has it', async () => {
    const [first, same, other] = [await lost(5), await lost(5), await lost(6)]
    expect(first.suppressed).toBe(first.all - first.kept.length)
    expect(first.suppressed).toBeGreaterThan(10)
    expect(first.suppressed).toBeLessThan(30)
    expect(same).toEqual(first)
    expect(other.kept).not.toEqual(first.kept)
  })

  it('silence', async () => {
    const engine = await served({ events: { endpoint: live } })
    const subscriber = new LiveSubscriber(engine.eventSockets[0]!.endpoint)
    await subscriber.joined(engine)
    engine.setEventFault({ silent: true })
    await run(engine, {})
    await engine.restart()
    await run(engine, {})
    const { eventBatches, suppressedEventBatches } = engine.facts()[0]!
    expect([eventBatches, suppressedEventBatches > 0]).toEqual([0, true])
    engine.setEventFault({})
    // A new incarnation: its numbers began at 0, and those of the silence are gone.
    await subscriber.joined(engine)
    expect(subscriber.received.at(-1)!.sequence).toBeGreaterThanOrEqual(suppressedEventBatches)
    expect(subscriber.events().flat()).not.toContain('BlockStored')
  })

  it.each([-0.1, 1.1, Number.NaN])('a share of %d is refused', async (lossFraction) => {
    const engine = await served()
    expect(await codeAfter(() => engine.setEventFault({ lossFraction }))).toBe('MOCK_ENGINE_OPTION_INVALID')
  })
})

describe('a restart', () => {
  it('begins anew at the same ports, and a subscriber finds it again', async () => {
    const engine = await served({ ranks: 2, events: { endpoint: live, replayEndpoint: replay } })
    const sockets = engine.eventSockets
    const subscriber = new LiveSubscriber(sockets[0]!.endpoint)
    await subscriber.joined(engine)
    await run(engine, { rank: 0 })
    await engine.restart({ blockSize: 5 })
    expect(engine.eventSockets).toEqual(sockets)
    expect(await replayed(sockets[0]!.replayEndpoint!, 0n)).toHaveLength(1)
    await run(engine, { rank: 0 })
    const [first] = await replayed(sockets[0]!.replayEndpoint!, 0n)
    expect([first!.sequence, first!.batch![1][0]![4]]).toEqual([0n, 5])
    await subscriber.joined(engine)
  })
})

describe('an endpoint that cannot be had', () => {
  it('by one rank stops them all', async () => {
    await served({ events: { endpoint: 'inproc://taken_dp1' } })
    const events = { endpoint: 'inproc://taken' }
    expect(await codeAfter(() => served({ ranks: 2, events }))).toBe('MOCK_ENGINE_ENDPOINT_INVALID')
    expect((await served({ events })).eventSockets).toHaveLength(1)
  })

  it('stops the start, and frees the others', async () => {
    const first = await served({ events: { endpoint: live } })
    const taken = new URL(first.eventSockets[0]!.endpoint.replace('tcp:', 'http:')).port
    const own = await served({ events: { endpoint: live } })
    const { endpoint } = own.eventSockets[0]!
    await own.close()
    const events = {
      endpoint: endpoint.replace('127.0.0.1', '*'),
      replayEndpoint: `tcp://127.0.0.1:${taken}`,
    }
    expect(await codeAfter(() => served({ events }))).toBe('MOCK_ENGINE_ENDPOINT_INVALID')
    const again = await served({ events: { endpoint: events.endpoint } })
    expect(again.eventSockets[0]!.endpoint).toBe(endpoint)
  })

  it.each([
    { endpoint: 'tcp://*:99999' },
    { endpoint: 'http://x' },
    { endpoint: 'ipc:///nowhere/at/all/x' },
    { endpoint: 'tcp://not a host:5557' },
    { endpoint: live, replayEndpoint: 'x' },
  ])('%o', async (events) => {
    expect(await codeAfter(() => served({ events }))).toBe('MOCK_ENGINE_ENDPOINT_INVALID')
  })

  it('an option of events that cannot be', async () => {
    for (const rest of [{ hashes: 'u32' as never }, { lossSeed: 0.5 }])
      expect(await codeAfter(() => served({ events: { endpoint: live, ...rest } }))).toBe(
        'MOCK_ENGINE_OPTION_INVALID',
      )
  })
})
