import { type IncomingHttpHeaders, request as send } from 'node:http'
import { connect } from 'node:net'
import { RouterError } from '@router/sdk'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import type { AnsweredRequest } from '../../src/http/hot-routes.js'
import { type HttpServerOptions, createHttpServer } from '../../src/http/http-server.js'
import { objectOf, optional, text } from '../../src/http/json-fields.js'
import { type JsonRoute, addJsonRoutes } from '../../src/http/json-routes.js'

let open: FastifyInstance | undefined
afterEach(async () => {
  open?.server.closeAllConnections()
  await open?.close()
  open = undefined
})

const readBody = objectOf<{ wanted?: string }>({ wanted: optional(text) })

/** The same work, straight from the server and through the framework. */
function routeAt(path: string, isHot: boolean): JsonRoute {
  return {
    method: 'POST',
    path,
    access: 'client',
    takesBody: true,
    isHot,
    handle: ({ body, header, query }) => {
      const { wanted } = body(readBody)
      if (wanted === 'fault') throw new TypeError('secret')
      if (wanted === 'busy')
        throw new RouterError('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED', 'all are busy', {})
      const facts = { worker_id: 2n ** 63n, wanted, query: query('a'), header: header('x-wanted') }
      const answer = { status: 201, body: facts }
      if (wanted === 'late fault') return Promise.reject(new TypeError('secret'))
      return wanted === 'late' ? Promise.resolve(answer) : answer
    },
  }
}

async function serve(options: Partial<HttpServerOptions> = {}): Promise<{ port: number; unknown: number[] }> {
  const server = createHttpServer({ host: '127.0.0.1', door: 'selection', ...options })
  open = server
  const unknown: number[] = []
  const routes = [routeAt('/hot', true), routeAt('/cold', false)]
  addJsonRoutes(server, routes, { door: 'selection', onUnknownKeys: (count) => unknown.push(count) })
  await server.listen({ host: '127.0.0.1', port: 0 })
  return { port: (server.server.address() as { port: number }).port, unknown }
}

interface Asked {
  readonly method?: string
  readonly query?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

interface Answered {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

function ask(port: number, path: string, asked: Asked): Promise<Answered> {
  const { method = 'POST', query = '', body, headers } = asked
  return new Promise((resolve, reject) => {
    const json = { 'content-type': 'application/json' }
    const sent = send(
      { port, method, path: `${path}${query}`, headers: { ...json, ...headers } },
      (answer) => {
        let answered = ''
        answer.on('data', (chunk) => (answered += String(chunk)))
        answer.on('end', () => {
          const { date: _, ...kept } = answer.headers
          resolve({ status: answer.statusCode, headers: kept, body: answered })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const key = { authorization: 'Bearer one' }

describe('a hot route', () => {
  it.each<[string, number, Asked]>([
    ['a body', 201, { body: '{"wanted":"é","more":1,"most":2}' }],
    ['no body', 400, {}],
    ['a body that is no JSON', 400, { body: '{"wanted":' }],
    ['a value of another kind', 422, { body: '{"wanted":1}' }],
    ['another type', 415, { body: '{}', headers: { 'content-type': 'text/plain' } }],
    ['a type of its own', 201, { body: '{}', headers: { 'content-type': 'Application/X+JSON; a=b' } }],
    ['no key', 401, { body: '{}', headers: { authorization: '' } }],
    ['the host of another', 403, { body: '{}', headers: { host: 'evil.example' } }],
    ['ids as text', 201, { body: '{}', query: '?ids=string&a=b' }],
    ['a key of the query twice', 400, { body: '{}', query: '?ids=string&a=b&a=c' }],
    ['a header', 201, { body: '{}', headers: { 'x-wanted': ' yes ' } }],
    ['chunks', 201, { body: '{}', headers: { 'transfer-encoding': 'chunked' } }],
    ['a body that is too large', 413, { body: `{"wanted":"${'x'.repeat(300)}"}` }],
    [
      'chunks that are too large',
      413,
      { body: `{"wanted":"${'x'.repeat(300)}"}`, headers: { 'transfer-encoding': 'chunked' } },
    ],
    ['a refusal for overload', 429, { body: '{"wanted":"busy"}' }],
    ['a fault of ours', 500, { body: '{"wanted":"fault"}' }],
    ['an answer that comes later', 201, { body: '{"wanted":"late"}' }],
    ['a fault that comes later', 500, { body: '{"wanted":"late fault"}' }],
    ['another verb', 405, { method: 'GET' }],
  ])('answers %s with %i, as others do', async (_what, status, asked) => {
    const { port, unknown } = await serve({
      door: 'proxy',
      access: { apiKeys: ['one'] },
      bodyLimitBytes: 256,
      overload: { statusCode: 529, retryAfterSecs: 7 },
    })
    const request = { ...asked, headers: { ...key, ...asked.headers } }
    const cold = await ask(port, '/cold', request)
    const hot = await ask(port, '/hot', request)
    expect(hot).toEqual(cold)
    expect(hot.status).toBe(status)
    expect(unknown.length % 2).toBe(0)
    if (asked.body?.includes('more') === true) expect(unknown).toEqual([2, 2])
  })

  it('refuses a body that stalls, and closes the connection', async () => {
    const { port } = await serve({ stallMs: 200 })
    const socket = connect(port, '127.0.0.1')
    const head = 'POST /hot HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    socket.write(`${head}content-length: 9\r\n\r\n{"a"`)
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    expect(answer).toMatch(/^HTTP\/1.1 408 .*"code":"request_timeout"/s)
  })

  it('answers requests of one connection in their order', async () => {
    const { port } = await serve()
    const socket = connect(port, '127.0.0.1')
    const one = (wanted: string, more = ''): string => {
      const body = `{"wanted":"${wanted}"}`
      return `POST /hot HTTP/1.1\r\nhost: localhost\r\n${more}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    }
    socket.write(one('late') + one('second') + one('third', 'connection: close\r\n'))
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    expect([...answer.matchAll(/"wanted":"(\w+)"/g)].map((found) => found[1])).toEqual([
      'late',
      'second',
      'third',
    ])
  })

  it('tells what it answered to whoever asks', async () => {
    const { port } = await serve()
    const told: AnsweredRequest[] = []
    open!.hotRoutes.onAnswered = (request) => told.push(request)
    await ask(port, '/hot', { query: '?a=b', body: '{}' })
    await ask(port, '/hot', { body: '{"wanted":"fault"}' })
    const totalMs = expect.any(Number) as number
    expect(told).toEqual([
      { method: 'POST', path: '/hot', status: 201, totalMs },
      { method: 'POST', path: '/hot', status: 500, totalMs },
    ])
  })
})
