import { afterEach, describe, expect, it } from 'vitest'
import { dumpJson } from '../../src/selection-api/selection-answers.js'
import { until } from '../until.js'
import { TestEngine, storedBatch } from './engine.js'
import { type TestFleet, everybody, promptOf, testFleet } from './support.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

function fleetWith(...options: Parameters<typeof testFleet>): TestFleet {
  const one = testFleet(options[0] ?? {}, options[1])
  closing.push(() => one.fleet.dispose())
  return one
}

async function engineAt(endpoint?: string): Promise<{ engine: TestEngine; url: string }> {
  const engine = new TestEngine()
  const url = await engine.start(endpoint)
  closing.push(() => engine.stop())
  return { engine, url }
}

const known = ({ fleet }: TestFleet) =>
  fleet
    .overlaps(everybody, { prompt: promptOf('abcd') })
    .ranks.map(({ isKnown, deviceBlocks }) => (isKnown ? deviceBlocks : 'unknown'))

async function followed(one: TestFleet, engine: TestEngine, blocks: number): Promise<void> {
  await until('subscribed', () => engine.subscriptions > 0)
  await engine.publish(0, storedBatch('abcd'.slice(0, blocks)))
  await until('applied', () => known(one)[0] === blocks)
}

describe('what engines tell', () => {
  it('is unknown before the first event; the address of an only rank is its own, whatever its number', async () => {
    const one = fleetWith()
    const { engine, url } = await engineAt()
    one.add(1, { kvEventsEndpoint: url, dataParallelStartRank: 3 })
    expect(known(one)).toEqual(['unknown'])
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.publish(0, storedBatch('ab'))
    await until('applied', () => known(one)[0] === 2)
    expect(one.select('abcd')).toMatchObject({ dpRank: 3, cachedTokens: 8 })
  })

  it('E6, U31: a restarted engine begins with nothing, neither blocks nor bookings', async () => {
    const one = fleetWith()
    const { engine, url } = await engineAt()
    one.add(1, { kvEventsEndpoint: url })
    await followed(one, engine, 4)
    one.reserve('r', 'abcd')
    await engine.publish(0, storedBatch('a'))
    await until('restarted', () => one.requests()['1.0'] === 0)
    await until('applied', () => known(one)[0] === 1)
    expect(one.fleet.free('r')).toBe(false)
    expect(one.warnings).toEqual([expect.objectContaining({ code: 'worker_restarted', workerId: 1n })])
    expect(one.fleet.partitions[0]!.router.ledger.audit()).toEqual([])
  })

  it('stays while its address does, and is unknown at another', async () => {
    const one = fleetWith()
    const [first, second] = [await engineAt(), await engineAt()]
    one.add(1, { kvEventsEndpoint: first.url })
    await followed(one, first.engine, 3)
    one.reserve('r', 'abcd')
    one.fleet.workers.patch(1n, { endpoint: 'http://new', totalKvBlocks: 9 })
    expect(known(one)).toEqual([3])
    one.fleet.workers.patch(1n, { kvEventsEndpoint: second.url })
    expect([known(one), one.requests()]).toEqual([['unknown'], { '1.0': 1 }])
    await followed(one, second.engine, 2)
    expect(one.fleet.free('r')).toBe(true)
  })

  it('U4: of another block size is not stored, and warned of once', async () => {
    const one = fleetWith()
    const { engine, url } = await engineAt()
    one.add(1, { kvEventsEndpoint: url })
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.publish(0, storedBatch('abcd', 8))
    await engine.publish(1, storedBatch('abcd', 8))
    await engine.publish(2, storedBatch('a'))
    await until('applied', () => known(one)[0] === 1)
    expect(one.warnings).toEqual([expect.objectContaining({ code: 'block_size_mismatch', dpRank: 0 })])
  })

  it('is known as a lower bound from the start where bookings are predicted', () => {
    const one = fleetWith({ core: { predictedTtlMs: 1000 } })
    one.add(1, { kvEventsEndpoint: 'tcp://127.0.0.1:49152', incarnationId: 'a' })
    expect(known(one)).toEqual([0])
    one.reserve('r', 'ab')
    expect(known(one)).toEqual([2])
    one.add(1, { kvEventsEndpoint: 'tcp://127.0.0.1:49152', incarnationId: 'b' })
    expect(known(one)).toEqual([0])
    one.clock.ms = 2000
    one.reserve('s', 'ab')
    one.clock.ms = 3001
    expect(known(one)).toEqual([0])
  })
})

describe('what engines tell of ranks that no record has', () => {
  it('is shown and dumped, and nothing is selected there; a record that has them begins anew', async () => {
    const one = fleetWith()
    const { engine, url } = await engineAt()
    one.add(2, { kvEventsEndpoint: 'tcp://127.0.0.1:49152' })
    one.add(1, { kvEventsEndpoint: url })
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.publish(0, storedBatch('abcd', 4, 7))
    await engine.publish(1, storedBatch('ab'))
    await until('applied', () => known(one)[0] === 2)
    expect([one.cached('abcd'), one.cached('x')]).toEqual([
      { '1.0': 2, '1.7': 4, '2.0': 0 },
      { '1.0': 0, '2.0': 0 },
    ])
    expect(Object.keys(one.cached('abcd'))).toEqual(['1.0', '1.7', '2.0'])
    expect(one.select('abcd')).toMatchObject({ dpRank: 0, bestOverlap: { dpRank: 0, blocks: 2 } })
    expect(one.requests()).toEqual({ '1.0': 0, '2.0': 0 })
    expect(one.fleet.workers.record(1n)!.link!.events.counters.unknownRank).toBe(1)
    const [partition] = one.fleet.partitions
    expect([partition!.strays.size, partition!.strays.blocks]).toEqual([1, 4])
    const { events } = dumpJson(partition!) as { events: { event: { dp_rank: number; event_id: number } }[] }
    expect(events.map(({ event }) => [event.dp_rank, event.event_id])).toEqual([
      [0, 0],
      [7, 0],
    ])

    const silent = Array.from({ length: 7 }, (_, at) => [at + 1, 'tcp://127.0.0.1:49152'] as const)
    one.fleet.workers.patch(1n, { dataParallelSize: 8, kvEventsEndpoints: new Map(silent) })
    expect([one.cached('abcd')['1.7'], partition!.strays.dump()]).toEqual([0, []])
    one.fleet.workers.patch(1n, { dataParallelSize: 1, kvEventsEndpoints: new Map() })
    expect(one.cached('abcd')).toEqual({ '1.0': 2, '2.0': 0 })
    await engine.publish(2, storedBatch('abc', 4, 7))
    await until('shown again', () => one.cached('abcd')['1.7'] === 3)
    const other = await engineAt()
    one.fleet.workers.patch(1n, { kvEventsEndpoint: other.url })
    expect(one.cached('abcd')).toEqual({ '1.0': 0, '2.0': 0 })
    await until('subscribed', () => other.engine.subscriptions === 1)
    await other.engine.publish(0, storedBatch('a', 4, 7))
    await until('shown once more', () => one.cached('abcd')['1.7'] === 1)
    one.fleet.workers.remove(1n)
    expect([one.cached('abcd'), partition!.strays.dump()]).toEqual([{ '2.0': 0 }, []])
  })

  it('is limited', () => {
    const { fleet, add } = fleetWith({ usesKvEvents: false })
    add(1)
    const { strays } = fleet.partitions[0]!
    const slots = Array.from({ length: 1025 }, (_, rank) => strays.slotOf(1n, rank))
    expect([new Set(slots).size, slots[1024]]).toEqual([1025, undefined])
    expect(strays.slotOf(1n, 5)).toBe(slots[5])
    strays.forget(1n, 5)
    expect(strays.slotOf(2n, 1)).toBe(slots[5])
  })
})

describe('host names in event addresses', () => {
  const port = (url: string) => url.slice(url.lastIndexOf(':') + 1)

  it('are resolved, judged, and connected to at the address that was judged', async () => {
    const { engine, url } = await engineAt()
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return ['127.0.0.1']
    }
    const one = fleetWith({ allowedHosts: ['engines.test', '127.0.0.0/8'] }, { resolve })
    one.add(1, { kvEventsEndpoint: `tcp://Engines.test:${port(url)}` })
    await followed(one, engine, 2)
    expect(asked).toEqual(['engines.test'])
  })

  it.each([
    ['that lead to metadata', async () => ['169.254.169.254']],
    ['of which one address may not be', async () => ['127.0.0.1', '10.0.0.1']],
    ['without address', async () => []],
    ['that nobody resolves', async () => Promise.reject(new Error('no such host'))],
  ])('%s make the record incomplete', async (_what, resolve) => {
    const one = fleetWith({ allowedHosts: ['127.0.0.0/8'] }, { resolve })
    expect(one.add(1, { kvEventsEndpoint: 'tcp://somewhere.test:5557' }).lifecycle).toBe('schedulable')
    await until('refused', () => one.fleet.workers.get(1n)!.lifecycle === 'incomplete')
    expect(one.fleet.workers.get(1n)!.reasons).toHaveLength(1)
  })

  it('that nobody resolved are looked up again', async () => {
    const { engine, url } = await engineAt()
    const asked: string[] = []
    const resolve = async (name: string) => (asked.push(name) < 3 ? [] : ['127.0.0.1'])
    const one = fleetWith({ allowedHosts: ['late.test', '127.0.0.0/8'] }, { resolve })
    one.add(1, { kvEventsEndpoint: `tcp://late.test:${port(url)}` })
    const lifecycle = () => one.fleet.workers.get(1n)!.lifecycle
    for (const times of [1, 2]) {
      await until('refused', () => lifecycle() === 'incomplete')
      one.clock.ms += 4999
      one.fleet.tick()
      expect([lifecycle(), asked]).toEqual(['incomplete', Array.from({ length: times }, () => 'late.test')])
      one.clock.ms += 1
      one.fleet.tick()
      expect(lifecycle()).toBe('schedulable')
    }
    await followed(one, engine, 2)
    expect(lifecycle()).toBe('schedulable')
  })
})
