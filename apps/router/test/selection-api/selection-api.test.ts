import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ask, serve, tokens, worker } from './service.js'

// What the recorded scenarios do not show; those are played by `npm run vectors`.

describe('A2: ids beyond 2^53', () => {
  it('go in and out as numbers, or as text when that is asked for', async () => {
    const service = await serve()
    const id = '18446744073709551615'
    const record = `{"worker_id":${id},"endpoint":"http://w","block_size":4}`
    expect((await ask(service, 'POST', '/workers', record)).text).toContain(`"worker_id":${id},`)
    expect((await ask(service, 'POST', '/workers?ids=string', record)).text).toContain(`"worker_id":"${id}",`)
    const pin = `{"token_ids":[1],"pinned_worker":{"worker_id":"${id}","dp_rank":0},"allowed_worker_ids":["${id}"]}`
    expect((await ask(service, 'POST', '/select', pin)).text).toContain(`"worker_id":${id},`)
    expect((await ask(service, 'POST', '/select?ids=string', pin)).text).toContain(`"worker_id":"${id}"`)
    expect((await ask(service, 'GET', `/loads?ids=string`)).text).toContain(`"worker_id":"${id}"`)
    expect((await ask(service, 'DELETE', `/workers/${id}`)).status).toBe(200)
    expect((await ask(service, 'DELETE', '/workers/18446744073709551616')).status).toBe(400)
  })
})

describe('a selection', () => {
  it('tells the best overlap, wherever it is, and what it knows of the load', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    await ask(service, 'POST', '/workers', worker(2, { max_num_batched_tokens: 64 }))
    await ask(service, 'POST', '/reservations', {
      selection_id: 'a',
      worker_id: 1,
      token_ids: tokens(8),
      effective_prefill_tokens: 8,
    })
    const { body } = await ask(service, 'POST', '/select', {
      token_ids: tokens(16),
      allowed_worker_ids: [2],
      advisory: true,
    })
    expect(body).toMatchObject({
      worker_id: 2,
      best_overlap: { worker_id: 1, dp_rank: 0, blocks: 2 },
      worker_load: { active_prefill_tokens: 0, prefill_token_capacity: 64 },
    })
    expect(Object.keys(body)).not.toContain('selection_id')
  })

  it('is explained when asked to, and booked as explained', async () => {
    const service = await serve()
    for (const id of [1, 2]) await ask(service, 'POST', '/workers', worker(id))
    const asked = { token_ids: tokens(8), explain: true, allowed_worker_ids: [2], selection_id: 's' }
    for (const path of ['/select', '/select_and_reserve']) {
      const { status, body } = await ask(service, 'POST', path, asked)
      expect([status, body['worker_id']]).toEqual([200, 2])
      const { rows } = body['explanation'] as { rows: Record<string, unknown>[] }
      expect(rows.map((row) => row['rejection'] ?? 'eligible')).toEqual(['WorkerNotAllowed', 'eligible'])
    }
  })

  it('takes the class from the header before the body, and neither steers yet', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    const header = { 'x-dynamo-meta-policy-class': ' probes ' }
    const { status } = await ask(service, 'POST', '/select', { token_ids: [1], policy_class: 'chat' }, header)
    expect(status).toBe(200)
  })

  it('gives an id of its own to a booking without one', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    const ids = new Set<string>()
    for (let booking = 0; booking < 3; booking++) {
      const { body } = await ask(service, 'POST', '/select_and_reserve', { token_ids: [1] })
      ids.add(String(body['selection_id']))
      expect((await ask(service, 'DELETE', `/reservations/${body['selection_id']}`)).status).toBe(200)
    }
    expect(ids.size).toBe(3)
  })

  it('refused for overload is 429 with Retry-After and a code', async () => {
    const service = await serve({ ROUTER_MAX_REQUESTS_PER_RANK: '1' })
    await ask(service, 'POST', '/workers', worker(1))
    await ask(service, 'POST', '/select_and_reserve', { token_ids: [1] })
    const { status, body, headers } = await ask(service, 'POST', '/select', { token_ids: [1] })
    expect([status, body['code'], headers.get('retry-after')]).toEqual([
      429,
      'all_eligible_workers_overloaded',
      '1',
    ])
    const pinned = { token_ids: [1], pinned_worker: { worker_id: 1, dp_rank: 0 } }
    expect((await ask(service, 'POST', '/select', pinned)).body['code']).toBe('pinned_worker_overloaded')
  })

  it('counts fields that nobody knows', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1, { prefil: 1 }))
    await ask(service, 'POST', '/select', { token_ids: [1], x: {}, router_config_override: { y: 1 } })
    expect(service.unknownFields()).toBe(3)
  })

  it('takes objects in blocks with their place, a start and an end each', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    const status = async (object: object) => {
      const infos = [null, { mm_objects: [{ mm_hash: 7, ...object }] }]
      return (await ask(service, 'POST', '/select', { token_ids: tokens(8), block_mm_infos: infos })).status
    }
    expect(await status({ offsets: [[0, 2]] })).toBe(200)
    for (const wrong of [{}, { offsets: [[0]] }, { offsets: [[0, 1, 2]] }, { offsets: [0, 1] }])
      expect(await status(wrong)).toBe(422)
  })

  it('of hashes that do not fit the length is taken as it comes', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    const hashes = { block_hashes: [1, 2, 3], sequence_hashes: [1, 2, 3], isl_tokens: 5 }
    expect((await ask(service, 'POST', '/select', hashes)).body).toMatchObject({
      effective_prefill_tokens: 5,
      potential_decode_blocks: 3,
    })
  })
})

describe('an overlap report', () => {
  it('weighs what ranks have, with the credit of the request', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    await ask(service, 'POST', '/reservations', { selection_id: 'a', worker_id: 1, token_ids: tokens(12) })
    const credit = async (override?: object) => {
      const query = { token_ids: tokens(12), ...(override && { router_config_override: override }) }
      const { body } = await ask(service, 'POST', '/overlap_scores', query)
      return (body['workers'] as { router_credit_blocks: number }[])[0]!.router_credit_blocks
    }
    expect([await credit(), await credit({ overlap_score_credit: 0.5 })]).toEqual([3, 1.5])
    // An old weight of 0 takes the credit away, as it does from a selection; another one leaves it.
    expect([await credit({ overlap_score_weight: 0 }), await credit({ overlap_score_weight: 2 })]).toEqual([
      0, 3,
    ])
  })
})

describe('workers', () => {
  it('drain when asked to', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1))
    await ask(service, 'POST', '/select_and_reserve', { token_ids: [1], selection_id: 'a' })
    expect((await ask(service, 'DELETE', '/workers/1?drain=true')).body['lifecycle']).toBe('draining')
    expect((await ask(service, 'POST', '/select', { token_ids: [1] })).status).toBe(503)
    expect((await ask(service, 'GET', '/ready')).status).toBe(503)
    expect((await ask(service, 'DELETE', '/reservations/a')).status).toBe(200)
    service.fleet.tick()
    expect((await ask(service, 'GET', '/workers')).body).toEqual([])
  })

  it('show in /loads beside what is booked how many KV blocks their engines said they use', async () => {
    const service = await serve()
    const shape = { total_kv_blocks: 200, data_parallel_size: 2 }
    await ask(service, 'POST', '/workers', worker(1, shape))
    service.fleet.partitions[0]!.noteKvUsage(1n, new Map([[1, 0.25]]))
    const told = async (method: string, path: string, body?: object) =>
      (await ask(service, method, path, body)).text.match(/"kv_used_blocks":\d+/g)
    expect(await told('GET', '/loads')).toEqual(['"kv_used_blocks":50'])
    expect(await told('POST', '/potential_loads', { token_ids: [1] })).toBeNull()
  })

  it('of another role have partitions of their own', async () => {
    const service = await serve()
    await ask(service, 'POST', '/workers', worker(1, { role: 'prefill' }))
    expect((await ask(service, 'POST', '/select', { token_ids: [1] })).status).toBe(503)
    expect((await ask(service, 'GET', '/loads')).body).toMatchObject([
      { role: 'prefill', loads: [{ worker_id: 1 }] },
    ])
    expect(Object.keys((await ask(service, 'GET', '/dump')).body)).toEqual(['default:default:prefill'])
  })

  it.each([
    [{ worker_id: 1.5 }, 422],
    [{ worker_id: null }, 422],
    [{ worker_id: 1, data_parallel_size: 4097 }, 400],
    [{ worker_id: 1, role: 'boss' }, 422],
    [{ worker_id: 1, kv_events_endpoints: { x: 'tcp://127.0.0.1:1' } }, 422],
    [{ worker_id: 1, kv_events_endpoints: { 4294967296: 'x' } }, 422],
    [{ worker_id: 1, taints: [1] }, 422],
  ])('%j is %i', async (record, status) => {
    expect((await ask(await serve(), 'POST', '/workers', record)).status).toBe(status)
  })
})

describe('F5: health', () => {
  it('is ok or degraded with causes, and ready says why not', async () => {
    const service = await serve({ ROUTER_QUEUE_THRESHOLD: '1' })
    const causes = async (path: string) => {
      const { status, body } = await ask(service, 'GET', path)
      const found = body['causes'] as { code: string; scope: string }[]
      // However busy this machine is.
      const own = found.filter(({ code }) => code !== 'slow_event_loop')
      return [status, own.map(({ code, scope }) => `${code} ${scope}`)]
    }
    const inert = 'inert_setting ROUTER_QUEUE_THRESHOLD'
    expect(await causes('/ready')).toEqual([503, [inert, 'no_workers router']])
    await ask(service, 'POST', '/workers', worker(1, { max_num_batched_tokens: 8 }))
    expect(await causes('/ready')).toEqual([200, [inert]])
    expect(await causes('/health')).toEqual([200, [inert]])
    const { body } = await ask(await serve(), 'GET', '/health')
    expect(body).toMatchObject({ status: 'degraded', version: expect.any(String), partitions: [] })
    service.fleet.workers.remove(1n)
    const { body: left } = await ask(service, 'GET', '/health')
    expect(left['partitions']).toEqual([
      {
        model_name: 'default',
        routing_group: 'default',
        role: 'aggregated',
        workers: 0,
        schedulable: 0,
        index: {
          mode: 'approximate',
          complete: true,
          ranks: { connecting: 0, live: 0, recovering: 0, rebuilding: 0, failed: 0 },
          blocks: 0,
        },
        queue: { pending: 0 },
        prediction: { predicted_tokens: 0, reused_tokens: 0 },
      },
    ])
  })
})

describe('A3: with a token and keys', () => {
  it('changes of workers need the one, requests the other', async () => {
    const service = await serve({ ROUTER_ADMIN_TOKEN: 'secret', ROUTER_API_KEYS: 'one,two' })
    const status = async (method: string, path: string, authorization?: string) =>
      (
        await ask(service, method, path, method === 'GET' || method === 'DELETE' ? undefined : {}, {
          ...(authorization !== undefined && { authorization: `Bearer ${authorization}` }),
        })
      ).status
    for (const [method, path] of [
      ['POST', '/workers'],
      ['PATCH', '/workers/1'],
      ['DELETE', '/workers/1'],
      ['GET', '/dump'],
      ['POST', '/replica_sync/register_peer'],
    ] as const) {
      expect([path, await status(method, path), await status(method, path, 'one')]).toEqual([path, 401, 401])
      expect(await status(method, path, 'secret')).not.toBe(401)
    }
    expect([await status('GET', '/loads'), await status('GET', '/loads', 'two')]).toEqual([401, 200])
    expect([await status('POST', '/select'), await status('POST', '/select', 'one')]).toEqual([401, 503])
    expect([await status('GET', '/health'), await status('GET', '/ready')]).toEqual([200, 503])
  })

  it('without an admin API there are no such routes', async () => {
    const service = await serve({ ROUTER_NO_ADMIN_API: 'true' })
    expect((await ask(service, 'POST', '/workers', worker(1))).status).toBe(404)
    expect((await ask(service, 'GET', '/loads')).status).toBe(200)
  })
})

it('a service that closes lets a request end, and frees its port', async () => {
  const service = await serve()
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk) => (answer += String(chunk)))
  const closed = once(socket, 'close')
  socket.write(
    'POST /select HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
      'expect: 100-continue\r\ncontent-length: 2\r\n\r\n',
  )
  await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1.1 100/)
  const closing = service.close(30_000)
  socket.write('{}')
  await Promise.all([closing, closed])
  expect(answer).toMatch(/HTTP\/1.1 503.*not_ready/s)
  await expect(ask(service, 'GET', '/health')).rejects.toThrow()
})

it('and cuts one that does not', async () => {
  const service = await serve()
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  const closed = once(socket, 'close')
  socket.write(
    'POST /select HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n',
  )
  socket.write('content-length: 2\r\n\r\n')
  await once(socket, 'data')
  await service.close(0)
  await closed
})
