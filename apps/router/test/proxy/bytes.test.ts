import fc from 'fast-check'
import type { MockEngine } from 'router-mock-engine'
import { describe, expect, test } from 'vitest'
import { chatBodies } from './support/bodies.js'
import { ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

const bodyOf = (engine: MockEngine, at = -1): string =>
  Buffer.from(engine.requests().at(at)!.bodyBase64, 'base64').toString()

/** Names in lower case, the last value of each. */
const headersOf = (engine: MockEngine): Record<string, string> => {
  const raw = engine.requests().at(-1)!.rawHeaders
  return Object.fromEntries(
    raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1]!] as const] : [])),
  )
}

describe('A7: what an engine is sent', () => {
  test('is what the client sent, byte for byte, the splices undone, over 200 bodies', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const bodies = fc.sample(chatBodies, { seed: 8, numRuns: 200 })
    for (const { text } of bodies) await ask(router, chatPath, text)
    expect(engine.requests()).toHaveLength(200)
    engine.requests().forEach(({ bodyBase64 }, index) => {
      const got = Buffer.from(bodyBase64, 'base64').toString()
      const { withoutNvext } = bodies[index]!
      expect(withoutUsage(got, withoutNvext)).toBe(withoutNvext)
    })
    expect(router.finished.filter(({ status }) => status === 200).length).toBeGreaterThan(50)
  }, 120_000)

  test('bodies of any path and kind, broken ones for the engine too', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const cases: [string, string][] = [
      ['/v1/completions', '{"model":"mock-model","prompt":[1,2,3],"max_tokens":1,"echo":true,"logprobs":1}'],
      ['/v1/embeddings', '{"model":"mock-model", "input":["a","b"]}'],
      ['/v1/rerank', '{"model":"mock-model","query":"a","documents":["b","c"]}'],
      ['/v1/score', '{"model":"mock-model","text_1":"a","text_2":"b"}'],
      ['/pooling', '{"model":"mock-model","input":"a"}'],
      ['/tokenize', '{"model":"mock-model","prompt":"a"}'],
      ['/detokenize', '{"model":"mock-model","tokens":[1]}'],
      ['/v1/messages', '{"model":"mock-model","max_tokens":2,"messages":[{"role":"user","content":"a"}]}'],
      ['/v1/messages/count_tokens', '{"model":"mock-model","messages":[{"role":"user","content":"a"}]}'],
      ['/v1/responses', '{"model":"mock-model","input":"a","max_output_tokens":2}'],
      [chatPath, '{"model":"mock-model","messages":7}'],
    ]
    const statuses: number[] = []
    for (const [path, body] of cases) {
      statuses.push((await ask(router, `${path}?a=b%20c`, body)).status)
      expect(bodyOf(engine)).toBe(body)
      expect(engine.requests().at(-1)!.url).toBe(`${path}?a=b%20c`)
    }
    expect(statuses).toEqual([...cases.slice(1).map(() => 200), 400])
    expect(router.booked()).toBe(0)
    const nothing = router.finished.filter(({ exactness }) => exactness === 'nothing').map(({ path }) => path)
    expect(nothing).toEqual(
      expect.arrayContaining([
        '/v1/embeddings',
        '/v1/rerank',
        '/v1/score',
        '/pooling',
        '/tokenize',
        '/v1/messages/count_tokens',
      ]),
    )
  })

  test('has the headers of the client, without those of its connection and of the router', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const headers = {
      'x-custom': 'kept',
      authorization: 'Bearer client',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-router-routing-group': 'default',
      'x-router-anything': 'dropped',
      'x-dynamo-request-priority': '3',
      'x-tenant-id': 'tenant',
      'x-data-parallel-rank': '0',
      'proxy-authorization': 'dropped',
      'accept-encoding': 'gzip, br',
    }
    expect((await ask(router, chatPath, chat('hello', { max_tokens: 1 }), { headers })).status).toBe(200)
    const got = headersOf(engine)
    expect(got).toMatchObject({
      'x-custom': 'kept',
      authorization: 'Bearer client',
      traceparent: headers.traceparent,
      'accept-encoding': 'identity',
      host: engine.url.slice(7),
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bodyOf(engine))),
    })
    const dropped = [
      'x-router-routing-group',
      'x-router-anything',
      'x-dynamo-request-priority',
      'x-tenant-id',
      'x-data-parallel-rank',
      'proxy-authorization',
    ]
    expect(Object.keys(got).filter((name) => dropped.includes(name))).toEqual([])
    expect(JSON.parse(bodyOf(engine))).toMatchObject({ cache_salt: 'dynamo-cache-salt:tenant' })
  })

  test("not a client's key where the router has keys of its own, and never the router's", async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], {
      access: { apiKeys: ['secret'] },
      proxy: { passesAuthorization: false },
    })
    const body = chat('hello', { max_tokens: 1 })
    const refused = await ask(router, chatPath, body, { headers: { authorization: 'Bearer wrong' } })
    expect([refused.status, refused.json.error.code]).toEqual([401, 'unauthorized'])
    expect((await ask(router, chatPath, body, { headers: { authorization: 'Bearer secret' } })).status).toBe(
      200,
    )
    expect(headersOf(engine)['authorization']).toBeUndefined()
    expect((await ask(router, chatPath, body, { headers: { 'x-api-key': 'secret' } })).status).toBe(200)
    expect(headersOf(engine)['x-api-key']).toBeUndefined()
  })

  test("the admin token never, a client's own key where the router asks for none", async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], { access: { adminToken: 'secret' } })
    for (const [name, own, foreign] of [
      ['authorization', 'Bearer secret', 'Bearer mine'],
      ['x-api-key', 'secret', 'mine'],
    ] as const)
      for (const value of [own, foreign]) {
        const body = chat('hello', { max_tokens: 1 })
        expect((await ask(router, chatPath, body, { headers: { [name]: value } })).status).toBe(200)
        expect(headersOf(engine)[name]).toBe(value === own ? undefined : value)
      }
  })

  test("a worker's own key in place of the client's, where it is of a trusted source", async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], { apiKeyOf: (id) => (id === 1n ? 'engine-key' : undefined) })
    const headers = { authorization: 'Bearer client' }
    const body = { model: 'mock-model', input: 'hello', max_output_tokens: 1 }
    const made = await ask(router, '/v1/responses', body, { headers })
    expect(headersOf(engine)['authorization']).toBe('Bearer engine-key')
    await ask(router, `/v1/responses/${made.json.id}`, undefined, { headers })
    expect(engine.requests().at(-1)!.method).toBe('GET')
    expect(headersOf(engine)['authorization']).toBe('Bearer engine-key')
    const { registration } = router.fleet.workers.get(1n)!
    router.fleet.workers.upsert(registration, 'api')
    await ask(router, '/v1/responses', body, { headers })
    expect(headersOf(engine)['authorization']).toBe('Bearer client')
  })

  test('the booked rank, but where the engine chooses its rank itself: that is counted, and nothing is believed', async () => {
    const engine = await engineOf({ ranks: 2 })
    const router = await proxyOf([engine], { worker: { dataParallelSize: 2 } })
    router.fleet.workers.learn(1n, { engine: 'sglang', models: [{ id: 'mock-model' }] })
    const words = 'the same words again. '.repeat(40)
    const found: unknown[] = []
    for (const [path, body] of [
      ['/v1/responses', { model: 'mock-model', input: words, max_output_tokens: 1 }],
      ['/v1/responses', { model: 'mock-model', input: words, max_output_tokens: 1 }],
      [chatPath, chat(words, { max_tokens: 1 })],
    ] as const) {
      const answer = await ask(router, path, body)
      found.push([headersOf(engine)['x-data-parallel-rank'], answer.headers.get('x-router-overlap-blocks')])
    }
    expect(found).toEqual([
      [undefined, '0'],
      [undefined, '0'],
      [expect.stringMatching(/^[01]$/), '0'],
    ])
    expect(
      router.finished.map(({ ignoredHints, predictedTokens }) => [ignoredHints, predictedTokens]),
    ).toEqual([
      [['data_parallel_rank'], undefined],
      [['data_parallel_rank'], undefined],
      [[], 0],
    ])
    expect(router.booked()).toBe(0)
  })

  test('the booked rank, where a worker has several', async () => {
    const engine = await engineOf({ ranks: 3 })
    const router = await proxyOf([engine], { worker: { dataParallelSize: 3 } })
    const pin = (rank: number) => ({ headers: { 'x-dynamo-dp-rank': String(rank) } })
    for (const rank of [2, 0, 1]) {
      const answer = await ask(router, chatPath, chat('hello', { max_tokens: 1 }), pin(rank))
      expect(answer.headers.get('x-router-worker')).toBe(`1.${rank}`)
      expect(headersOf(engine)['x-data-parallel-rank']).toBe(String(rank))
    }
    // A client's own, which is trusted here.
    await ask(router, chatPath, chat('hello', { max_tokens: 1 }), {
      headers: { 'x-data-parallel-rank': '2' },
    })
    expect(headersOf(engine)['x-data-parallel-rank']).toBe('2')
    // Of those workers that have the rank, however idle the others are.
    for (let other = 0; other < 4; other++) router.add(engine, { dataParallelSize: 1 })
    const chosen = await ask(router, chatPath, chat('bye', { max_tokens: 1 }), pin(2))
    expect(chosen.headers.get('x-router-worker')).toBe('1.2')
    expect(router.booked()).toBe(0)
  })
})

/** Takes out of a body what asks for usage, where the client's has it otherwise. */
function withoutUsage(got: string, sent: string): string {
  if (got === sent) return got
  const candidates = [
    got.replace(/,"stream_options":\{"include_usage":true\}\}$/, '}'),
    got.replace(',"include_usage":true}', '}'),
    got.replace('"include_usage":true}', '}'),
    got.replace('{"include_usage":true}', 'null'),
    got.replace('"include_usage":true,', '"include_usage":false,'),
  ]
  return candidates.find((candidate) => candidate === sent) ?? got
}
