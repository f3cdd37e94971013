import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { EndpointRules } from '../../src/fleet/endpoint-rules.js'
import { loadServePolicy } from '../../src/serve-policy.js'
import { routerOf } from '../service/support.js'
import { until } from '../until.js'
import { afterTest, ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

describe('A1: what is refused, and how', () => {
  test.each([
    ['no JSON', chatPath, '{"model":', 400, 'invalid_json'],
    ['no object', chatPath, '[1]', 400, 'invalid_json'],
    ['an empty body', chatPath, '', 400, 'invalid_json'],
    ['ids that are none', '/v1/completions', '{"model":"mock-model","prompt":[1,-2]}', 400, 'invalid_body'],
    [
      'nvext of another shape',
      chatPath,
      '{"model":"mock-model","nvext":{"dp_rank":"x"}}',
      400,
      'invalid_body',
    ],
    ['an unknown model', chatPath, '{"model":"other","messages":[]}', 404, 'not_found'],
  ])('%s', async (_what, path, body, status, code) => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const answer = await ask(router, path, body)
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
    expect(answer.json.error).toEqual({
      message: expect.any(String),
      type: 'invalid_request_error',
      code,
      param: null,
    })
    expect(answer.headers.get('x-router-request-id')).toMatch(/^[\da-f-]{36}$/)
    expect(engine.requests()).toEqual([])
    expect(router.finished).toMatchObject([{ ending: 'refused', errorCode: code, attempts: 0 }])
    expect(router.proxy.sizes.bodyBytes).toBe(0)
  })

  test('verbs, content types, hosts, and paths of an engine that are not for clients', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const code = async (
      ...request: Parameters<typeof ask> extends [unknown, ...infer Rest] ? Rest : never
    ) => {
      const { status, json } = await ask(router, ...request)
      return [status, json.error.code]
    }
    expect(await code(chatPath)).toEqual([405, 'method_not_allowed'])
    expect(await code('/v1/models', {})).toEqual([405, 'method_not_allowed'])
    expect((await ask(router, '/v1/models', {})).headers.get('allow')).toBe('GET, HEAD')
    expect(await code(chatPath, '{}', { headers: { 'content-type': 'text/plain' } })).toEqual([
      415,
      'unsupported_media_type',
    ])
    for (const path of [
      '/metrics',
      '/health',
      '/admin/faults',
      '/reset_prefix_cache',
      '/v1/chat',
      '/v1/chat/completions/',
      '/V1/models',
    ])
      expect(await code(path)).toEqual([404, 'not_found'])
    expect(engine.requests()).toEqual([])
    const strange = await rawAnswer(router.port, 'GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n')
    expect(strange).toContain('HTTP/1.1 403')
    expect(strange).toContain('"code":"forbidden_host"')
    const body = JSON.stringify(chat('hello', { max_tokens: 1 }))
    const rest = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const head = `POST http://localhost${chatPath}?a=1 HTTP/1.1\r\nhost: evil.example\r\n`
    expect(await rawAnswer(router.port, head + rest)).toContain('HTTP/1.1 200')
    expect(engine.requests()).toHaveLength(1)
  })

  test('nobody to send it to: 503 with Retry-After; all busy: the overload status', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], { fleet: { maximumRequestsPerRank: 1 } })
    engine.addFault({ kind: 'hang', times: 1 })
    const stuck = ask(router, chatPath, chat('hello')).catch(() => undefined)
    await until('booked', () => router.booked() === 1)
    const busy = await ask(router, chatPath, chat('hello'))
    expect([busy.status, busy.json.error.code]).toEqual([529, 'all_eligible_workers_overloaded'])
    expect(busy.headers.get('retry-after')).toBe('1')
    router.proxy.abortAll()
    await stuck
    router.fleet.workers.setHindrances(1n, [{ code: 'probe_failed', detail: 'gone', sinceMs: 0 }])
    const gone = await ask(router, chatPath, chat('hello'))
    expect([gone.status, gone.json.error.code, gone.headers.get('retry-after')]).toEqual([
      503,
      'not_ready',
      '1',
    ])
  })

  test('U5, G2: ranks at their limit get no more; when all are, it is overload', async () => {
    const engines = await Promise.all([engineOf(), engineOf()])
    for (const engine of engines) engine.addFault({ kind: 'hang' })
    const router = await proxyOf(engines, { fleet: { maximumRequestsPerRank: 2 } })
    const stuck: Promise<unknown>[] = []
    for (let count = 1; count <= 4; count++) {
      // All alike: whoever had the first one would get them all.
      stuck.push(ask(router, chatPath, chat('hello')).catch(() => undefined))
      await until('booked', () => router.booked() === count)
    }
    await until('two at each', () => engines.every((engine) => engine.stats().in_flight === 2))
    const full = await ask(router, chatPath, chat('hello'))
    expect([full.status, full.json.error.code]).toEqual([529, 'all_eligible_workers_overloaded'])
    const pinned = { headers: { 'x-dynamo-worker-instance-id': '1', 'x-dynamo-dp-rank': '0' } }
    const target = await ask(router, chatPath, chat('hello'), pinned)
    expect([target.status, target.json.error.code]).toEqual([529, 'pinned_worker_overloaded'])
    router.proxy.abortAll()
    await Promise.all(stuck)
  })

  test('U7, G1: a rank that its worker does not have gets nothing, pinned or not', async () => {
    const engine = await engineOf({ ranks: 4 })
    const router = await proxyOf([engine], { worker: { dataParallelStartRank: 2, dataParallelSize: 2 } })
    const asked = async (headers: Record<string, string>) => {
      const answer = await ask(router, chatPath, chat('hello', { max_tokens: 1 }), { headers })
      return answer.headers.get('x-router-worker') ?? answer.json.error.code
    }
    for (const rank of [0, 1, 4]) {
      expect(await asked({ 'x-dynamo-dp-rank': String(rank) })).toBe('no_endpoints')
      const pin = { 'x-dynamo-worker-instance-id': '1', 'x-dynamo-dp-rank': String(rank) }
      expect(await asked(pin)).toBe('no_endpoints')
    }
    const chosen = new Set<unknown>()
    for (const headers of [{ 'x-dynamo-dp-rank': '2' }, { 'x-dynamo-dp-rank': '3' }, {}, {}, {}])
      chosen.add(await asked(headers))
    expect([...chosen].toSorted()).toEqual(['1.2', '1.3'])
    const ranks = engine
      .requests()
      .map(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('X-data-parallel-rank') + 1])
    expect([...new Set(ranks)].toSorted()).toEqual(['2', '3'])
    expect(router.booked()).toBe(0)
  })

  test('U49: of 40 requests at once with a limit of 1 a rank, never two at one', async () => {
    const engines = await Promise.all([engineOf(), engineOf()])
    for (const engine of engines) engine.addFault({ kind: 'slow', delay_ms: 100 })
    const router = await proxyOf(engines, { fleet: { maximumRequestsPerRank: 1 } })
    let most = 0
    const looking = setInterval(
      () => (most = Math.max(most, ...engines.map((engine) => engine.stats().in_flight))),
      1,
    )
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(router, chatPath, chat('hello'))))
    clearInterval(looking)
    expect(most).toBe(1)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
    expect(answers.every(({ status }) => status === 200 || status === 529)).toBe(true)
    expect(router.booked()).toBe(0)
  })

  test('pins: an unknown worker, and headers that mean nothing', async () => {
    const router = await proxyOf([await engineOf()])
    const code = async (headers: Record<string, string>) => {
      const { status, json } = await ask(router, chatPath, chat('hello'), { headers })
      return [status, json.error.code]
    }
    expect(await code({ 'x-dynamo-worker-instance-id': '9' })).toEqual([503, 'no_endpoints'])
    expect(await code({ 'x-dynamo-worker-instance-id': '1', 'x-dynamo-dp-rank': '4' })).toEqual([
      503,
      'no_endpoints',
    ])
    expect(await code({ 'x-dynamo-worker-instance-id': '-1' })).toEqual([400, 'bad_request'])
    expect(await code({ 'x-dynamo-request-priority': 'high' })).toEqual([400, 'bad_request'])
    expect(await code({ 'x-router-routing-group': 'other' })).toEqual([503, 'not_ready'])
  })

  test('in direct mode: who names no worker; named ones get their requests whatever speaks against them', async () => {
    const engines = await Promise.all([engineOf(), engineOf()])
    const flags = { 'router-mode': 'direct' }
    const loaded = await loadServePolicy({ flags })
    const served = await routerOf(engines, flags, { policy: loaded })
    expect((await ask(served, chatPath, chat('hello'))).json.error.code).toBe('bad_request')
    const { bundle: policy } = loaded
    const watch = { begin: () => undefined }
    const router = await proxyOf(engines, { policy, fleet: { isDirect: true }, watch })
    const asked = async (headers: Record<string, string>, more = {}) => {
      const answer = await ask(router, chatPath, chat('hello', { max_tokens: 1, ...more }), { headers })
      return [answer.status, answer.headers.get('x-router-worker') ?? answer.json.error.code]
    }
    expect(await asked({})).toEqual([400, 'bad_request'])
    expect(await asked({ 'x-dynamo-dp-rank': '0' })).toEqual([400, 'bad_request'])
    for (const id of [1n, 2n])
      router.fleet.workers.setHindrances(id, [{ code: 'inhibited', detail: 'refused', sinceMs: 0 }])
    for (const id of [2, 1, 2]) {
      expect(await asked({ 'x-dynamo-worker-instance-id': String(id) })).toEqual([200, `${id}.0`])
      expect(await asked({}, { nvext: { backend_instance_id: id, dp_rank: 0 } })).toEqual([200, `${id}.0`])
    }
    expect(await asked({ 'x-dynamo-worker-instance-id': '3' })).toEqual([503, 'no_endpoints'])
    engines[0]!.addFault({ kind: 'error', status: 503 })
    expect(await asked({ 'x-dynamo-worker-instance-id': '1' })).toEqual([503, 'upstream_failed'])
    router.fleet.workers.drain(2n)
    expect(await asked({ 'x-dynamo-worker-instance-id': '2' })).toEqual([503, 'no_endpoints'])
  })

  test('hints of clients that are not trusted count for nothing; their salt still sets them apart', async () => {
    const engines = await Promise.all([engineOf(), engineOf()])
    const router = await proxyOf(engines, { proxy: { trustsRoutingHeaders: false, tellsPlacement: false } })
    const body = chat('hello', { max_tokens: 1, nvext: { backend_instance_id: 9, cache_salt: 'mine' } })
    const headers = {
      'x-dynamo-worker-instance-id': '9',
      'x-tenant-id': 'theirs',
      'x-router-routing-group': 'other',
    }
    const answer = await ask(router, chatPath, body, { headers })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-router-worker')).toBeNull()
    expect(answer.headers.get('x-router-overlap-blocks')).toBeNull()
    const [sent] = engines.flatMap((engine) => engine.requests())
    expect(JSON.parse(Buffer.from(sent!.bodyBase64, 'base64').toString())).toEqual({
      ...chat('hello', { max_tokens: 1 }),
      cache_salt: 'dynamo-cache-salt:mine',
    })
  })
})

describe('A8: whom the proxy contacts', () => {
  const record = (url: string) => ({ endpoint: url, modelName: 'mock-model', blockSize: 16 })

  test('of API workers only allowed hosts and addresses; of the selection listener nobody', async () => {
    const engine = await engineOf()
    const rules = new EndpointRules(['10.0.0.0/8', 'localhost'])
    const router = await proxyOf([], { proxy: { upstreams: { rules } } })
    const { workers } = router.fleet
    const status = async () => (await ask(router, chatPath, chat('hello'))).status
    workers.upsert({ workerId: 1n, ...record(engine.url) }, 'api')
    expect(await status()).toBe(502)
    // A name that is allowed, but leads to an address that is not.
    workers.upsert({ workerId: 1n, ...record(`http://localhost.:${engine.port}`) }, 'api')
    expect(await status()).toBe(502)
    workers.upsert({ workerId: 2n, ...record(engine.url) }, 'selection')
    workers.remove(1n)
    await until('unknown', () => router.fleet.workers.schedulable === 1)
    expect(engine.requests()).toEqual([])
    workers.upsert({ workerId: 3n, ...record(engine.url) }, 'trusted')
    const open = await proxyOf([engine])
    open.fleet.workers.upsert({ workerId: 9n, ...record(engine.url) }, 'selection')
    for (let turn = 0; turn < 6; turn++)
      expect((await ask(open, chatPath, chat(`hello ${turn}`))).headers.get('x-router-worker')).toBe('1.0')
  })
})

describe('bodies are bounded', () => {
  test('each, all together, and in time', async () => {
    const engine = await engineOf()
    engine.addFault({ kind: 'hang', times: 1 })
    const router = await proxyOf([engine], {
      proxy: { bodies: { bodyBytes: 1000, allBytes: 1500, stallMs: 100 } },
    })
    const sized = (bytes: number) => {
      const empty = Buffer.byteLength(JSON.stringify(chat('')))
      return JSON.stringify(chat('x'.repeat(bytes - empty)))
    }
    const large = await ask(router, chatPath, sized(1001))
    expect([large.status, large.json.error.code]).toEqual([413, 'body_too_large'])
    const stuck = ask(router, chatPath, sized(1000)).catch(() => undefined)
    await until('held', () => router.proxy.sizes.bodyBytes === 1000 && router.booked() === 1)
    const full = await ask(router, chatPath, sized(501))
    expect([full.status, full.json.error.code, full.headers.get('retry-after')]).toEqual([
      503,
      'buffer_full',
      '1',
    ])
    expect((await ask(router, chatPath, sized(500))).status).toBe(200)
    router.proxy.abortAll()
    await stuck
    expect(router.proxy.sizes.bodyBytes).toBe(0)
    const head = `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
    const late = await rawAnswer(router.port, `${head}content-length: 100\r\n\r\n{`)
    expect(late).toContain('HTTP/1.1 408')
    // Without a length bytes count as they come.
    const chunked = `${head}transfer-encoding: chunked\r\n\r\n${'258\r\n'}${'x'.repeat(600)}\r\n`
    expect(
      await rawAnswer(router.port, chunked.repeat(1) + `258\r\n${'x'.repeat(600)}\r\n0\r\n\r\n`),
    ).toContain('HTTP/1.1 413')
    expect(router.proxy.sizes.bodyBytes).toBe(0)
  })
})

test('a body that is announced and never comes takes nobody its room', async () => {
  const router = await proxyOf([await engineOf()], { proxy: { bodies: { bodyBytes: 1000, allBytes: 1500 } } })
  const mute = connect(router.port, '127.0.0.1')
  afterTest(() => mute.destroy())
  const head = `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
  mute.write(`${head}content-length: 1000\r\n\r\n{`)
  await until('it is being read', () => router.proxy.sizes.bodyBytes === 1)
  expect((await ask(router, chatPath, chat('x'.repeat(800)))).status).toBe(200)
})

/** Sends bytes, and reads what comes until the connection ends or 2 KiB came. */
function rawAnswer(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(text))
    let received = ''
    afterTest(() => socket.destroy())
    socket.on('data', (chunk) => {
      received += chunk.toString()
      if (received.includes('\r\n\r\n{')) resolve(received)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}
