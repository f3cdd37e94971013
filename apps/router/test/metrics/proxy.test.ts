import { describe, expect, it } from 'vitest'
import { createHttpServer } from '../../src/http/http-server.js'
import { addJsonRoutes } from '../../src/http/json-routes.js'
import { type ProxyHost, ask, chat, chatPath, engineOf, proxyOf, serverOf } from '../proxy/support/proxies.js'
import { until } from '../until.js'
import { factsOf, measured, measuredFleet } from './support.js'

const stages = [
  'block_hashing',
  'seq_hashing',
  'indexer_find_matches',
  'scheduling',
  'shared_cache_query',
  'total',
]

/** Metrics of a proxy. Requests that are over are told of when something is read. */
function measuredProxy(router: ProxyHost) {
  const { metrics, value: read, families } = measured(router.fleet)
  metrics.attach(router)
  const value = (series: string): ReturnType<typeof read> => {
    for (const facts of router.finished.splice(0)) metrics.finished(facts)
    return read(series)
  }
  return { value, families }
}

describe('M4: stages of a request', () => {
  it('have one value each, whatever it is routed on and however often it is sent', async () => {
    const [faulty, sound] = [await engineOf(), await engineOf()]
    const router = await proxyOf([faulty, sound])
    const { value } = measuredProxy(router)
    const model = 'mock-model'
    const bodies: [path: string, body: object][] = [
      ['/v1/completions', { model, prompt: Array.from({ length: 64 }, (_, at) => at), max_tokens: 2 }],
      [chatPath, chat('by its content', { max_tokens: 2, stream: false })],
      [chatPath, chat('as a stream', { max_tokens: 3, stream: true })],
      ['/v1/embeddings', { model, input: ['one', 'two'] }],
      ['/tokenize', { model, prompt: 'nothing to route on' }],
    ]
    for (const [path, body] of bodies) expect((await ask(router, path, body)).status).toBe(200)
    expect(router.finished.map(({ wantsStream }) => wantsStream)).toEqual([false, false, true, false, false])
    faulty.addFault({ kind: 'error', status: 500 })
    let tries = 0
    for (let turn = 0; tries < 2; turn++) {
      expect((await ask(router, chatPath, chat(`tried ${turn}`, { max_tokens: 1 }))).status).toBe(200)
      tries = Math.max(...router.finished.map(({ attempts }) => attempts))
    }
    // Nobody routed these.
    expect((await ask(router, chatPath, { model: 'unknown', messages: [] })).status).toBe(404)
    expect((await ask(router, chatPath, 'no json')).status).toBe(400)
    const requests = router.finished.filter(({ attempts }) => attempts > 0).length
    expect(await value('router_requests_started_total')).toBe(requests)
    expect(await value('router_requests_total')).toBe(requests)
    for (const stage of stages) {
      expect([stage, await value(`router_overhead_${stage}_ms_count`)]).toEqual([stage, requests])
    }
    expect(await value('router_overhead_total_ms_sum')).toBeGreaterThan(0)
    expect(await value('router_model_rejection_total{endpoint="chat_completions",reason="not_found"}')).toBe(
      1,
    )
    expect(await value('router_fallbacks_total{cause="tokenizer_missing"}')).toBeGreaterThan(2)
    expect(await value('router_model_migration_total{migration_type="new_request"}')).toBe(1)
    expect(await value('router_time_to_first_token_seconds_count')).toBe(1)
    expect(await value('router_inter_token_latency_seconds_count')).toBe(1)
  })

  it('a refusal is counted by where it was, and why, also one that nobody looked into', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], { access: { apiKeys: ['key'] } })
    const { value } = measuredProxy(router)
    const key = { authorization: 'Bearer key' }
    const path = '/v1/responses'
    const { json } = await ask(router, path, { model: 'mock-model', input: 'a' }, { headers: key })
    await engine.close()
    const refusals: [status: number, endpoint: string, reason: string, ...Parameters<typeof ask>][] = [
      [401, 'chat_completions', 'unauthorized', router, chatPath, chat('a')],
      [405, 'chat_completions', 'method_not_allowed', router, chatPath, undefined, { headers: key }],
      [
        415,
        'embeddings',
        'unsupported_media_type',
        router,
        '/v1/embeddings',
        '{}',
        { headers: { ...key, 'content-type': 'text/plain' } },
      ],
      [401, 'models', 'unauthorized', router, '/v1/models'],
      [404, 'responses', 'not_found', router, `${path}/resp_none`, undefined, { headers: key }],
      [502, 'responses', 'upstream_failed', router, `${path}/${json.id}`, undefined, { headers: key }],
    ]
    for (const [status, endpoint, reason, ...request] of refusals) {
      expect((await ask(...request)).status).toBe(status)
      expect(
        await value(`router_model_rejection_total{endpoint="${endpoint}",reason="${reason}"}`),
        reason,
      ).toBe(1)
    }
    expect(await value('router_requests_started_total')).toBe(await value('router_requests_total'))
  })

  it('a stale connection is no selection more', async () => {
    let requests = 0
    const engine = await serverOf((request, response) => {
      requests++
      if (requests === 2) request.socket.resetAndDestroy()
      else response.setHeader('content-type', 'application/json').end('{}')
      request.resume()
    })
    const router = await proxyOf([engine])
    const { value } = measuredProxy(router)
    for (let turn = 0; turn < 2; turn++)
      expect((await ask(router, chatPath, chat('hello '.repeat(100)))).status).toBe(200)
    expect([requests, await value('router_fallbacks_total{cause="stale_connection"}')]).toEqual([3, 1])
    expect(await value('router_kv_hit_rate_count')).toBe(2)
    expect(await value('router_requests_total')).toBe(2)
    expect(await value('router_model_migration_total{migration_type="new_request"}')).toBe(0)
  })

  it('of the selection API too, once a booking', async () => {
    const { add, reserve, select, fleet, value } = measuredFleet()
    add(1)
    select('ab', {}, 'kept')
    reserve('a', 'ab')
    expect(await value('router_overhead_total_ms_count')).toBe(1)
    fleet.reserveSelected({ model: 'default', routingGroup: 'default', role: 'aggregated' }, 'kept')
    for (const stage of stages) expect(await value(`router_overhead_${stage}_ms_count`)).toBe(2)
    expect(await value('router_requests_total')).toBe(2)
  })
})

describe('requests in flight', () => {
  it('show where they are, and which client went first', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const { value } = measuredProxy(router)
    engine.addFault({ kind: 'health_lies', says: 200 })
    const leaving = new AbortController()
    const asked = ask(router, chatPath, chat('hello', { stream: true }), { signal: leaving.signal })
    await until('arrived', () => engine.stats().ranks[0]!.waitingRequests === 1)
    expect(await value('router_stage_requests{stage="dispatch",phase="aggregated"}')).toBe(1)
    expect([await value('router_active_requests'), await value('router_requests_total')]).toEqual([1, 0])
    const rank = '{worker_id="1",dp_rank="0",worker_type="aggregated"}'
    expect(await value(`router_worker_active_prefill_tokens${rank}`)).toBeGreaterThan(0)
    leaving.abort()
    await expect(asked).rejects.toThrow()
    await until('over', () => router.finished.length === 1)
    expect(await value('router_stage_requests{stage="dispatch",phase="aggregated"}')).toBe(0)
    expect(
      await value('router_model_cancellation_total{endpoint="chat_completions",request_type="stream"}'),
    ).toBe(1)
    expect(await value(`router_worker_active_prefill_tokens${rank}`)).toBe(0)
  })
})

describe('series of workers', () => {
  const names = [
    'router_worker_active_decode_blocks',
    'router_worker_active_prefill_tokens',
    'router_worker_last_time_to_first_token_seconds',
    'router_worker_last_input_sequence_tokens',
    'router_worker_last_inter_token_latency_seconds',
    'router_worker_registered',
    'router_worker_incarnations_total',
  ]

  it('M4: end with their worker, and with the ranks that it has no more', async () => {
    const { add, fleet, metrics, families } = measuredFleet()
    add(1, { dataParallelSize: 2 })
    add(2)
    metrics.finished(factsOf({ workerId: 1n, dpRank: 1 }))
    metrics.finished(factsOf({ workerId: 2n }))
    const counts = async () => {
      const all = await families()
      return names.map((name) => all.get(name)!.series.size)
    }
    expect(await counts()).toEqual([3, 3, 2, 2, 2, 2, 2])
    fleet.workers.patch(1n, { dataParallelSize: 1 })
    expect(await counts()).toEqual([2, 2, 1, 1, 1, 2, 2])
    fleet.workers.patch(1n, { dataParallelSize: 2 })
    expect(await counts()).toEqual([3, 3, 1, 1, 1, 2, 2])
    fleet.workers.remove(2n)
    metrics.finished(factsOf({ workerId: 2n }))
    expect(await counts()).toEqual([2, 2, 0, 0, 0, 1, 1])
    const kept = (await families())
      .get('router_state_entries')!
      .series.get('router_state_entries{map="metric_workers"}')
    expect(kept).toBe(1)
  })

  it('forget what was measured when their engine is another process, and count its lives', async () => {
    const { add, fleet, metrics, value } = measuredFleet()
    add(1)
    metrics.finished(factsOf())
    const last = 'router_worker_last_time_to_first_token_seconds'
    const rank = '{worker_id="1",dp_rank="0",worker_type="aggregated"}'
    expect(await value(last + rank)).toBe(0.2)
    fleet.workers.restarted(1n, 'outage')
    expect(await value(last + rank)).toBeUndefined()
    expect(await value('router_worker_incarnations_total{worker_id="1"}')).toBe(2)
  })

  it('tell by state and reason what keeps workers from requests', async () => {
    const { add, fleet, value, families } = measuredFleet()
    add(1)
    add(2)
    add(3)
    add(4, { endpoint: '' })
    fleet.reserve(
      { model: 'default', routingGroup: 'default', role: 'aggregated' },
      { prompt: { tokens: [1] }, terms: { pinnedWorker: { workerId: 3n, dpRank: 0 } } },
      { requestId: 'a' },
    )
    fleet.workers.drain(3n)
    fleet.workers.setHindrances(2n, [
      { code: 'inhibited', detail: '', sinceMs: 0 },
      { code: 'breaker_open', detail: '', sinceMs: 0 },
    ])
    const states = ['available', 'excluded', 'pending'].map((state) =>
      value(`router_workers{state="${state}"}`),
    )
    expect(await Promise.all(states)).toEqual([1, 2, 1])
    expect(Object.fromEntries((await families()).get('router_worker_state')!.series)).toEqual({
      'router_worker_state{state="available",reason="none"}': 1,
      'router_worker_state{state="excluded",reason="inhibited"}': 1,
      'router_worker_state{state="excluded",reason="breaker_open"}': 1,
      'router_worker_state{state="excluded",reason="draining"}': 1,
      'router_worker_state{state="pending",reason="incomplete"}': 1,
    })
  })
})

describe('the books', () => {
  it('are looked at once a minute; bookings that expired stay counted', async () => {
    const { add, reserve, fleet, clock, metrics, value } = measuredFleet()
    add(1)
    reserve('a', 'ab')
    const [{ router }] = fleet.partitions as [(typeof fleet.partitions)[0]]
    let audits = 0
    const { ledger } = router
    const audit = ledger.audit.bind(ledger)
    ledger.audit = () => {
      audits++
      return [...audit(), { what: 'a count', expected: 1, actual: 2 }]
    }
    for (const ms of [0, 59_000, 60_000, 61_000, 120_000]) {
      clock.ms = ms
      metrics.tick()
    }
    expect([audits, await value('router_ledger_violations_total')]).toEqual([2, 2])
    for (let turn = 0; turn < 20; turn++) {
      clock.ms += 31_000
      fleet.tick()
    }
    expect([ledger.live, await value('router_bookings_expired_total')]).toEqual([0, 1])
  })
})

describe('GET /metrics', () => {
  it('is open where other paths ask for keys, and takes no other verb', async () => {
    const { metrics } = measuredFleet()
    const access = { apiKeys: ['secret'], adminToken: 'secret too' }
    const server = createHttpServer({ host: '127.0.0.1', door: 'selection', access })
    addJsonRoutes(server, metrics.routes())
    const url = `${await server.listen({ host: '127.0.0.1', port: 0 })}/metrics`
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, metrics.contentType])
    expect(await answer.text()).toContain(
      '\n# TYPE router_requests_total counter\nrouter_requests_total{router_id="r1"} 0\n',
    )
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(url, { method: 'PUT' })).status).toBe(405)
    server.server.closeAllConnections()
    await server.close()
  })
})
