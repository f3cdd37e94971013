import { expect, it } from 'vitest'
import { loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import type { WorkerWatch } from '../../src/proxy/worker-watch.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { type RunningWorkers, startWorkers } from '../../src/workers/start-workers.js'
import { afterTest, engineOf, proxyOf } from '../proxy/support/proxies.js'
import { until } from '../until.js'

/** A proxy whose workers are known by their URLs alone, and looked after. */
async function keptProxy(urls: readonly string[]) {
  const kept: { running?: RunningWorkers } = {}
  const watch: WorkerWatch = { begin: (workerId) => kept.running!.keeper.begin(workerId) }
  const host = await proxyOf([], { fleet: { learnsFacts: true }, watch })
  kept.running = await startWorkers({
    fleet: host.fleet,
    sources: { flags: urls.map((url) => parseWorkerFlag(url)) },
    allowedHosts: loopbackHosts,
    settings: { probeMs: 100, suspectProbeMs: 20, probeTimeoutMs: 20_000, noProgressMs: 1000 },
  })
  afterTest(() => kept.running!.close())
  await until('all serve', () => host.fleet.workers.schedulable === urls.length)
  const ask = async (prompt: string): Promise<{ status: number; worker: string }> => {
    const answer = await fetch(`${host.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock-model', prompt, max_tokens: 2 }),
    })
    await answer.text()
    return { status: answer.status, worker: (answer.headers.get('x-router-worker') ?? '').split('.')[0]! }
  }
  const idOf = (url: string) => parseWorkerFlag(url).registration.workerId
  return { ...host, ask, idOf }
}

it('U33: an engine that dies costs no client anything, gets nothing any more, and serves again when it is back', async () => {
  const engines = [await engineOf(), await engineOf(), await engineOf()]
  const { ask, idOf, fleet, finished } = await keptProxy(engines.map(({ url }) => url))
  const [dead] = engines
  const id = idOf(dead!.url)
  const statuses: number[] = []
  const many = async (count: number): Promise<string[]> => {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, at) => ask(`prompt ${at} of ${statuses.length}`)),
    )
    statuses.push(...answers.map(({ status }) => status))
    return answers.map(({ worker }) => worker)
  }
  expect(new Set(await many(30)).size).toBe(3)
  // No more than may be tried again at once.
  const crash = many(6)
  dead!.crash()
  await crash
  await until('it is known to be gone', () => fleet.workers.get(id)!.lifecycle === 'unschedulable')
  const before = finished.length
  expect(new Set(await many(30))).not.toContain(String(id))
  expect(finished.slice(before).map(({ attempts }) => attempts)).toEqual(Array.from({ length: 30 }, () => 1))
  await engineOf({ port: dead!.port })
  await until('it is back', () => fleet.workers.get(id)!.lifecycle === 'schedulable')
  expect(new Set(await many(30))).toContain(String(id))
  expect(new Set(statuses)).toEqual(new Set([200]))
})

it('an engine that hangs with a healthy face gets no new requests once others go on without it (17.2)', async () => {
  const engines = [await engineOf(), await engineOf()]
  const { ask, idOf, fleet } = await keptProxy(engines.map(({ url }) => url))
  const [hung, good] = engines
  hung!.addFault({ kind: 'health_lies', says: 200 })
  const id = idOf(hung!.url)
  const stuck: Promise<unknown>[] = []
  const isAvoided = () => fleet.workers.get(id)!.hindrances.some(({ code }) => code === 'no_progress')
  for (let at = 0; !isAvoided(); at++) {
    stuck.push(ask(`prompt ${at}`))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => ask(`later ${at}`)))
  expect(new Set(answers.map(({ worker }) => worker))).toEqual(new Set([String(idOf(good!.url))]))
  hung!.removeFaults()
  await Promise.all(stuck)
  expect(isAvoided()).toBe(false)
})
