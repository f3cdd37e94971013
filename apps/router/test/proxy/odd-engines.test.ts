import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../until.js'
import { afterTest, ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

/** An engine that answers every request with these very bytes. */
async function engineThatSays(answer: (socket: Socket) => void): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('data', () => answer(socket))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  afterTest(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const json = 'content-type: application/json\r\ncontent-length: 2\r\n'
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

describe('A1: answers that engines should not give', () => {
  test.each([
    ['a control character', 'O\u0001K\u001b[31m'],
    ['letters beyond ASCII', 'Schön gut'],
    ['nothing', ''],
  ])('a status line that says %s: its text does not pass, the answer does', async (_what, text) => {
    const engine = await engineThatSays((socket) => socket.write(`HTTP/1.1 200 ${text}\r\n${json}\r\n{}`))
    const router = await proxyOf([engine])
    const answer = await ask(router, chatPath, chat('hello'))
    expect([answer.status, answer.text]).toEqual([200, '{}'])
    expect([router.booked(), router.proxy.inFlight]).toEqual([0, 0])
  })

  test('several Connection headers: what any of them names stays here', async () => {
    const headers = 'connection: x-one\r\nconnection: x-two\r\nx-one: 1\r\nx-two: 2\r\nx-three: 3\r\n'
    const engine = await engineThatSays((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\n${headers}${json}\r\n{}`),
    )
    const router = await proxyOf([engine])
    const answer = await ask(router, chatPath, chat('hello'))
    const passed = ['x-one', 'x-two', 'x-three'].filter((name) => answer.headers.has(name))
    expect(passed).toEqual(['x-three'])
  })

  test('a redirect is none, and where an engine says that it is stays here', async () => {
    const where = 'location: http://10.0.0.1:8000/v1/x\r\ncontent-location: http://10.0.0.1:8000/\r\n'
    const saying = async (status: number) =>
      engineThatSays((socket) => socket.write(`HTTP/1.1 ${status} Text\r\n${where}${json}\r\n{}`))
    for (const [engineStatus, status] of [
      [307, 502],
      [301, 502],
      [201, 201],
    ] as const) {
      const router = await proxyOf([await saying(engineStatus)])
      const answer = await ask(router, chatPath, chat('hello'))
      expect([answer.status, answer.headers.get('location'), answer.headers.get('content-location')]).toEqual(
        [status, null, null],
      )
      if (status === 502) expect(answer.json.error).toMatchObject({ code: 'upstream_failed' })
    }
    const router = await proxyOf([await saying(308), await engineOf()])
    for (let turn = 0; turn < 3; turn++)
      expect((await ask(router, chatPath, chat(`${turn}`))).status).toBe(200)
  })

  test.each([
    ['in another case', 'Content-Type: Text/Event-Stream\r\n', 'data: {"choices":[]}\n\n'],
    ['packed', 'content-type: text/event-stream\r\ncontent-encoding: gzip\r\n', '\u001f\u0008'],
  ])('events %s pass as they come', async (_what, type, first) => {
    let end = () => undefined
    const engine = await engineThatSays((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${type}transfer-encoding: chunked\r\n\r\n${chunk(first)}`)
      end = () => void socket.write(chunk('more') + chunk(''))
    })
    const router = await proxyOf([engine])
    const body = JSON.stringify({ ...chat('hello'), stream: true })
    const headers = { 'content-type': 'application/json' }
    const sent = request(`${router.url}${chatPath}`, { method: 'POST', headers })
    sent.end(body)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    answer.setEncoding('utf8').on('data', (part: string) => (text += part))
    await until('the first', () => text === first)
    end()
    await until('all', () => text === `${first}more` && answer.complete)
    expect(router.booked()).toBe(0)
  })

  test('a refusal that does not end costs its connection', async () => {
    let isClosed = false
    const engine = await engineThatSays((socket) => {
      socket.once('close', () => (isClosed = true))
      socket.write('HTTP/1.1 503 Busy\r\ncontent-length: 9\r\n\r\n{')
    })
    const router = await proxyOf([engine])
    expect((await ask(router, chatPath, chat('hello'))).status).toBe(503)
    await until('closed', () => isClosed)
  })

  test.each([
    ['a chat', chatPath, 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
    ['messages', '/v1/messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
    ['a response', '/v1/responses', 'data: {"type":"response.completed","response":{}}\n\n'],
  ])('%s whose stream is cut behind its last event is whole', async (_what, path, events) => {
    const engine = await engineThatSays((socket) => socket.write(streamHead + chunk(events)))
    const router = await proxyOf([engine], { proxy: { idleTimeoutMs: 50 } })
    const { text } = await ask(router, path, { ...chat('hello'), stream: true })
    expect(text).toBe(events)
    await until('told', () => router.finished.length === 1)
    expect(router.finished).toMatchObject([{ ending: 'answered' }])
    expect(router.booked()).toBe(0)
  })
})
