import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { RetryBudget } from '../../src/proxy/retry-budget.js'
import type { WatchedEnd } from '../../src/proxy/worker-watch.js'
import { until } from '../until.js'
import {
  type ProxyHost,
  ask,
  chat,
  chatPath,
  engineOf,
  eventsOf,
  proxyOf,
  serverOf,
} from './support/proxies.js'

/** A port that nobody listens on. */
async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** The faulty worker is idle, the sound one busy: the first try goes to the faulty one. */
async function withFaulty(faulty: { readonly url: string }, proxy = {}) {
  const sound = await engineOf()
  const router = await proxyOf([faulty, sound], { proxy })
  occupy(router, 2n)
  return { router, sound }
}

/** Books so much on a worker that others are chosen. */
function occupy({ fleet }: ProxyHost, workerId: bigint): void {
  const blocks = { local: new Uint32Array(0), sequence: new Uint32Array(0), count: 0 }
  const load = { promptTokens: 9000, prefillTokens: 9000 }
  fleet.partitions[0]!.router.book({ requestId: 'busy', workerId, dpRank: 0, blocks, ...load })
}

describe('F6: a request of which nothing was relayed is tried elsewhere', () => {
  test.each([
    { what: 'status 500', fault: { kind: 'error', status: 500 } },
    { what: 'status 503', fault: { kind: 'error', status: 503 } },
    { what: 'status 429', fault: { kind: 'error', status: 429 } },
    { what: 'a reset before the headers', fault: { kind: 'reset_before_headers' } },
    { what: 'a reset after the headers', fault: { kind: 'reset_after_headers' } },
    { what: 'an answer that is cut', fault: { kind: 'cut' } },
    { what: 'no byte in time', fault: { kind: 'hang' } },
  ] as const)('after $what', async ({ fault }) => {
    const faulty = await engineOf()
    const { router } = await withFaulty(faulty, { firstByteTimeoutMs: 400 })
    faulty.addFault(fault)
    const answer = await ask(router, chatPath, chat('hello', { max_tokens: 3 }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-router-worker')).toBe('2.0')
    expect(router.finished).toMatchObject([{ attempts: 2, ending: 'answered', workerId: 2n }])
    expect(Object.values(faulty.stats().faults_applied)).toEqual([1])
    expect(router.booked()).toBe(1)
  })

  test('after a stream that was reset before its first byte', async () => {
    const faulty = await engineOf()
    const { router } = await withFaulty(faulty)
    faulty.addFault({ kind: 'reset_after_headers' })
    const answer = await ask(router, chatPath, chat('hello', { max_tokens: 3, stream: true }))
    expect(answer.text.endsWith('[DONE]\n\n')).toBe(true)
    expect(router.finished).toMatchObject([{ attempts: 2, ending: 'answered' }])
  })

  test('U33: when nobody listens', async () => {
    const { router } = await withFaulty({ url: await closedPort() })
    expect((await ask(router, chatPath, chat('hello'))).status).toBe(200)
    expect(router.finished).toMatchObject([{ attempts: 2, workerId: 2n }])
  })

  test('status 502 and 504', async () => {
    for (const status of [502, 504]) {
      const faulty = await serverOf((_request, response) => void response.writeHead(status).end('no'))
      const { router } = await withFaulty(faulty)
      expect((await ask(router, chatPath, chat('hello'))).status).toBe(200)
      expect(router.finished).toMatchObject([{ attempts: 2 }])
    }
  })

  test('each try has a booking of its own, freed before the next', async () => {
    const faulty = await engineOf()
    const { router, sound } = await withFaulty(faulty)
    faulty.addFault({ kind: 'error', status: 503 })
    sound.addFault({ kind: 'slow', delay_ms: 300 })
    const answer = ask(router, chatPath, chat('hello'))
    await until('second try', () => sound.stats().in_flight === 1)
    const partition = router.fleet.partitions[0]!.router
    const requestsAt = (id: bigint) => partition.ledger.loadOf(partition.slotOf(id, 0)).activeRequests
    expect([requestsAt(1n), requestsAt(2n)]).toEqual([0, 2])
    await answer
    expect([requestsAt(1n), requestsAt(2n)]).toEqual([0, 1])
  })
})

describe('F6: nothing is tried again', () => {
  test.each([400, 401, 404, 409, 422])('after status %d, which passes as it is', async (status) => {
    const faulty = await serverOf(
      (_request, response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end('{"error":{"message":"mine"}}'),
    )
    const { router } = await withFaulty(faulty)
    const answer = await ask(router, chatPath, chat('hello'))
    expect([answer.status, answer.text]).toEqual([status, '{"error":{"message":"mine"}}'])
    expect(router.finished).toMatchObject([{ attempts: 1, ending: 'answered' }])
  })

  test('F1: once some of a stream was relayed: one error event, and no [DONE]', async () => {
    const faulty = await engineOf()
    const { router } = await withFaulty(faulty)
    faulty.addFault({ kind: 'cut', after_chunks: 3 })
    const answer = await ask(router, chatPath, chat('hello', { max_tokens: 20, stream: true }))
    const events = eventsOf(answer.text)
    expect(events).toHaveLength(4)
    expect(events.at(-1)).toEqual({
      error: {
        message: 'the engine broke its answer off',
        type: 'server_error',
        code: 'upstream_failed',
        param: null,
      },
    })
    expect(router.finished).toMatchObject([{ attempts: 1, ending: 'broken', errorCode: 'upstream_failed' }])
    expect(router.booked()).toBe(1)
  })

  test('beyond the limit: the last status and its Retry-After, in our own words', async () => {
    const engines = await Promise.all([engineOf(), engineOf(), engineOf(), engineOf()])
    for (const engine of engines) engine.addFault({ kind: 'error', status: 503, retry_after_seconds: 17 })
    const router = await proxyOf(engines)
    const answer = await ask(router, chatPath, chat('hello'))
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('17')
    expect(answer.json).toEqual({
      error: {
        message: 'the engine answered with status 503',
        type: 'server_error',
        code: 'upstream_failed',
        param: null,
      },
    })
    expect(router.finished).toMatchObject([{ attempts: 3, ending: 'refused' }])
    expect(router.booked()).toBe(0)
  })

  test.each([
    [503, '1'],
    [500, null],
  ])(
    'where the engine says nothing of when to come again, a %i has the Retry-After of the router: %s',
    async (status, retryAfter) => {
      let asked = 0
      const engine = await serverOf((request, response) => {
        request.resume()
        response.writeHead(asked++ === 0 ? 200 : status, { 'content-type': 'application/json' })
        response.end('{"id":"resp_1","object":"response"}')
      })
      const router = await proxyOf([engine])
      await ask(router, '/v1/responses', { model: 'mock-model', input: 'hello' })
      const answers = [await ask(router, chatPath, chat('hello')), await ask(router, '/v1/responses/resp_1')]
      for (const answer of answers) {
        expect([answer.status, answer.json.error.code]).toEqual([status, 'upstream_failed'])
        expect(answer.headers.get('retry-after')).toBe(retryAfter)
      }
    },
  )

  test('where there is nobody else: 502 without an answer, 504 without one in time', async () => {
    const nobody = await closedPort()
    const dead = await ask(await proxyOf([{ url: nobody }]), chatPath, chat('hello'))
    expect([dead.status, dead.json.error.code]).toEqual([502, 'upstream_failed'])
    expect(dead.text).not.toContain(nobody.slice(7))
    const mute = await serverOf(() => undefined)
    const late = await ask(
      await proxyOf([mute], { proxy: { firstByteTimeoutMs: 100 } }),
      chatPath,
      chat('hello'),
    )
    expect([late.status, late.json.error.code]).toEqual([504, 'upstream_timeout'])
  })

  test('for a pinned worker', async () => {
    const faulty = await engineOf()
    const { router } = await withFaulty(faulty)
    faulty.addFault({ kind: 'error', status: 503 })
    const headers = { 'x-dynamo-worker-instance-id': '1' }
    expect((await ask(router, chatPath, chat('hello'), { headers })).status).toBe(503)
    expect(router.finished).toMatchObject([{ attempts: 1 }])
  })
})

describe('F6: retries are at most 20% of the requests in flight, and three', () => {
  const pinned = { headers: { 'x-dynamo-worker-instance-id': '2' } }

  /** One worker refuses, the other answers when it is told to; `inFlight` requests wait at it. */
  async function gated(inFlight: number, nowMs?: () => number) {
    const gate: (() => void)[] = []
    const faulty = await serverOf((_request, response) => void response.writeHead(503).end())
    const slow = await serverOf((_request, response) => {
      gate.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
    })
    const router = await proxyOf([faulty, slow], { nowMs })
    occupy(router, 2n)
    const waiting = Array.from({ length: inFlight }, () => ask(router, chatPath, chat('hello'), pinned))
    await until('all wait', () => gate.length === inFlight)
    return { router, gate, waiting }
  }

  test('further ones wait for their turn, and none fails', async () => {
    const { router, gate, waiting } = await gated(16)
    const tried = Array.from({ length: 9 }, () => ask(router, chatPath, chat('hello')))
    await until('five may retry, of 25 in flight', () => gate.length === 16 + 5)
    await until('four wait', () => router.proxy.sizes.waitingRetries === 4)
    expect(router.proxy.inFlight).toBe(25)
    expect(router.finished).toEqual([])
    const answers = Promise.all([...waiting, ...tried])
    // Whoever is let in comes last: those before it have to go first.
    while (router.finished.length < 25) {
      gate.shift()?.()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect((await answers).map(({ status }) => status)).toEqual(Array.from({ length: 25 }, () => 200))
    expect(router.proxy.sizes.waitingRetries).toBe(0)
    expect(router.finished.filter(({ attempts }) => attempts === 2)).toHaveLength(9)
    expect(router.booked()).toBe(1)
  })

  test('who waits is let in in the order of coming, also where 20,000 tries end at once', () => {
    const budget = new RetryBudget()
    const begun: number[] = []
    for (let place = 0; place < 3; place++) budget.ask(() => undefined)
    for (let at = 0; at < 20_000; at++)
      budget.ask(() => {
        begun.push(at)
        budget.giveBack()
      })
    const never = (): never => {
      throw new Error('it had gone')
    }
    budget.ask(never)
    budget.withdraw(never)
    expect([begun.length, budget.waiting]).toEqual([0, 20_000])
    budget.giveBack()
    expect(begun).toEqual(Array.from({ length: 20_000 }, (_, at) => at))
    expect(budget.waiting).toBe(0)
  })

  test('whoever goes waits no more; whoever waits too long gets what the last try said', async () => {
    let skewMs = 0
    const { router, gate } = await gated(0, () => performance.now() + skewMs)
    const retried = Array.from({ length: 3 }, () => ask(router, chatPath, chat('hello')))
    await until('three may retry', () => gate.length === 3)
    const leaver = new AbortController()
    const gone = ask(router, chatPath, chat('hello'), { signal: leaver.signal }).catch(() => 'gone')
    await until('one waits', () => router.proxy.sizes.waitingRetries === 1)
    leaver.abort()
    expect(await gone).toBe('gone')
    await until('none waits', () => router.proxy.sizes.waitingRetries === 0)
    const late = ask(router, chatPath, chat('hello'))
    await until('another waits', () => router.proxy.sizes.waitingRetries === 1)
    skewMs = 2_000_000
    expect((await late).status).toBe(503)
    expect((await Promise.all(retried)).map(({ status }) => status)).toEqual([504, 504, 504])
    expect(router.finished.map(({ attempts }) => attempts).toSorted()).toEqual([1, 1, 2, 2, 2])
    expect([router.proxy.sizes.waitingRetries, router.booked(), router.proxy.inFlight]).toEqual([0, 1, 0])
  })
})

describe('F6: a connection that the engine had closed', () => {
  test('costs no request, and counts as no failure', async () => {
    let requests = 0
    const ends: WatchedEnd[] = []
    // Every second request on a connection meets its end.
    const engine = await serverOf((request, response) => {
      requests++
      const { socket } = request as { socket: typeof request.socket & { used?: boolean } }
      if (socket.used === true) socket.resetAndDestroy()
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
      socket.used = true
    })
    const watch = {
      begin: () => ({
        head: () => undefined,
        byte: () => undefined,
        end: (how: WatchedEnd) => ends.push(how),
      }),
    }
    const router = await proxyOf([engine], { watch })
    for (let turn = 0; turn < 4; turn++) expect((await ask(router, chatPath, chat('hello'))).status).toBe(200)
    expect(requests).toBe(6)
    expect(ends.toSorted()).toEqual([
      'abandoned',
      'abandoned',
      'answered',
      'answered',
      'answered',
      'answered',
    ])
  })

  test('but a reset on a fresh connection is a failure', async () => {
    const engine = await serverOf((request) => request.socket.resetAndDestroy())
    const router = await proxyOf([engine])
    expect((await ask(router, chatPath, chat('hello'))).status).toBe(502)
    expect(router.finished).toMatchObject([{ attempts: 1 }])
  })
})

test('U45: a worker that swallows everything does not hold up the others', async () => {
  const hole = await engineOf()
  hole.addFault({ kind: 'hang' })
  const router = await proxyOf([hole, await engineOf()])
  const headers = (id: number) => ({ 'x-dynamo-worker-instance-id': String(id) })
  const stuck = ask(router, chatPath, chat('hello'), { headers: headers(1) }).catch(() => undefined)
  await until('stuck', () => router.booked() === 1)
  for (let turn = 0; turn < 20; turn++)
    expect((await ask(router, chatPath, chat('hello'), { headers: headers(2) })).status).toBe(200)
  expect(router.booked()).toBe(1)
  router.proxy.abortAll()
  await stuck
  expect(router.booked()).toBe(0)
})
