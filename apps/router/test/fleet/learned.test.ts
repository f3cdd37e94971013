import { describe, expect, it } from 'vitest'
import type { EngineFacts } from '../../src/fleet/engine-facts.js'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'
import { until } from '../until.js'
import { TestEngine, storedBatch } from './engine.js'
import { testFleet } from './support.js'

const url = 'http://127.0.0.1:8001'
const facts: EngineFacts = {
  models: [{ id: 'llama' }, { id: 'sql', parent: 'llama', root: '/adapters/sql' }],
  blockSize: 16,
  totalKvBlocks: 900,
}

/** A fleet whose workers come from flags, with a URL at least. */
function learningFleet() {
  const { fleet, clock, warnings } = testFleet({ learnsFacts: true, usesKvEvents: false })
  const add = (id: number, more: Partial<WorkerRegistration> = {}) =>
    fleet.workers.upsert({ workerId: BigInt(id), endpoint: url, ...more }, 'trusted')
  return { fleet, clock, warnings, add, workers: fleet.workers }
}

describe('what an engine tells fills in what a record leaves out', () => {
  it('a worker with a URL only is incomplete until its engine was asked', () => {
    const { add, workers } = learningFleet()
    expect(add(1)).toMatchObject({ lifecycle: 'incomplete', provenance: {} })
    expect(workers.get(1n)!.reasons).toHaveLength(2)
    expect(workers.learn(1n, facts)).toMatchObject({
      lifecycle: 'schedulable',
      registration: { modelName: 'llama', blockSize: 16, totalKvBlocks: 900 },
      provenance: { modelName: 'learned', blockSize: 'learned', totalKvBlocks: 'learned' },
    })
  })

  it('never what the record says itself, and ranks and sockets as a whole', () => {
    const { add, workers } = learningFleet()
    add(1, { modelName: 'mine', blockSize: 32, dataParallelStartRank: 2 })
    const told = { ...facts, dataParallelStartRank: 0, dataParallelSize: 4 }
    expect(workers.learn(1n, told).registration).toMatchObject({
      modelName: 'mine',
      blockSize: 32,
      dataParallelStartRank: 2,
      totalKvBlocks: 900,
    })
    expect(workers.get(1n)!.registration.dataParallelSize).toBeUndefined()
    add(2, { kvEventsEndpoints: new Map([[0, 'tcp://127.0.0.1:5']]) })
    const sockets = { kvEventsEndpoint: 'tcp://127.0.0.1:6', replayEndpoint: 'tcp://127.0.0.1:7' }
    const { kvEventsEndpoint, replayEndpoint } = workers.learn(2n, { ...facts, ...sockets }).registration
    expect([kvEventsEndpoint, replayEndpoint]).toEqual([undefined, undefined])
    add(3)
    expect(workers.learn(3n, { ...facts, ...sockets }).registration).toMatchObject(sockets)
  })

  it('what is learned again takes the place of what was learned, a patch that of both', () => {
    const { add, workers } = learningFleet()
    add(1)
    workers.learn(1n, facts)
    expect(workers.learn(1n, { ...facts, totalKvBlocks: 50 }).registration.totalKvBlocks).toBe(50)
    const patched = workers.patch(1n, { totalKvBlocks: 7 })
    expect([patched.registration.totalKvBlocks, patched.provenance.totalKvBlocks]).toEqual([7, undefined])
    expect(workers.learn(1n, facts).registration.totalKvBlocks).toBe(7)
  })

  it('another URL is another engine: what the one before told is forgotten', () => {
    const { add, workers } = learningFleet()
    add(1)
    workers.learn(1n, facts)
    expect(add(1).lifecycle).toBe('schedulable')
    expect(add(1, { endpoint: 'http://127.0.0.1:8002' }).lifecycle).toBe('incomplete')
  })

  it('an API worker must say its block size, and may leave out its capacity', () => {
    const { workers } = learningFleet()
    const record = { workerId: 1n, modelName: 'llama', endpoint: url }
    workers.upsert(record, 'api')
    expect(workers.learn(1n, facts)).toMatchObject({
      lifecycle: 'incomplete',
      registration: { totalKvBlocks: 900 },
      reasons: ['block_size is missing, or 0'],
    })
  })

  it('the URL of an API worker must be one of the allowed hosts; that of the selection listener is not looked at', () => {
    const { workers } = learningFleet()
    const record = { workerId: 1n, modelName: 'm', blockSize: 16 }
    for (const endpoint of [
      'http://10.1.2.3:80',
      'http://169.254.169.254/',
      'ftp://127.0.0.1',
      'http://0x0a010203:80',
      'x',
    ])
      expect(workers.upsert({ ...record, endpoint }, 'api').lifecycle, endpoint).toBe('incomplete')
    for (const endpoint of [url, 'http://localhost:9/base', 'https://[::1]:8443'])
      expect(workers.upsert({ ...record, endpoint }, 'api').lifecycle, endpoint).toBe('schedulable')
    expect(workers.upsert({ ...record, endpoint: 'x' }, 'selection').lifecycle).toBe('schedulable')
  })
})

describe('an assumed block size', () => {
  const silent: EngineFacts = { models: [{ id: 'llama' }] }
  const blockSizes = (workers: ReturnType<typeof learningFleet>['workers']) =>
    workers.list().map(({ registration, lifecycle }) => [registration.blockSize, lifecycle])

  it('is 64, and marked', () => {
    const { add, workers, fleet } = learningFleet()
    add(1)
    expect(workers.learn(1n, silent)).toMatchObject({
      lifecycle: 'schedulable',
      provenance: { blockSize: 'assumed' },
    })
    expect(fleet.partitions.map(({ shape }) => shape)).toEqual([
      { blockSize: 64, isEagle: false, isAssumed: true },
    ])
  })

  it('fixes nothing: the first one that is known replaces it, and the index starts empty', () => {
    const { add, workers, fleet } = learningFleet()
    add(1)
    workers.learn(1n, silent)
    const [before] = fleet.partitions
    add(2)
    workers.learn(2n, facts)
    expect(blockSizes(workers)).toEqual([
      [16, 'schedulable'],
      [16, 'schedulable'],
    ])
    const [after] = fleet.partitions
    expect(after).not.toBe(before)
    expect(after!.shape).toMatchObject({ blockSize: 16, isAssumed: false })
    expect(workers.get(1n)!.provenance.blockSize).toBe('assumed')
    // From now on it is fixed.
    add(3)
    expect(workers.learn(3n, { ...facts, blockSize: 32 }).lifecycle).toBe('incomplete')
  })

  it('is that of its partition where there is one', () => {
    const { add, workers } = learningFleet()
    add(1)
    workers.learn(1n, facts)
    add(2)
    workers.learn(2n, silent)
    expect(blockSizes(workers).map(([blockSize]) => blockSize)).toEqual([16, 16])
  })

  it('that proves right is kept with everything that was booked', () => {
    const { add, workers, fleet } = learningFleet()
    add(1)
    workers.learn(1n, silent)
    const [before] = fleet.partitions
    workers.learn(1n, { ...silent, blockSize: 64 })
    expect(fleet.partitions[0]).toBe(before)
    expect(before!.shape.isAssumed).toBe(false)
  })
})

describe('an assumed block size and events', () => {
  const silent: EngineFacts = { models: [{ id: 'llama' }] }

  async function assumingFleet(codes: string[] = []) {
    const { fleet } = testFleet(
      { learnsFacts: true },
      { onWarning: ({ code, message }) => codes.push(`${code} ${message}`) },
    )
    const engine = new TestEngine()
    const kvEventsEndpoint = await engine.start()
    const add = (id: number) => {
      const workerId = BigInt(id)
      const more = id === 1 ? { kvEventsEndpoint } : {}
      fleet.workers.upsert({ workerId, endpoint: url, ...more }, 'trusted')
      return fleet.workers.learn(workerId, silent)
    }
    expect(add(1).registration.blockSize).toBe(64)
    const isKnown = () => fleet.workers.get(1n)!.provenance.blockSize === 'learned'
    await until('subscribed', () => engine.subscriptions === 1)
    return { fleet, engine, add, isKnown }
  }

  it('the first event that has another one replaces it, for every worker of the partition', async () => {
    const warnings: string[] = []
    const { fleet, engine, add, isKnown } = await assumingFleet(warnings)
    add(2)
    await engine.publish(0, storedBatch('ab'))
    await until('told', isKnown)
    const sizes = fleet.workers.list().map(({ registration }) => registration.blockSize)
    expect([sizes, fleet.partitions.map(({ shape }) => shape)]).toEqual([
      [4, 4],
      [{ blockSize: 4, isEagle: false, isAssumed: false }],
    ])
    expect(warnings).toEqual([])
    // The socket is a new one; whatever its engine says of other sizes changes nothing any more.
    await until('subscribed again', () => engine.subscriptions === 2)
    await engine.publish(1, storedBatch('ab'))
    await engine.publish(2, storedBatch('cd', 8))
    await until('warned', () => warnings.length > 0)
    expect(fleet.partitions[0]!.router.index.currentSize).toBe(2)
    expect(warnings).toEqual([expect.stringMatching(/^block_size_mismatch .*8 in place of 4$/)])
    expect(fleet.workers.learn(1n, silent).registration.blockSize).toBe(4)
    fleet.dispose()
    await engine.stop()
  })

  it('events of the very same prove it right', async () => {
    const { fleet, engine, isKnown } = await assumingFleet()
    const [before] = fleet.partitions
    await engine.publish(0, storedBatch('abcdefghijklmnop', 64))
    const stored = () =>
      fleet.workers.eventCounters(1n)!.stored.ok + fleet.workers.eventCounters(1n)!.shortTokens
    await until('stored', () => stored() > 0)
    expect(isKnown()).toBe(false)
    fleet.tick()
    expect(isKnown()).toBe(true)
    expect(fleet.partitions[0]).toBe(before)
    expect(before!.shape.isAssumed).toBe(false)
    fleet.dispose()
    await engine.stop()
  })
})

describe('lives of an engine without events (E6)', () => {
  it('another start time is another process, the same one is not', () => {
    const { add, workers, warnings } = learningFleet()
    add(1)
    workers.learn(1n, facts)
    const restarts: bigint[] = []
    const stop = workers.listen({ onRestart: (workerId) => restarts.push(workerId) })
    for (const seconds of [100, 100]) workers.processStarted(1n, seconds)
    expect(restarts).toEqual([])
    workers.processStarted(1n, 200)
    expect(restarts).toEqual([1n])
    expect(warnings.map(({ code }) => code)).toEqual(['worker_restarted'])
    stop()
    workers.processStarted(1n, 300)
    expect(restarts).toHaveLength(1)
  })

  it('an outage is one too, unless something proves the contrary within 5 s', () => {
    const { add, workers, clock, fleet } = learningFleet()
    add(1)
    workers.learn(1n, facts)
    workers.processStarted(1n, 100)
    const restarts: bigint[] = []
    workers.listen({ onRestart: (workerId) => restarts.push(workerId) })
    const outage = (startSeconds?: number) => {
      workers.setOutage(1n, true)
      workers.setOutage(1n, false)
      if (startSeconds !== undefined) workers.processStarted(1n, startSeconds)
      clock.ms += 5000
      fleet.tick()
    }
    outage(100)
    expect(restarts).toEqual([])
    outage()
    expect(restarts).toEqual([1n])
  })
})

it('whoever listens hears of workers that come, change and go', () => {
  const { add, workers, clock, fleet } = learningFleet()
  const heard: string[] = []
  workers.listen({
    onUpsert: ({ registration, lifecycle }) => heard.push(`${registration.workerId} ${lifecycle}`),
    onRemove: (workerId) => heard.push(`${workerId} gone`),
  })
  add(1)
  add(1, { modelName: 'm', blockSize: 16 })
  workers.drain(1n)
  fleet.tick()
  expect(heard).toEqual(['1 incomplete', '1 schedulable', '1 gone'])
  expect(clock.ms).toBe(0)
})
