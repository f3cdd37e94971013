import { request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { loadServePolicy } from '../../src/serve-policy.js'
import { startRouter } from '../../src/service/router-service.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { startedRouter } from '../clients/started-router.js'
import { until } from '../until.js'

// A router as it is served, at both of its listeners.

const open = await startedRouter({
  settings: { ROUTER_KV_EVENTS: 'false' },
  engines: [{ recordRequests: 10 }],
})
const guarded = await startedRouter({
  settings: { ROUTER_ADMIN_TOKEN: 'secret', ROUTER_API_KEYS: 'key' },
  engines: [],
})
const withoutAdmin = await startedRouter({ settings: { ROUTER_NO_ADMIN_API: 'true' }, engines: [] })

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One exchange; a body that is no text is sent as JSON. Any header may be set, Host too. */
function ask(url: string, method: string, path: string, { body, headers = {} }: Sent = {}) {
  const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const type = content === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const sent = httpRequest(url + path, { method, headers: { ...type, ...headers } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }))
      })
      sent.on('error', reject).end(content)
    },
  )
}

const tokens = [1, 2, 3, 4, 5, 6, 7, 8]

/** Every row of the selection API, as a story about one worker: verb, path, status, and what is sent. */
function story(id: number, endpoint: string): [string, string, number, Sent?][] {
  const model_name = `model-${id}`
  const worker = { worker_id: id, model_name, endpoint, block_size: 4 }
  const prompt = { model_name, token_ids: tokens }
  const send = (body: unknown): Sent => ({ body })
  const text = (body: string, type = 'application/json'): Sent => ({
    body,
    headers: { 'content-type': type },
  })
  const booking = (name: string) => `/reservations/${name}-${id}`
  return [
    ['POST', '/select', 503, send(prompt)],
    ['POST', '/workers', 422, send({ worker_id: -1 })],
    ['POST', '/workers', 400, send({ ...worker, data_parallel_size: 5000 })],
    ['POST', '/workers', 201, send(worker)],
    ['GET', `/workers?model_name=${model_name}`, 200],
    ['GET', '/workers?model_name=a&model_name=b', 400],
    ['GET', `/workers/${id}`, 405],
    ['PATCH', `/workers/${id}`, 200, send({ taints: ['a'] })],
    ['PATCH', '/workers/99', 404, send({})],
    ['PATCH', '/workers/nobody', 400, send({})],
    ['POST', '/select', 400, text('{')],
    ['POST', '/select', 400, text('')],
    ['POST', '/select', 422, text('[]')],
    ['POST', '/select', 422, send({ ...prompt, token_ids: [1.5] })],
    ['POST', '/select', 415, text('{}', 'text/plain')],
    ['POST', '/select', 413, text(' '.repeat(8_388_609))],
    ['POST', '/select', 400, send({ model_name })],
    ['POST', '/select', 503, send({ ...prompt, allowed_worker_ids: [] })],
    [
      'POST',
      '/select',
      400,
      send({ ...prompt, allowed_worker_ids: [], pinned_worker: { worker_id: id, dp_rank: 0 } }),
    ],
    ['POST', '/select', 503, send({ ...prompt, pinned_worker: { worker_id: id, dp_rank: 1 } })],
    [
      'POST',
      '/select',
      503,
      send({ ...prompt, routing_constraints: { required_taints: ['b'], preferred_taints: {} } }),
    ],
    ['POST', '/select', 200, send({ ...prompt, selection_id: `kept-${id}` })],
    ['POST', '/select', 200, send({ ...prompt, advisory: true })],
    ['POST', '/select_and_reserve', 200, send({ ...prompt, selection_id: `one-${id}` })],
    ['POST', '/select_and_reserve', 409, send({ ...prompt, selection_id: `one-${id}` })],
    ['POST', '/reservations', 201, send({ model_name, selection_id: `kept-${id}` })],
    ['POST', '/reservations', 404, send({ model_name, selection_id: `kept-${id}` })],
    ['POST', '/reservations', 201, send({ ...prompt, selection_id: `two-${id}`, worker_id: id })],
    ['POST', '/reservations', 409, send({ ...prompt, selection_id: `two-${id}`, worker_id: id })],
    [
      'POST',
      '/reservations',
      404,
      send({ ...prompt, selection_id: `three-${id}`, worker_id: id, dp_rank: 1 }),
    ],
    [
      'POST',
      '/reservations',
      400,
      send({ ...prompt, selection_id: 'x', worker_id: id, effective_prefill_tokens: 9 }),
    ],
    ['POST', `${booking('one')}/prefill_complete`, 200],
    ['POST', `${booking('one')}/prefill_complete`, 200],
    ['POST', `${booking('nobody')}/prefill_complete`, 404],
    ['POST', `${booking('one')}/output_block`, 200, send({ decay_fraction: 0.5 })],
    ['POST', `${booking('one')}/output_block`, 415],
    ['POST', `${booking('nobody')}/output_block`, 400, send({ decay_fraction: 2 })],
    ['POST', `${booking('nobody')}/output_block`, 404, send({})],
    ['GET', booking('one'), 405],
    ['GET', `/loads?model_name=${model_name}`, 200],
    ['POST', '/potential_loads', 200, send(prompt)],
    ['POST', '/potential_loads', 503, send({ ...prompt, model_name: 'nobody' })],
    ['POST', '/overlap_scores', 200, send(prompt)],
    ['POST', '/overlap_scores', 400, send({ model_name })],
    ['DELETE', booking('one'), 200],
    ['DELETE', booking('one'), 404],
    ['DELETE', booking('two'), 200],
    ['DELETE', booking('kept'), 200],
    ['GET', '/dump', 200],
    ['GET', '/replica_sync/peers', 200],
    ['POST', '/replica_sync/register_peer', 409, send({ endpoint: 'http://127.0.0.1:1' })],
    ['POST', '/replica_sync/deregister_peer', 409, send({ endpoint: 'http://127.0.0.1:1' })],
    ['GET', '/live', 200],
    ['GET', '/health', 200],
    ['GET', '/ready', 200],
    ['GET', '/nowhere', 404],
    ['DELETE', `/workers/${id}`, 200],
    ['DELETE', `/workers/${id}`, 404],
    ['POST', '/select', 503, send(prompt)],
  ]
}

describe('A1: the selection API', () => {
  it.each([
    ['main', 31],
    ['selection', 32],
  ] as const)('answers every row with its status on the %s listener', async (listener, id) => {
    const url = listener === 'main' ? open.url : open.router.selectionUrl!
    const rows = story(id, open.engines[0]!.url)
    const answers = []
    for (const [method, path, , sent] of rows) answers.push(await ask(url, method, path, sent))
    expect(answers.map(({ status }, at) => [...rows[at]!.slice(0, 2), status])).toEqual(
      rows.map(([method, path, status]) => [method, path, status]),
    )
    for (const [at, { status, text, headers }] of answers.entries()) {
      if (status < 400 || rows[at]![1] === '/nowhere') continue
      expect(JSON.parse(text)).toEqual({ error: expect.any(String), code: expect.any(String) })
      expect(headers['retry-after']).toBe(status === 503 ? '1' : undefined)
    }
  })
})

describe('A2: ids beyond 2^53', () => {
  it('of workers, in bodies and in headers, are the same numbers everywhere', async () => {
    const [engine] = open.engines
    const id = '18446744073709551615'
    const record = `{"worker_id":${id},"model_name":"big","endpoint":"${engine!.url}","block_size":16}`
    expect((await ask(open.url, 'POST', '/workers', { body: record })).text).toContain(`"worker_id":${id},`)
    await until('it serves', () => open.router.fleet.workers.get(BigInt(id))?.lifecycle === 'schedulable')
    const body = `{"model":"big","messages":[{"role":"user","content":"hi"}],"max_tokens":1,"mine":9223372036854775807}`
    const chat = await ask(open.url, 'POST', '/v1/chat/completions', { body })
    expect(chat.headers['x-router-worker']).toBe(`${id}.0`)
    expect(engine!.requests().map(({ bodyBase64 }) => atob(bodyBase64))).toContain(body)
    expect((await ask(open.url, 'DELETE', `/workers/${id}`)).text).toContain(`"worker_id":${id},`)
  })
})

describe('A3: who may call', () => {
  const adminPaths: readonly (readonly [string, string])[] = [
    ['POST', '/workers'],
    ['PATCH', '/workers/1'],
    ['DELETE', '/workers/1'],
    ['GET', '/dump'],
    ['GET', '/replica_sync/peers'],
    ['POST', '/replica_sync/register_peer'],
    ['POST', '/replica_sync/deregister_peer'],
  ]
  /** Of the main listener alone. */
  const operatorPaths: readonly (readonly [string, string])[] = [
    ['POST', '/v1/explain'],
    ['GET', '/debug/decisions'],
    ['GET', '/debug/decisions/a'],
    ['GET', '/debug/workers/1'],
    ['GET', '/debug/index/1/0'],
  ]
  const adminPathsAt = (url: string) =>
    doorsOf(guarded)[1] === url ? adminPaths : [...adminPaths, ...operatorPaths]
  const clientPaths: readonly (readonly [string, string])[] = [
    ['GET', '/workers'],
    ['POST', '/select'],
    ['POST', '/select_and_reserve'],
    ['POST', '/reservations'],
    ['DELETE', '/reservations/a'],
    ['GET', '/loads'],
    ['POST', '/potential_loads'],
    ['POST', '/overlap_scores'],
  ]
  const proxiedPaths: readonly (readonly [string, string])[] = [
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/completions'],
    ['POST', '/v1/responses'],
    ['POST', '/v1/embeddings'],
    ['POST', '/v1/messages'],
    ['GET', '/v1/models'],
  ]
  const bodyFor = (method: string): Sent => (method === 'POST' || method === 'PATCH' ? { body: {} } : {})
  const statusOf = async (
    url: string,
    [method, path]: readonly [string, string],
    headers: Record<string, string> = {},
  ) => (await ask(url, method, path, { ...bodyFor(method), headers })).status
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const doorsOf = ({ url, router }: typeof open) => [url, router.selectionUrl!]

  it('listeners are those of this machine unless told otherwise', () => {
    for (const url of doorsOf(open)) expect(new URL(url).hostname).toBe('127.0.0.1')
  })

  it.each(['0.0.0.0', '::'])('nobody listens on %s without a token', async (host) => {
    const start = async (
      environment: Record<string, string>,
      ports: { main?: number; selection?: number },
    ) => {
      const all = { ROUTER_HTTP_HOST: host, ...environment }
      const settings = readServeSettings({ environment: all })
      const policy = await loadServePolicy({ environment: all })
      await (await startRouter({ settings, policy, ports })).close()
    }
    for (const ports of [{ main: 0 }, { selection: 0 }])
      await expect(start({}, ports)).rejects.toMatchObject({ code: 'ROUTER_CONFIG_INVALID' })
  })

  it('with a token, changes need it; with keys, requests need one; health needs nothing', async () => {
    for (const url of doorsOf(guarded)) {
      for (const path of adminPathsAt(url)) {
        expect([path, await statusOf(url, path), await statusOf(url, path, bearer('key'))]).toEqual([
          path,
          401,
          401,
        ])
        expect(await statusOf(url, path, bearer('secret'))).not.toBe(401)
      }
      for (const path of clientPaths) {
        expect([path, await statusOf(url, path), await statusOf(url, path, bearer('no'))]).toEqual([
          path,
          401,
          401,
        ])
        expect(await statusOf(url, path, bearer('key'))).not.toBe(401)
      }
      for (const path of ['/live', '/health', '/metrics'])
        expect(await statusOf(url, ['GET', path])).toBe(200)
    }
    for (const path of proxiedPaths) {
      const { status, text } = await ask(guarded.url, ...path, bodyFor(path[0]))
      expect([path, status]).toEqual([path, 401])
      expect(JSON.parse(text).error).toMatchObject({ type: 'authentication_error', code: 'unauthorized' })
      expect(await statusOf(guarded.url, path, bearer('key'))).not.toBe(401)
    }
  })

  it('without an admin API its paths are not there', async () => {
    for (const url of doorsOf(withoutAdmin))
      for (const path of [...adminPaths, ...operatorPaths])
        expect([path, await statusOf(url, path)]).toEqual([path, 404])
  })

  it('a foreign Host is refused at every path, whatever it carries', async () => {
    const evil = { host: 'evil.example', ...bearer('secret') }
    for (const url of doorsOf(guarded))
      for (const path of [
        ...adminPathsAt(url),
        ...clientPaths,
        ['GET', '/health'],
        ['GET', '/metrics'],
      ] as const)
        expect([path, await statusOf(url, path, evil)]).toEqual([path, 403])
    for (const path of proxiedPaths)
      expect([path, await statusOf(guarded.url, path, evil)]).toEqual([path, 403])
  })
})
