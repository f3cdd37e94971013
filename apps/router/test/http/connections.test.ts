import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { type HttpServerOptions, createHttpServer } from '../../src/http/http-server.js'
import { until } from '../until.js'

const open: { server?: FastifyInstance; sockets: Socket[] } = { sockets: [] }
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy()
  open.server?.server.closeAllConnections()
  await open.server?.close()
  delete open.server
})

/** A client of a server where all requests go to `front`. */
async function clientOf(
  front: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<HttpServerOptions> = {},
) {
  const server = createHttpServer({
    host: '127.0.0.1',
    door: 'proxy',
    ...options,
    front: (request, response) => {
      front(request, response)
      return true
    },
  })
  open.server = server
  await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  open.sockets.push(socket)
  const client = { socket, received: '' }
  socket.on('data', (chunk) => (client.received += String(chunk))).on('error', () => undefined)
  return client
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

test('requests that are sent without waiting are taken one after the other', async () => {
  const taken: ServerResponse[] = []
  const { socket } = await clientOf((_request, response) => taken.push(response))
  socket.write(get('/1') + get('/2') + get('/3'))
  for (let at = 0; at < 3; at++) {
    await until('taken', () => taken.length > at)
    expect(taken).toHaveLength(at + 1)
    expect(taken[at]!.req.url).toBe(`/${at + 1}`)
    taken[at]!.end('x')
  }
  // What waited for its turn is taken as any other, and can be told when its client goes.
  socket.write(get('/4') + get('/5'))
  await until('the fourth', () => taken.length === 4)
  taken[3]!.end('x')
  await until('the fifth', () => taken.length === 5)
  let isGone = false
  taken[4]!.once('close', () => (isGone = true))
  socket.destroy()
  await until('told', () => isGone)
})

test('too many of them cost the connection, and what waits with them is never taken', async () => {
  let taken = 0
  const { socket } = await clientOf(() => taken++)
  socket.write(get('/x').repeat(65))
  await until('taken', () => taken === 1)
  expect(socket.destroyed).toBe(false)
  socket.write(get('/x'))
  await until('closed', () => socket.destroyed)
  expect(taken).toBe(1)
})

test('a client that takes nothing of a whole answer is let go', async () => {
  let isGone = false
  const { socket } = await clientOf(
    (_request, response) => response.once('close', () => (isGone = true)).end(Buffer.alloc(32 * 1024 * 1024)),
    { keepAliveMs: 100 },
  )
  socket.pause()
  socket.write(get('/'))
  await until('gone', () => isGone)
})

test('a body that comes steadily must be there in time', async () => {
  const client = await clientOf((request) => request.resume(), { stallMs: 200, arrivalMs: 200 })
  client.socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n')
  const trickle = setInterval(() => client.socket.write('x'), 10)
  await until('closed', () => client.socket.destroyed)
  clearInterval(trickle)
  expect(client.received).toMatch(/^HTTP\/1.1 408 .*"code":"request_timeout"/s)
})
