import { expect, test } from 'vitest'
import { createLogger } from '../../src/observe/router-log.js'
import type { LogLevel } from '../../src/settings/serve-settings.js'
import { type Answer, type Json, ask, chat, chatPath } from '../proxy/support/proxies.js'
import { routerOf, toldEngine } from '../service/support.js'
import { until } from '../until.js'

// What operators look into, over HTTP, in front of engines that tell what they hold.

async function toldRouter(count: number, more: Parameters<typeof routerOf>[2] = {}) {
  const engines = await Promise.all(Array.from({ length: count }, () => toldEngine()))
  const workers = engines.map(({ url, kvEventsEndpoints: [events], replayEndpoints: [replay] }) => ({
    // With a replay socket it does not matter who is there first.
    url: `${url},kv_events_endpoint=${events},replay_endpoint=${replay}`,
  }))
  return { engines, router: await routerOf(workers, {}, more) }
}

/** Integers of 64 bits as texts. */
const exact = ({ text }: Answer): Json =>
  JSON.parse(text.replaceAll(/(?<=[:[,])(\d{16,20})(?=[,\]}])/g, '"$1"'))

const explain = (router: { readonly url: string }, body: unknown, path?: string, headers = {}) =>
  ask(router, `/v1/explain${path === undefined ? '' : `?path=${path}`}`, body, { headers })

const secret = 'the quick brown fox knows a password'
const tokens = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at)

test('Q6: explaining a request changes nothing, and names the rank that it would go to', async () => {
  // Engines that tell nothing: what they told late would be a change.
  const router = await routerOf(await Promise.all([1, 2, 3].map(() => toldEngine())))
  const { fleet } = router
  const [partition] = fleet.partitions
  await ask(router, chatPath, chat(secret, { max_tokens: 1 }))
  await until('idle', () => partition!.router.ledger.live === 0)
  for (let turn = 0; turn < 5; turn++) {
    const before = partition!.router.snapshot()
    const explained = exact(await explain(router, chat(`${secret} ${turn}`)))
    await explain(router, { prompt: tokens(500, 64), model: 'mock-model' }, '/v1/completions')
    await explain(router, { token_ids: tokens(900, 64), model_name: 'mock-model' }, '/select')
    expect(partition!.router.snapshot()).toEqual(before)
    const made = await ask(router, chatPath, chat(`${secret} ${turn}`, { max_tokens: 1 }))
    const { worker_id: workerId, dp_rank: dpRank } = explained.chosen
    expect(made.headers.get('x-router-worker')).toBe(`${workerId}.${dpRank}`)
    await until('idle again', () => partition!.router.ledger.live === 0)
  }
  expect(router.decisions.latest(100)).toHaveLength(6)
})

test('a request of every front door can be explained; what cannot is refused', async () => {
  const { router } = await toldRouter(1)
  const completion = await explain(router, { prompt: tokens(5, 40) }, '/v1/completions')
  expect(exact(completion)).toMatchObject({
    request_id: null,
    path: '/v1/completions',
    routed_on: { exactness: 'exact', approximate: false, prompt_tokens: 40, blocks: 2 },
    ranks: [{ contributions: [{}], total: expect.any(Number) }],
  })
  const embedded = exact(await explain(router, { input: secret }, '/v1/embeddings'))
  expect(embedded.routed_on).toMatchObject({ exactness: 'nothing', blocks: 0 })
  const selection = { model_name: 'mock-model', token_ids: tokens(1, 48), allowed_worker_ids: [] }
  const selected = exact(await explain(router, selection, '/select_and_reserve'))
  expect(selected).toMatchObject({
    chosen: null,
    error: { code: 'ROUTER_NO_ENDPOINTS' },
    ranks: [{ rejection: 'WorkerNotAllowed' }],
  })
  for (const [body, path, status, code] of [
    [{}, '/v1/models', 400, 'bad_request'],
    [{}, '/workers', 400, 'bad_request'],
    ['{', undefined, 400, 'invalid_json'],
    [{ model: 'nobody', messages: [] }, undefined, 404, 'not_found'],
    [{ model_name: 'nobody', token_ids: [1] }, '/select', 503, 'not_ready'],
  ] as const) {
    const answer = await explain(router, body, path)
    expect([answer.status, answer.json.code], path).toEqual([status, code])
  }
})

test('a decision is told by the id of its request: whoever was in question, and why it is this one', async () => {
  const { router } = await toldRouter(2)
  const made = await ask(router, chatPath, chat(secret, { max_tokens: 2 }), {
    headers: { 'x-request-id': 'mine/7' },
  })
  const found = await ask(router, '/debug/decisions/mine%2F7')
  expect(found.status).toBe(200)
  const { decisions } = exact(found)
  expect(decisions).toHaveLength(1)
  const [{ chosen, ranks, ...record }] = decisions
  expect(`${chosen.worker_id}.${chosen.dp_rank}`).toBe(made.headers.get('x-router-worker'))
  expect(record).toMatchObject({ request_id: 'mine/7', path: chatPath, attempt: 1, model_name: 'mock-model' })
  expect(ranks).toHaveLength(2)
  const reserved = await ask(router, '/select_and_reserve', {
    model_name: 'mock-model',
    token_ids: tokens(1, 64),
    selection_id: 'two',
    explain: true,
  })
  const listed = exact(await ask(router, '/debug/decisions?limit=5'))
  expect(listed).toMatchObject({
    recorded: 2,
    kept: 2,
    decisions: [{ request_id: 'two' }, { request_id: 'mine/7' }],
  })
  // Of the selection that was booked, not of one before or after.
  const { explanation, worker_id: workerId } = exact(reserved)
  expect([explanation.chosen.worker_id, listed.decisions[0].chosen.worker_id]).toEqual([workerId, workerId])
  expect(found.text + listed + reserved.text).not.toMatch(/quick|brown|password/)
  expect((await ask(router, '/debug/decisions/nobody')).status).toBe(404)
  for (const limit of ['x', '-1', '10001', ''])
    expect((await ask(router, `/debug/decisions?limit=${limit}`)).status, limit).toBe(400)
})

test('a worker and the index of its ranks tell what is known of them', async () => {
  const { router } = await toldRouter(1)
  const { fleet } = router
  await ask(router, chatPath, chat(secret, { max_tokens: 1 }))
  const [view] = fleet.workers.list()
  const { workerId } = view!.registration
  const path = `/debug/index/${workerId}/0`
  await until(
    'told',
    () =>
      fleet.partitions[0]!.router.index.currentSize > 0 &&
      fleet.workers.eventReports(workerId)[0]!.state === 'live',
  )
  const worker = exact(await ask(router, `/debug/workers/${workerId}`))
  expect(worker).toMatchObject({
    worker_id: String(workerId),
    lifecycle: 'schedulable',
    origin: 'trusted',
    provenance: { model_name: 'learned', block_size: 'learned' },
    incarnation: 0,
    served_models: [{ id: 'mock-model', parent: null }],
    hindrances: [],
    loads: [{ dp_rank: 0, active_requests: 0 }],
    event_sockets: [{ socket_rank: 0, state: 'live' }],
    events: { stored: { ok: expect.any(Number) } },
  })
  const index = exact(await ask(router, path))
  expect(index.device_blocks).toBeGreaterThan(0)
  expect(index).toEqual({
    worker_id: String(workerId),
    dp_rank: 0,
    incarnation: 0,
    is_known: true,
    block_size: 16,
    device_blocks: expect.any(Number),
    predicted_blocks: null,
    content_chunks: expect.any(Number),
    source: 'events',
    socket_rank: 0,
    state: 'live',
    causes: [],
    cursor: expect.any(Number),
  })
  fleet.workers.setHindrances(workerId, [{ code: 'probe_failed', detail: 'status 500', sinceMs: 0 }])
  expect(exact(await ask(router, `/debug/workers/${workerId}`)).hindrances).toMatchObject([
    { code: 'probe_failed', detail: 'status 500', since_secs: expect.any(Number) },
  ])
  fleet.workers.upsert({ workerId: 9n, modelName: 'm', endpoint: '' }, 'api')
  expect(exact(await ask(router, '/debug/workers/9'))).toMatchObject({ lifecycle: 'incomplete', loads: [] })
  for (const [wrong, status] of [
    ['/debug/workers/1', 404],
    ['/debug/workers/x', 400],
    ['/debug/workers/18446744073709551616', 400],
    [`/debug/index/${workerId}/1`, 404],
    [`/debug/index/${workerId}/-1`, 400],
    ['/debug/index/1/0', 404],
    ['/debug/index/9/0', 404],
  ] as const)
    expect((await ask(router, wrong)).status, wrong).toBe(status)
})

test('all of it is for administrators alone', async () => {
  const paths = ['/debug/decisions', '/debug/decisions/1', '/debug/workers/1', '/debug/index/1/0'] as const
  const router = await routerOf([await toldEngine()], { 'no-admin-api': 'true' })
  for (const path of paths) expect((await ask(router, path)).json.error, path).toBe('there is no such path')
  const explained = await explain(router, chat('hello'))
  expect([explained.status, explained.json.error]).toEqual([404, 'there is no such path'])
})

test('U1: turn 2 goes to the worker of turn 1, and the record says that it is for its overlap', async () => {
  const { router } = await toldRouter(4)
  for (let seed = 0; seed < 50; seed++) {
    const words = Array.from({ length: 60 }, (_, at) => `w${(seed * 7919 + at * 104_729) % 9973}`).join(' ')
    const first = await ask(router, chatPath, chat(words, { max_tokens: 4 }))
    const holder = first.headers.get('x-router-worker')!
    const said = first.json.choices[0].message.content
    const messages = [
      { role: 'user', content: words },
      { role: 'assistant', content: said },
      { role: 'user', content: 'go on' },
    ]
    const body = { model: 'mock-model', messages, max_tokens: 1 }
    const record = exact(await explain(router, body))
    const second = await ask(router, chatPath, body)
    expect(second.headers.get('x-router-worker'), `seed ${seed}`).toBe(holder)
    const ranks: Json[] = record.ranks
    const credit = ranks.map(({ worker_id: id, dp_rank: rank, cache }) => [
      `${id}.${rank}`,
      cache.credited_tokens,
    ])
    expect(credit.filter(([, credited]) => credited > 0).map(([rank]) => rank)).toEqual([holder])
    const own = ranks.find(({ worker_id: id }) => holder === `${id}.0`)!
    expect(own.total).toBe(Math.min(...ranks.map(({ total }) => total)))
  }
})

test('U10: without a tokenizer: one warning, a cause, and content chunks in every record', async () => {
  const warnings: string[] = []
  const { router } = await toldRouter(1, { onWarning: ({ code }) => warnings.push(code) })
  for (let turn = 0; turn < 25; turn++)
    await ask(router, chatPath, chat(`${secret} ${turn}`, { max_tokens: 1 }))
  const { json: health } = await ask(router, '/health')
  expect(health.causes.map(({ code }: Json) => code)).toContain('tokenizer_missing')
  await ask(router, '/health')
  expect(warnings.filter((code) => code === 'tokenizer_missing')).toHaveLength(1)
  const records = router.decisions.latest(100) as Json[]
  expect(records).toHaveLength(25)
  for (const { routed_on: routedOn } of records) {
    expect(routedOn).toMatchObject({
      exactness: 'approximate',
      cause: 'tokenizer_missing',
      approximate: true,
    })
    expect(routedOn.chunks).toBeGreaterThan(0)
    expect(routedOn.prompt_tokens).toBeGreaterThan(0)
  }
})

test('every request has its line: of the proxy at level info, of the other routes at debug', async () => {
  const linesAt = async (level: LogLevel, count: number) => {
    const lines: string[] = []
    const log = createLogger({ format: 'json', level, write: (line) => lines.push(line) })
    const router = await routerOf([await toldEngine()], {}, { log })
    await ask(router, chatPath, chat(secret, { max_tokens: 1 }), { headers: { 'x-request-id': 'mine' } })
    await ask(router, `/workers?model_name=${secret.replaceAll(' ', '+')}`)
    await ask(router, '/nowhere')
    const requests = () =>
      lines.map((line) => JSON.parse(line) as Json).filter(({ message }) => message.endsWith('request'))
    // Lines come when answers are gone.
    await until('all are told', () => requests().length >= count)
    expect(lines.join('')).not.toMatch(/quick|brown|password/)
    return requests().map(({ level: at, path, status, id }) => [at, path, status, id])
  }
  const access = ['info', chatPath, 200, 'mine']
  expect(await linesAt('info', 1)).toEqual([access])
  const atDebug = await linesAt('debug', 3)
  expect(atDebug.toSorted()).toEqual([
    ['debug', '/nowhere', 404, undefined],
    ['debug', '/workers', 200, undefined],
    access,
  ])
})

test('beyond the sample a client that is trusted asks for the record of its request; one that is not does so in vain', async () => {
  const headers = { 'x-router-record-decision': '1' }
  const recordedOf = async (flags: Record<string, string>) => {
    const engine = await toldEngine()
    const router = await routerOf([engine], { 'decision-records-per-second': '0', ...flags })
    await ask(router, chatPath, chat(secret, { max_tokens: 1 }))
    await ask(router, chatPath, chat(secret, { max_tokens: 1 }), { headers })
    return router.decisions.recorded
  }
  expect(await recordedOf({})).toBe(1)
  expect(await recordedOf({ 'trusted-routing-headers': 'false' })).toBe(0)
})
