import { type Socket, connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { isLoopback } from '../../src/http/access.js'
import { errorTypeOf } from '../../src/http/answers.js'
import { type HttpServerOptions, createHttpServer } from '../../src/http/http-server.js'
import { objectOf, optional, text } from '../../src/http/json-fields.js'
import { type JsonRoute, addJsonRoutes } from '../../src/http/json-routes.js'

const open: { server?: FastifyInstance; sockets: Socket[] } = { sockets: [] }
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy()
  await open.server?.close()
  delete open.server
})

const ok = { status: 200, body: { status: 'ok' } }
const echo = objectOf<{ a?: string }>({ a: optional(text) })

const routes: JsonRoute[] = [
  { method: 'GET', path: '/open', access: 'open', handle: () => ok },
  {
    method: 'GET',
    path: '/items/:id',
    access: 'client',
    handle: ({ parameter }) => ({ ...ok, body: parameter('id') }),
  },
  {
    method: 'GET',
    path: '/query',
    access: 'client',
    handle: ({ query }) => ({ ...ok, body: query('a') ?? null }),
  },
  {
    method: 'POST',
    path: '/echo',
    access: 'client',
    takesBody: true,
    handle: ({ body }) => ({ ...ok, body: body(echo).a ?? null }),
  },
  { method: 'POST', path: '/poke', access: 'client', handle: () => ok },
  { method: 'GET', path: '/admin', access: 'admin', handle: () => ok },
  {
    method: 'GET',
    path: '/broken',
    access: 'client',
    handle: () => {
      throw new TypeError('secret')
    },
  },
]

/** Port of a server with those routes. */
async function serve(options: Partial<HttpServerOptions> = {}): Promise<number> {
  const server = createHttpServer({ host: '127.0.0.1', door: 'selection', ...options })
  open.server = server
  addJsonRoutes(server, routes)
  await server.listen({ host: '127.0.0.1', port: 0 })
  return (server.server.address() as { port: number }).port
}

/** Sends bytes as they are; what comes back until the connection closes, or `until` shows. */
function talk(port: number, bytes: string, until = '\u0000'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    open.sockets.push(socket)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
      if (answer.includes(until)) resolve(answer)
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
    socket.write(bytes)
  })
}

interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

async function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`)
  const answer = await talk(port, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') }
}

const json = { 'content-type': 'application/json' }

describe('paths and verbs', () => {
  it.each([
    ['GET', '/open', 200],
    ['HEAD', '/open', 200],
    ['GET', '/nope', 404],
    ['GET', '/open/', 404],
    ['GET', '/items/', 404],
    ['POST', '/open', 405],
    ['PUT', '/open', 405],
    ['OPTIONS', '/open', 405],
    ['TRACE', '/open', 405],
    ['DELETE', '/items/1', 405],
    ['DELETE', '/items/', 404],
    ['GET', '/echo', 405],
    ['GET', '/items/%ZZ', 400],
    ['GET', '/query?a=1&a=2', 400],
  ])('%s %s is %i', async (method, path, status) => {
    const answer = await ask(await serve(), path, { method })
    expect(answer.status).toBe(status)
    if (status >= 400) expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String) })
    expect(answer.head).toMatch(method === 'HEAD' ? /content-length: 15/ : /content-type: application\/json/)
  })

  it('say what a path takes', async () => {
    expect((await ask(await serve(), '/open', { method: 'POST' })).head).toMatch(/allow: GET, HEAD/)
  })

  it('are decoded', async () => {
    const port = await serve()
    const long = 'x'.repeat(5000)
    expect((await ask(port, '/items/a%2Fb%20c')).body).toBe('"a/b c"')
    expect((await ask(port, `/items/${long}`)).body).toBe(`"${long}"`)
    expect((await ask(port, '/query?a=%C3%A9')).body).toBe('"é"')
  })

  it('a fault of ours says nothing of itself', async () => {
    const { status, body } = await ask(await serve(), '/broken')
    expect([status, body]).toEqual([500, '{"error":"an internal error","code":"internal_error"}'])
  })

  it('the proxy words its refusals as OpenAI does', async () => {
    const { status, body } = await ask(await serve({ door: 'proxy' }), '/nope')
    expect([status, JSON.parse(body)]).toEqual([
      404,
      {
        error: { message: expect.any(String), type: 'invalid_request_error', code: 'not_found', param: null },
      },
    ])
    const broken = await ask(await serve({ door: 'proxy' }), '/broken')
    expect([broken.status, JSON.parse(broken.body).error.type]).toEqual([500, 'server_error'])
    const types = [400, 401, 403, 429, 503, 529].map(errorTypeOf)
    expect(types).toEqual([
      'invalid_request_error',
      'authentication_error',
      'permission_error',
      'rate_limit_error',
      'server_error',
      'server_error',
    ])
  })
})

describe('bodies', () => {
  it.each([
    ['application/json', 200],
    ['Application/JSON; charset=utf-8', 200],
    ['application/vnd.x+json', 200],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['text/json', 415],
    ['application/jsonx', 415],
    ['', 415],
  ])('of type %j: %i', async (type, status) => {
    const answer = await ask(await serve(), '/echo', {
      method: 'POST',
      headers: type === '' ? {} : { 'content-type': type },
      body: '{"a":"é"}',
    })
    expect(answer.status).toBe(status)
  })

  it('are asked for, and otherwise not needed', async () => {
    const port = await serve()
    expect((await ask(port, '/echo', { method: 'POST' })).status).toBe(415)
    expect((await ask(port, '/echo', { method: 'POST', headers: json })).status).toBe(400)
    expect((await ask(port, '/echo', { method: 'POST', headers: json, body: '{}' })).body).toBe('null')
    expect((await ask(port, '/poke', { method: 'POST' })).status).toBe(200)
    expect((await ask(port, '/poke', { method: 'POST', body: 'x' })).status).toBe(415)
  })

  it.each([
    ['gzip', 415],
    ['identity, br', 415],
    ['Identity', 200],
  ])('of encoding %s: %i', async (encoding, status) => {
    const headers = { ...json, 'content-encoding': encoding }
    const answer = await ask(await serve(), '/echo', { method: 'POST', headers, body: '{}' })
    expect(answer.status).toBe(status)
  })

  it('may be as large as the limit', async () => {
    const port = await serve({ bodyLimitBytes: 20 })
    const body = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`
    expect((await ask(port, '/echo', { method: 'POST', headers: json, body: body(20) })).status).toBe(200)
    const refused = await ask(port, '/echo', { method: 'POST', headers: json, body: body(21) })
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([413, 'body_too_large'])
    const chunked = `15\r\n${body(21)}\r\n0\r\n\r\n`
    const head = 'POST /echo HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked'
    expect(await talk(port, `${head}\r\ncontent-type: application/json\r\n\r\n${chunked}`)).toMatch(
      /^HTTP\/1.1 413/,
    )
  })
})

describe('A3: who may call', () => {
  it.each([
    ['localhost', 200],
    ['localhost:8000', 200],
    ['127.0.0.1', 200],
    ['127.8.8.8:1', 200],
    ['[::1]:8000', 200],
    ['router.localhost', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost.evil.example:80', 403],
    ['10.0.0.1', 403],
    ['', 403],
  ])('on loopback a request for host %j is answered %i', async (host, status) => {
    const port = await serve()
    for (const path of ['/open', '/nope'])
      expect((await ask(port, path, { headers: { host } })).status).toBe(
        path === '/nope' && status === 200 ? 404 : status,
      )
  })

  it.each([
    ['HTTP/1.1', '', 'bad_http'],
    ['HTTP/1.1', 'host: localhost\r\nHost: localhost\r\n', 'bad_http'],
    // Its clients need not send one; no name is no name of this machine.
    ['HTTP/1.0', '', 'forbidden_host'],
    ['HTTP/1.0', 'host: localhost\r\n', undefined],
  ])('%s with the hosts %j: %s', async (version, hosts, code) => {
    const [head = '', body = ''] = (await talk(await serve(), `GET /open ${version}\r\n${hosts}\r\n`)).split(
      '\r\n\r\n',
    )
    const status = code === 'bad_http' ? 400 : code === undefined ? 200 : 403
    expect([head.slice(0, 12), JSON.parse(body).code]).toEqual([`HTTP/1.1 ${status}`, code])
    expect(head).toMatch(/connection: close/i)
  })

  it.each([
    ['http://localhost:9/items/1?a=2', 'evil.example', 200],
    ['HTTPS://127.0.0.1/items/1', 'evil.example', 200],
    ['http://evil.example/items/1', 'localhost', 403],
    ['http://localhost@evil.example/items/1', 'localhost', 403],
    ['http://localhost', 'localhost', 404],
    ['http://localhost?a', 'localhost', 404],
    ['http:///items/1', 'localhost', 400],
    ['ftp://localhost/items/1', 'localhost', 400],
    ['*', 'localhost', 400],
  ])('the authority of the URL %s counts, whatever Host %s says: %i', async (url, host, status) => {
    const answer = await ask(await serve(), url, { headers: { host } })
    expect([answer.status, status === 200 ? JSON.parse(answer.body) : '1']).toEqual([status, '1'])
  })

  it('admin routes need their token, client routes a key, where there are any', async () => {
    const port = await serve({ access: { adminToken: 'secret', apiKeys: ['one', 'two'] } })
    const status = async (path: string, authorization?: string) =>
      (await ask(port, path, { headers: authorization === undefined ? {} : { authorization } })).status
    expect(await status('/open')).toBe(200)
    expect([
      await status('/query'),
      await status('/query', 'Bearer two'),
      await status('/query', 'bearer  one'),
    ]).toEqual([401, 200, 200])
    expect([
      await status('/admin'),
      await status('/admin', 'Bearer one'),
      await status('/admin', 'Bearer secret'),
    ]).toEqual([401, 401, 200])
    expect([await status('/admin', 'Basic secret'), await status('/admin', 'Bearer secre')]).toEqual([
      401, 401,
    ])
    expect(await status('/query', 'Bearer secret')).toBe(200)
    const byKey = async (path: string, headers: Record<string, string>) =>
      (await ask(port, path, { headers })).status
    expect([
      await byKey('/query', { 'x-api-key': 'two' }),
      await byKey('/query', { 'x-api-key': 'three' }),
      await byKey('/query', { 'x-api-key': 'two', authorization: 'Bearer three' }),
      await byKey('/admin', { 'x-api-key': 'secret' }),
    ]).toEqual([200, 401, 401, 401])
  })

  it('an admin API that is off is not there', async () => {
    const port = await serve({ access: { adminToken: 'secret', hasNoAdmin: true } })
    expect((await ask(port, '/admin', { headers: { authorization: 'Bearer secret' } })).status).toBe(404)
  })

  it.each(['0.0.0.0', '::', '10.0.0.1', 'router.example'])('nobody binds %s without a token', (host) => {
    const invalid = expect.objectContaining({ code: 'ROUTER_CONFIG_INVALID' })
    expect(() => createHttpServer({ host, door: 'selection' })).toThrow(invalid)
    expect(() => createHttpServer({ host, door: 'selection', access: { apiKeys: ['x'] } })).toThrow(invalid)
    createHttpServer({ host, door: 'selection', access: { adminToken: 'x' } })
    createHttpServer({ host, door: 'selection', access: { hasNoAdmin: true } })
  })

  it('beyond loopback any Host is fine', async () => {
    const port = await serve({ host: '0.0.0.0', access: { adminToken: 'x' } })
    expect((await ask(port, '/open', { headers: { host: 'router.example' } })).status).toBe(200)
  })

  it.each([
    ['127.0.0.1', true],
    ['127.255.0.9', true],
    ['::1', true],
    ['[::1]', true],
    ['::ffff:127.0.0.1', true],
    ['LOCALHOST', true],
    ['0.0.0.0', false],
    ['::', false],
    ['128.0.0.1', false],
    ['localhost.evil', false],
    ['::ffff:127.evil', false],
  ])('%s is this machine: %s', (host, isOwn) => {
    expect(isLoopback(host)).toBe(isOwn)
  })
})

describe('requests that are none', () => {
  it('headers beyond 32 KiB are 431', async () => {
    const port = await serve()
    expect((await ask(port, '/open', { headers: { x: 'y'.repeat(30_000) } })).status).toBe(200)
    const answer = await ask(port, '/open', { headers: { x: 'y'.repeat(33_000) } })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([431, 'headers_too_large'])
  })

  it('a head or a body that does not come is 408, and a slow one that does come is not', async () => {
    const port = await serve({ stallMs: 300 })
    const head = 'POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    expect(await talk(port, head)).toMatch(/^HTTP\/1.1 408 .*request_timeout/s)
    expect(await talk(port, `${head}content-length: 9\r\n\r\n{"a"`)).toMatch(
      /^HTTP\/1.1 408 .*request_timeout/s,
    )
    // An idle connection of an answered request is no stall.
    expect(await talk(port, `${head}content-length: 2\r\n\r\n{}`, 'null')).toMatch(/^HTTP\/1.1 200/)
  })

  it.each([
    ['an expectation', 'expect: a-miracle', 417, 'expectation_failed'],
    ['a coding that is not undone', 'transfer-encoding: gzip, chunked', 501, 'not_implemented'],
  ])('%s: refused in the words of its front door', async (_what, header, status, code) => {
    for (const door of ['selection', 'proxy'] as const) {
      const port = await serve({ door })
      const head = 'POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
      const answer = await talk(port, `${head}${header}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)
      const body = JSON.parse(answer.split('\r\n\r\n')[1]!)
      expect([answer.slice(0, 12), door === 'proxy' ? body.error.code : body.code]).toEqual([
        `HTTP/1.1 ${status}`,
        code,
      ])
      await open.server?.close()
    }
  })

  it('a tunnel, and chunks in HTTP/1.0: refused', async () => {
    const port = await serve()
    expect(await talk(port, 'CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 .*"bad_http"/s,
    )
    const head = 'POST /echo HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    expect(await talk(port, `${head}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 400 .*"bad_http"/s,
    )
  })

  it.each([
    ['two lengths', 'content-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['a length and chunks', 'content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a length that is none', 'content-length: 2x\r\n\r\n{}'],
    ['chunks that are not the last coding', 'transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
    ['a line that is folded', 'x: a\r\n b: c\r\ncontent-length: 2\r\n\r\n{}'],
    ['a name with a space', 'content-length : 2\r\n\r\n{}'],
    ['a bare line feed in a value', 'x: a\nb: c\rcontent-length: 2\r\n\r\n{}'],
    ['a chunk size that is none', 'transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'],
  ])('%s: refused, and the connection closed', async (_what, rest) => {
    const port = await serve()
    const head = 'POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    const next = 'GET /open HTTP/1.1\r\nhost: localhost\r\n\r\n'
    const answer = await talk(port, `${head}${rest}${next}`)
    expect(answer).toMatch(/^HTTP\/1.1 4\d\d/)
    expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1)
  })
})
