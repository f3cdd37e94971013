import { createServer } from 'node:net'
import { type MockEngine, type MockEngineOptions, startMockEngine } from 'router-mock-engine'
import { afterEach, describe, expect, it } from 'vitest'
import { EndpointRules, loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import type { FleetSettings } from '../../src/fleet/fleet-settings.js'
import { engineClient } from '../../src/workers/engine-client.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { processTimers } from '../../src/workers/timers.js'
import { WorkerKeeper } from '../../src/workers/worker-keeper.js'
import { testFleet } from '../fleet/support.js'
import { until } from '../until.js'

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close()
})

async function engineFor(options: MockEngineOptions = {}): Promise<MockEngine> {
  const engine = await startMockEngine({ speedup: 1000, ...options })
  opened.push(engine)
  return engine
}

/** A fleet over real engines, with a keeper that is a hundred times less patient than it is in use. */
function keepEngines(settings: FleetSettings = { usesKvEvents: false }) {
  const { fleet, warnings } = testFleet(
    { learnsFacts: true, ...settings },
    { clock: () => performance.now() },
  )
  const keeper = new WorkerKeeper({
    workers: fleet.workers,
    timers: processTimers(() => performance.now()),
    ask: engineClient(new EndpointRules(loopbackHosts)),
    settings: {
      probeMs: 50,
      suspectProbeMs: 10,
      noProgressMs: 100,
      learnAgainMs: 150,
      probeTimeoutMs: 20_000,
    },
  })
  opened.push({ close: () => (keeper.close(), fleet.dispose()) })
  const add = (engine: Pick<MockEngine, 'url'>, keys = '') => {
    const { registration } = parseWorkerFlag(engine.url + keys)
    fleet.workers.upsert(registration, 'trusted')
    const view = () => fleet.workers.get(registration.workerId)!
    return { id: registration.workerId, view, codes: () => view().hindrances.map(({ code }) => code) }
  }
  return { fleet, keeper, warnings, add }
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('learning from engines', () => {
  it('vLLM with two ranks and an adapter', async () => {
    const engine = await engineFor({
      model: ['llama', 'alias'],
      loraAdapters: [{ name: 'sql', path: '/adapters/sql' }],
      ranks: 2,
      blockSize: 32,
      blocksPerRank: 100,
      maxModelTokens: 4096,
    })
    const { add, fleet } = keepEngines()
    const { view } = add(engine)
    await until('it serves', () => view().lifecycle === 'schedulable')
    expect(view().registration).toMatchObject({
      modelName: 'llama',
      blockSize: 32,
      totalKvBlocks: 100,
      dataParallelStartRank: 0,
      dataParallelSize: 2,
    })
    expect(
      view().facts!.models.map(({ id, root, parent, maxModelLen }) => [id, root, parent, maxModelLen]),
    ).toEqual([
      ['llama', 'llama', undefined, 4096],
      ['alias', 'llama', undefined, 4096],
      ['sql', '/adapters/sql', 'llama', undefined],
    ])
    expect(fleet.partitions.map(({ name, shape }) => [name.model, shape.blockSize])).toEqual([['llama', 32]])
  })

  it('SGLang, and where its events are', async () => {
    const port = await freePort()
    const engine = await engineFor({
      flavour: 'sglang',
      blockSize: 8,
      blocksPerRank: 4000,
      maxPassTokens: 2048,
      events: { endpoint: `tcp://*:${port}` },
    })
    const { add, fleet } = keepEngines({ usesKvEvents: true })
    const { id, view } = add(engine)
    await until('it serves', () => view().lifecycle === 'schedulable')
    expect(view()).toMatchObject({
      registration: {
        blockSize: 8,
        totalKvBlocks: 4000,
        maxNumBatchedTokens: 2048,
        kvEventsEndpoint: `tcp://127.0.0.1:${port}`,
      },
      provenance: { blockSize: 'learned', kvEventsEndpoint: 'learned' },
    })
    await until('its events are followed', () => fleet.workers.eventReports(id).length === 1)
  })
})

describe('engines that come and go', () => {
  it('a crashed one is out at once, and one that starts there again serves, as another process (U33, E6)', async () => {
    const first = await engineFor()
    const { add, keeper, warnings } = keepEngines()
    const { id, view, codes } = add(first)
    await until('it serves', () => view().lifecycle === 'schedulable')
    const attempt = keeper.begin(id)!
    first.crash()
    await first.ended
    attempt.end('refused', 'connection refused')
    expect([codes(), keeper.begin(id)]).toEqual([['inhibited'], undefined])
    await until('probes fail', () => codes().includes('probe_failed'))
    expect(view().reasons.join()).toContain(`GET ${first.url}/health: connection refused`)
    await engineFor({ port: first.port, blockSize: 16 })
    await until('it serves again', () => view().lifecycle === 'schedulable')
    expect(warnings.map(({ code }) => code)).toEqual(['worker_restarted'])
  })

  it('a restart that nobody notices is found by the start time', async () => {
    const engine = await engineFor()
    const { add, warnings } = keepEngines()
    const { view } = add(engine)
    await until('it serves', () => view().lifecycle === 'schedulable')
    await engine.restart({ blocksPerRank: 77 })
    await until('the restart is noticed', () => warnings.some(({ code }) => code === 'worker_restarted'))
    expect(view()).toMatchObject({ lifecycle: 'schedulable', registration: { totalKvBlocks: 77 } })
  })

  it('one whose health says 503 is out, and back when it says 200', async () => {
    const engine = await engineFor()
    const { add } = keepEngines()
    const { view, codes } = add(engine)
    await until('it serves', () => view().lifecycle === 'schedulable')
    engine.addFault({ kind: 'health_lies', says: 503 })
    await until('it is out', () => codes().includes('probe_failed'))
    engine.removeFaults()
    await until('it is back', () => view().lifecycle === 'schedulable')
  })

  it('one that hangs while its health says 200 is avoided while others serve, until a byte comes (17.2)', async () => {
    const [hung, good] = [await engineFor(), await engineFor()]
    const { add, keeper, fleet } = keepEngines()
    const [one, other] = [add(hung), add(good)]
    await until('both serve', () => fleet.workers.schedulable === 2)
    hung.addFault({ kind: 'health_lies', says: 200 })
    const attempt = keeper.begin(one.id)!
    const answer = fetch(`${hung.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: hung.model, prompt: 'Hello', max_tokens: 2 }),
    })
    await until('it is avoided', () => one.codes().includes('no_progress'))
    expect(other.codes()).toEqual([])
    expect(fleet.workers.schedulable).toBe(1)
    hung.removeFaults()
    await (await answer).text()
    attempt.head(200)
    attempt.byte()
    expect(one.codes()).toEqual([])
    attempt.end('answered')
  })

  it('what is no engine is never one, and the record says why (U56)', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    opened.push(server)
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const { add } = keepEngines()
    const { view, codes } = add({ url }, ',model_name=m,block_size=16')
    expect(view().lifecycle).toBe('schedulable')
    await until('it is out', () => codes().includes('probe_failed'))
    expect(view().reasons.join()).toContain(`GET ${url}/health: status 404`)
  })
})
