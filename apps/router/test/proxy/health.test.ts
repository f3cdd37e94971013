import { expect, test } from 'vitest'
import { EndpointRules, loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import { Attempt, type AttemptOwner } from '../../src/proxy/attempt.js'
import { engineClient } from '../../src/workers/engine-client.js'
import { processTimers } from '../../src/workers/timers.js'
import { WorkerKeeper } from '../../src/workers/worker-keeper.js'
import { until } from '../until.js'
import {
  type HostOptions,
  afterTest,
  ask,
  chat,
  chatPath,
  engineOf,
  eventsOf,
  proxyOf,
  serverOf,
} from './support/proxies.js'

/** A router whose workers are judged by their requests. @param probes none before this comes */
async function keptProxy(
  engines: Parameters<typeof proxyOf>[0],
  options: HostOptions = {},
  probes: Promise<void> = Promise.resolve(),
) {
  const keepers: WorkerKeeper[] = []
  const router = await proxyOf(engines, {
    ...options,
    watch: { begin: (workerId) => keepers[0]!.begin(workerId) },
  })
  const client = engineClient(new EndpointRules(loopbackHosts))
  const keeper = new WorkerKeeper({
    workers: router.fleet.workers,
    timers: processTimers(() => performance.now()),
    ask: async (...question) => {
      await probes
      return client(...question)
    },
    // Only a probe closes a breaker.
    settings: { suspectProbeMs: 50, breakerRetryMs: 600_000, breakerWindowMs: 600_000 },
  })
  keepers.push(keeper)
  afterTest(() => keeper.close())
  return {
    router,
    hindrances: (id: bigint) => router.fleet.workers.get(id)!.hindrances.map(({ code }) => code),
  }
}

test('U33: a dead worker costs a request one attempt at most, and soon none; none fails', async () => {
  const [dying, sound] = await Promise.all([engineOf(), engineOf()])
  const { router, hindrances } = await keptProxy([dying, sound])
  for (let turn = 0; turn < 6; turn++) await ask(router, chatPath, chat(`warm ${turn}`, { max_tokens: 1 }))
  dying.crash()
  const before = router.finished.length
  for (let turn = 0; turn < 20; turn++)
    expect((await ask(router, chatPath, chat(`cold ${turn}`, { max_tokens: 1 }))).status).toBe(200)
  const attempts = router.finished.slice(before).map((facts) => facts.attempts)
  expect(Math.max(...attempts)).toBeLessThanOrEqual(2)
  await until('out of the way', () => hindrances(1n).length > 0)
  const later = router.finished.length
  for (let turn = 0; turn < 10; turn++) await ask(router, chatPath, chat(`later ${turn}`, { max_tokens: 1 }))
  expect(router.finished.slice(later).map((facts) => facts.attempts)).toEqual(
    Array.from({ length: 10 }, () => 1),
  )
  expect(router.booked()).toBe(0)
})

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ETIMEDOUT', 'failed'],
  ['EHOSTUNREACH', 'failed'],
  ['UND_ERR_CONNECT_TIMEOUT', 'failed'],
  // Whoever resolves names is at fault, or the router itself.
  ['EAI_AGAIN', 'failed'],
  ['EMFILE', 'abandoned'],
  ['ENOBUFS', 'abandoned'],
])('a connection that cannot be had, %s: the worker has %s', (code, end) => {
  const ends: string[] = []
  const owner = { ended: ({ kind }: { kind: string }) => ends.push(kind) } as unknown as AttemptOwner
  const watched = { head: () => undefined, byte: () => undefined, end: (how: string) => ends.push(how) }
  const times = { nowMs: () => 0, firstByteMs: 1, idleMs: 1, keepAliveMs: 0, deadlineMs: 1 }
  new Attempt(owner, watched, times).onError(Object.assign(new Error(code), { code, syscall: 'connect' }))
  expect(ends).toEqual([end, 'failed'])
})

test('U43: 100 bad requests are held against nobody', async () => {
  const { router, hindrances } = await keptProxy([await engineOf()])
  for (let turn = 0; turn < 100; turn++)
    expect((await ask(router, chatPath, { model: 'mock-model', messages: 7 })).status).toBe(400)
  expect(hindrances(1n)).toEqual([])
  expect((await ask(router, chatPath, chat('hello'))).status).toBe(200)
})

test('five failures in a row open the breaker: requests are refused at once, and pass again when it is well', async () => {
  const engine = await engineOf()
  let letProbe = () => {}
  const probes = new Promise<void>((resolve) => {
    letProbe = resolve
  })
  const { router, hindrances } = await keptProxy([engine], {}, probes)
  engine.addFault({ kind: 'error', status: 500 })
  for (let turn = 0; turn < 5; turn++) expect((await ask(router, chatPath, chat('hello'))).status).toBe(500)
  await until('open', () => hindrances(1n).includes('breaker_open'))
  expect((await ask(router, chatPath, chat('hello'))).status).toBe(503)
  expect(engine.stats().faults_applied['error']).toBe(5)
  engine.removeFaults()
  letProbe()
  await until('half open', () => !hindrances(1n).includes('breaker_open'))
  expect((await ask(router, chatPath, chat('hello'))).status).toBe(200)
  expect(router.booked()).toBe(0)
})

test('U33: with 32 requests in flight the death of an engine is an error for none', async () => {
  let isOpen = false
  const held: (() => void)[] = []
  const engines = await Promise.all(
    Array.from({ length: 4 }, () =>
      serverOf((request, response) => {
        const answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
        if (isOpen || request.method === 'GET') answer()
        else held.push(answer)
      }),
    ),
  )
  const { router } = await keptProxy(engines)
  const answers = Array.from({ length: 32 }, (_, index) => ask(router, chatPath, chat(`question ${index}`)))
  await until('all at work', () => held.length === 32)
  engines[0]!.end()
  await until('more failed than may be retried at once', () => router.proxy.sizes.waitingRetries > 0)
  isOpen = true
  for (const answer of held) answer()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(
    Array.from({ length: 32 }, () => 200),
  )
  const attempts = router.finished.map((facts) => facts.attempts)
  expect(attempts.filter((count) => count === 2).length).toBeGreaterThan(6)
  expect(Math.max(...attempts)).toBe(2)
  expect(router.booked()).toBe(0)
})

test('U32: what a removed worker was answering is tried elsewhere, or breaks off with one error event', async () => {
  const slow = { speedup: 1, timing: { type: 'fixed', prefill_ms: 20, decode_ms: 20 } } as const
  const [leaving, staying] = await Promise.all([engineOf(slow), engineOf()])
  const { router } = await keptProxy([leaving, staying])
  const headers = { 'content-type': 'application/json', 'x-dynamo-worker-instance-id': '1' }
  const endless = (stream: boolean) => chat('hello', { stream, max_tokens: 1000, ignore_eos: true })
  const streamed = await fetch(router.url + chatPath, {
    method: 'POST',
    headers,
    body: JSON.stringify(endless(true)),
  })
  const whole = ask(router, chatPath, endless(false), { headers })
  router.fleet.workers.setHindrances(2n, [{ code: 'probe_failed', detail: 'away', sinceMs: 0 }])
  const moved = ask(router, chatPath, chat('hello', { max_tokens: 2 }))
  await until('all at work', () => leaving.stats().in_flight === 3)
  router.fleet.workers.setHindrances(2n, [])
  router.fleet.workers.remove(1n)
  const events = eventsOf(await streamed.text())
  expect(events.filter((event) => event.error !== undefined)).toEqual([events.at(-1)])
  expect(events.at(-1).error.code).toBe('upstream_failed')
  expect((await whole).status).toBe(502)
  const answer = await moved
  expect([answer.status, answer.headers.get('x-router-worker')]).toEqual([200, '2.0'])
  await until('the engine knows', () => leaving.stats().in_flight === 0)
  expect(router.booked()).toBe(0)
})
