import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { bodyBytesLimit } from '../../src/http/http-server.js'
import { RequestLog, recordedBytesLimit } from '../../src/http/request-log.js'
import { storedResponsesLimit } from '../../src/http/response-store.js'
import { startMockEngine } from '../../src/index.js'
import { ask, chat, eventsOf, serverForTests, until } from '../support/mock-server.js'
import { RawClient } from '../support/raw-client.js'

const engine = await serverForTests({ recordRequests: 3, keepAliveMs: 600_000 })
const path = '/v1/chat/completions'

describe('a body', () => {
  test('that is no JSON is refused in words', async () => {
    for (const text of ['{', 'null null', '{"messages": [1'])
      expect((await ask(engine, path, text)).json.error).toMatchObject({
        code: 400,
        message: expect.stringContaining('JSON'),
      })
    const invalidUtf8 = Buffer.from(JSON.stringify(chat('caf\u00e9')), 'latin1')
    expect((await ask(engine, path, invalidUtf8)).json.error).toMatchObject({
      code: 400,
      message: expect.stringContaining('JSON'),
    })
    for (const body of ['null', '[]', '5', '"x"']) expect((await ask(engine, path, body)).status).toBe(400)
    expect((await ask(engine, path, '')).json.error.message).toContain('Field required')
    const text = await ask(engine, path, JSON.stringify(chat('x')), {
      headers: { 'content-type': 'text/plain' },
    })
    expect(text.json.error.message).toContain("Only 'application/json' is allowed")
  })

  test('with lone surrogates is answered', async () => {
    const { status, json } = await ask(
      engine,
      path,
      '{"messages":[{"role":"user","content":"\\ud800 x \\udfff"}],"max_tokens":1}',
    )
    expect([status, json.usage.completion_tokens]).toEqual([200, 1])
  })

  test('that is nested beyond the stack is refused in words', async () => {
    const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)
    const message = `{"role":"user","content":"x"}`
    for (const fields of [
      `"messages":[{"role":"user","content":${deep}}]`,
      `"messages":[${message}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep}}}]`,
    ])
      expect((await ask(engine, path, `{${fields}}`)).json.error).toMatchObject({
        code: 400,
        message: 'the body is nested too deeply',
      })
  })

  test('whose text is too long whatever its tokens are is refused before they are counted', async () => {
    const own = await serverForTests({ maxModelTokens: 512 })
    // The longest token of the built-in model has 144 characters.
    const text = 'x'.repeat(512 * 144 + 1)
    for (const [where, body] of [
      [path, chat(text)],
      ['/v1/completions', { prompt: text }],
      ['/v1/embeddings', { input: text }],
      ['/v1/score', { text_1: text, text_2: 'x' }],
    ] as const)
      expect((await ask(own, where, body)).json.error, where).toMatchObject({
        code: 400,
        param: 'input_text',
      })
    const fits = { prompt: text.slice(1) }
    expect((await ask(own, '/v1/completions', fits)).json.error.param).toBe('input_tokens')
    // Unless it is to be cut, or only counted.
    expect((await ask(own, '/tokenize', { prompt: text })).json.count).toBeGreaterThan(512)
    const cut = { prompt: text, truncate_prompt_tokens: 5, max_tokens: 1 }
    expect((await ask(own, '/v1/completions', cut)).json.usage.prompt_tokens).toBe(5)
  })

  test('may have 256 MiB, and not more', async () => {
    expect(bodyBytesLimit).toBe(268_435_456)
    const client = new RawClient(engine)
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytesLimit + 1}\r\n\r\n`,
    )
    await until('refused', () => client.received.includes('HTTP/1.1 413'))
    client.leave()
    const large = JSON.stringify(chat('x', { user: 'u'.repeat(3_000_000), max_tokens: 1 }))
    expect((await ask(engine, path, large)).status).toBe(200)
  })
})

describe('connections', () => {
  test('look like those of uvicorn: kept, without a word about it', async () => {
    const { headers } = await ask(engine, '/health')
    expect(headers.get('server')).toBe('uvicorn')
    expect([headers.get('keep-alive'), headers.get('connection')]).toEqual([null, null])
    const client = new RawClient(engine).get('/version')
    await until('answered', () => client.received.includes('version'))
    client.get('/health')
    await until('answered again', () => client.received.split('HTTP/1.1 200').length === 3)
    expect(client.received.toLowerCase()).not.toContain('keep-alive')
    client.leave()
  })

  test('are closed in order when they were idle for long', async () => {
    const own = await serverForTests({ keepAliveMs: 50 })
    const client = new RawClient(own).get('/version')
    await until('closed when idle', () => client.ending !== undefined)
    expect([client.ending, client.received.includes('200 OK')]).toEqual(['end', true])
  })

  test('are closed after 5 s unless told otherwise', async () => {
    const { mockEngineSettings } = await import('../../src/options.js')
    expect(mockEngineSettings({}).keepAliveMs).toBe(5000)
  })

  test('on which no HTTP is spoken get what uvicorn says to that', async () => {
    for (const text of ['NOT HTTP\r\n\r\n', 'GET / HTTP/1.1\r\nhost: x\r\nno header\r\n\r\n']) {
      const client = new RawClient(engine).write(text)
      await until('closed', () => client.ending === 'end')
      expect(client.received).toMatch(
        /^HTTP\/1\.1 400 [^]*text\/plain[^]*\r\n\r\nInvalid HTTP request received\.$/u,
      )
    }
    const client = new RawClient(engine).get('/v1/responses/%ff')
    await until('answered', () => client.received.includes('"message":"Not Found"'))
    client.leave()
  })

  test('are closed when the client asks for it', async () => {
    const client = new RawClient(engine).write('GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await until('closed', () => client.ending === 'end')
    expect(client.received).toContain('HTTP/1.1 200')
  })
})

describe('recorded requests', () => {
  test('are the last ones byte by byte, of the engine only', async () => {
    const body = '{"prompt" :  "caf\\u00e9 é", "max_tokens":1}'
    for (let index = 0; index < 3; index++) await ask(engine, '/health')
    await ask(engine, '/v1/completions?x=1', body, { headers: { 'X-Mixed-Case': 'yes' } })
    const { requests } = (await ask(engine, '/admin/requests')).json
    expect(requests).toHaveLength(3)
    expect(requests[2]).toMatchObject({ method: 'POST', url: '/v1/completions?x=1' })
    expect(Buffer.from(requests[2].body_base64, 'base64').toString()).toBe(body)
    const at = requests[2].raw_headers.findIndex((name: string) => name.toLowerCase() === 'x-mixed-case')
    expect(requests[2].raw_headers[at + 1]).toBe('yes')
    expect(engine.requests().at(-1)!.bodyBase64).toBe(requests[2].body_base64)
  })

  test('are bounded by bytes too, and none are kept unless asked for', () => {
    expect(recordedBytesLimit).toBe(256 * 1024 * 1024)
    const log = new RequestLog(10, 100)
    const add = (url: string, bytes: number) => log.add('POST', url, [], new Uint8Array(bytes))
    add('/a', 30)
    add('/b', 30)
    expect(log.list().map(({ url }) => url)).toEqual(['/a', '/b'])
    add('/c', 30)
    expect(log.list().map(({ url }) => url)).toEqual(['/b', '/c'])
    add('/d', 300)
    expect(log.list().map(({ url }) => url)).toEqual(['/b', '/c'])
    const off = new RequestLog(0)
    off.add('POST', '/a', [], undefined)
    expect(off.list()).toEqual([])
  })

  test('and responses have bounds that are said', () => {
    expect(storedResponsesLimit).toEqual({ count: 1000, bytes: 256 * 1024 * 1024 })
  })
})

describe('a server', () => {
  test('shares nothing with another one of the same process', async () => {
    const [one, other] = await Promise.all([
      startMockEngine({ speedup: 1000, model: 'one' }),
      startMockEngine({ speedup: 1000, model: 'two' }),
    ])
    await ask(one, '/v1/completions', { prompt: 'x', model: 'one' })
    expect(one.port).not.toBe(other.port)
    expect([one.stats().tokens.generated, other.stats().tokens.generated]).toEqual([16, 0])
    expect((await ask(other, '/metrics')).text).toContain(
      'vllm:generation_tokens_total{model_name="two",engine="0"} 0',
    )
    await Promise.all([one.close(), other.close()])
    expect(await one.ended).toBe('closed')
    await one.close()
  })

  test('says where its events are, rank by rank', async () => {
    const own = await startMockEngine({
      ranks: 2,
      events: { endpoint: 'tcp://127.0.0.1:0', replayEndpoint: 'tcp://127.0.0.1:0' },
    })
    expect(own.kvEventsEndpoints).toHaveLength(2)
    expect(own.replayEndpoints).toHaveLength(2)
    expect(new Set([...own.kvEventsEndpoints, ...own.replayEndpoints]).size).toBe(4)
    expect(engine.kvEventsEndpoints).toEqual([])
    await own.close()
  })

  test('answers what runs before it ends, when drained', async () => {
    const own = await startMockEngine({ speedup: 1000, keepAliveMs: 600_000 })
    own.addFault({ kind: 'health_lies', says: 200 })
    const idle = new RawClient(own).get('/health')
    await until('answered', () => idle.received.includes('200'))
    const pending = ask(own, path, chat('x', { stream: true }))
    await until('it waits', () => own.stats().ranks[0]!.waitingRequests === 1)
    const drained = own.drain()
    await until('no more connections', () =>
      fetch(own.url).then(
        () => false,
        () => true,
      ),
    )
    own.removeFaults()
    expect(eventsOf((await pending).text).at(-1)).toBe('[DONE]')
    await drained
    expect(await own.ended).toBe('closed')
    await until('the idle one is closed', () => idle.ending === 'end')
  })

  test('cuts what runs when closed', async () => {
    const own = await startMockEngine()
    own.addFault({ kind: 'health_lies', says: 200 })
    const client = new RawClient(own).post(path, chat('x'))
    await until('it waits', () => own.stats().ranks[0]!.waitingRequests === 1)
    await own.close()
    await until('cut', () => client.ending !== undefined)
    expect(client.received).toBe('')
  })

  test('refuses options that it does not know or that cannot be', async () => {
    const code = 'MOCK_ENGINE_OPTION_INVALID'
    const refused = (options: object, text: string) =>
      expect(startMockEngine(options as never)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(text),
      })
    await refused({ prot: 1 }, 'unknown option prot; accepted: host, port,')
    await refused({ port: 70_000 }, 'port: got 70000')
    await refused({ replyTokens: 0 }, 'replyTokens')
    await refused({ blockSize: 1 }, 'blockSize')
    await refused({ model: ['a', 'b'], loraAdapters: ['b'] }, "'b' is named twice")
    await refused({ faults: [{ kind: 'no' }] }, 'accepted: hang, slow')
    await refused({ flavour: 'llama' }, 'vllm, sglang')
    await expect(startMockEngine({ modelFolder: '/nowhere' })).rejects.toMatchObject({
      code: 'MOCK_ENGINE_MODEL_INVALID',
    })
  })

  test('says that its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    await expect(startMockEngine({ port })).rejects.toMatchObject({
      code: 'MOCK_ENGINE_LISTEN_FAILED',
      message: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    })
    other.close()
  })

  test('listens where it is told to, and says how to reach it', async () => {
    const own = await serverForTests({ host: '0.0.0.0' })
    expect(own.url).toBe(`http://127.0.0.1:${own.port}`)
    expect((await ask(own, '/health')).status).toBe(200)
  })

  test('has switches: cached tokens, ids of requests, a folder as model', async () => {
    const own = await serverForTests({
      promptTokensDetails: false,
      requestIdHeaders: true,
      modelFolder: engine.modelFolder,
    })
    const { json, headers } = await ask(own, path, chat('x'), { headers: { 'x-request-id': 'mine' } })
    expect(json.usage.prompt_tokens_details).toBeNull()
    expect(headers.get('x-request-id')).toBe('mine')
    const same = await ask(engine, path, chat('x'))
    expect(json.choices[0].message.content).toBe(same.json.choices[0].message.content)
    expect((await ask(own, '/v1/models')).json.data[0].root).toBe(engine.modelFolder)
  })
})
