import { type Server, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../until.js'
import { afterTest, ask, chat, chatPath, eventsOf, proxyOf } from './support/proxies.js'

type Handler = NonNullable<Parameters<typeof createServer>[1]>

async function serverOf(answer: Handler): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  afterTest(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

const event = (text: string) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`
const streaming = { 'content-type': 'text/event-stream' }
const stream = chat('hello', { stream: true })

describe('A7: streams', () => {
  test.each([
    ['in the middle of an event', `${event('a')}data: {"choices":[{"delta":{"cont`],
    ['between events', event('a')],
    ['after a comment', `${event('a')}: ping\n\n`],
  ])('that are cut %s end with one error event, and nothing broken before it', async (_where, sent) => {
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming).write(sent)
      setTimeout(() => response.destroy(), 30)
    })
    const router = await proxyOf([engine])
    const { text } = await ask(router, chatPath, stream)
    const whole = sent.slice(0, sent.lastIndexOf('\n\n') + 2)
    expect(text.startsWith(whole)).toBe(true)
    expect(eventsOf(text.slice(whole.length))).toEqual([
      { error: expect.objectContaining({ code: 'upstream_failed' }) },
    ])
    expect(router.finished).toMatchObject([{ ending: 'broken', contentChunks: 1 }])
  })

  test('of the Anthropic API end with an error of theirs', async () => {
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming).write('event: ping\ndata: {"type":"ping"}\n\n')
      setTimeout(() => response.destroy(), 30)
    })
    const router = await proxyOf([engine])
    const { text } = await ask(router, '/v1/messages', { ...stream, max_tokens: 5 })
    expect(text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"api_error"[^\n]+\n\n$/)
  })

  test('in which the engine reports an error end there: its event passes, its [DONE] does not', async () => {
    const error = 'data: {"error": {"message": "out of memory"}}\n\n'
    const engine = await serverOf((_request, response) =>
      response.writeHead(200, streaming).end(`${event('a')}${error}data: [DONE]\n\n`),
    )
    const router = await proxyOf([engine])
    expect((await ask(router, chatPath, stream)).text).toBe(event('a') + error)
    expect(router.booked()).toBe(0)
  })

  test('that stand still are ended after the idle time-out', async () => {
    const engine = await serverOf(
      (_request, response) => void response.writeHead(200, streaming).write(event('a')),
    )
    const router = await proxyOf([engine], { proxy: { idleTimeoutMs: 100 } })
    const { text } = await ask(router, chatPath, stream)
    expect(eventsOf(text).at(-1)).toMatchObject({ error: { code: 'upstream_timeout' } })
  })

  test('that go on are ended when the request as a whole is too late', async () => {
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming)
      const timer = setInterval(() => response.write(event('a')), 10)
      response.once('close', () => clearInterval(timer))
    })
    const router = await proxyOf([engine], { proxy: { requestTimeoutMs: 200 } })
    const { text } = await ask(router, chatPath, stream)
    expect(eventsOf(text).at(-1)).toMatchObject({ error: { code: 'upstream_timeout' } })
    expect(router.booked()).toBe(0)
  })

  test('get no refusal into their midst when what follows on the connection is no request', async () => {
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming).write(event('a'))
    })
    const router = await proxyOf([engine])
    const body = JSON.stringify(stream)
    const received = await new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: router.port })
      afterTest(() => socket.destroy())
      let text = ''
      socket.write(
        `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      socket.once('data', () => socket.write('JUNK\r\n\r\n'))
      socket.on('data', (chunk) => (text += chunk.toString()))
      socket.once('close', () => resolve(text))
    })
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
    await until('freed', () => router.booked() === 0)
    expect(router.finished).toMatchObject([{ ending: 'client_gone' }])
  })

  test('leave with their headers in one write', async () => {
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming).flushHeaders()
      setTimeout(() => response.end(event('a')), 50)
    })
    const router = await proxyOf([engine])
    const body = JSON.stringify(stream)
    const first = await new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: router.port })
      afterTest(() => socket.destroy())
      socket.write(
        `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      socket.once('data', (chunk) => resolve(chunk.toString()))
    })
    expect(first).toContain('HTTP/1.1 200')
    expect(first).toContain(event('a'))
  })
})

describe('back-pressure', () => {
  test('a client that does not read stops its engine; it gets everything once it reads', async () => {
    const line = event('x'.repeat(16_000))
    const total = 4000
    let written = 0
    const engine = await serverOf((_request, response) => {
      response.writeHead(200, streaming)
      const more = (): void => {
        while (written < total) {
          written++
          if (!response.write(line)) {
            response.once('drain', more)
            return
          }
        }
        response.end()
      }
      more()
    })
    const router = await proxyOf([engine])
    const body = JSON.stringify(stream)
    const socket = connect({ host: '127.0.0.1', port: router.port })
    afterTest(() => socket.destroy())
    socket.pause()
    socket.write(
      `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    let last = -1
    let still = 0
    await until('it stands still', () => {
      still = written > 0 && written === last ? still + 1 : 0
      last = written
      return still === 200
    })
    expect(written).toBeLessThan(total)
    expect(router.proxy.inFlight).toBe(1)
    let received = 0
    socket.on('data', (chunk) => (received += chunk.length))
    socket.resume()
    await new Promise((resolve) => socket.once('end', resolve))
    expect(received).toBeGreaterThan(total * line.length)
    expect(written).toBe(total)
  })

  test('an answer that is too large to be kept back passes whole', async () => {
    const text = JSON.stringify({ data: 'x'.repeat(5_000_000), usage: { prompt_tokens: 3 } })
    const engine = await serverOf((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
        .end(text),
    )
    const router = await proxyOf([engine])
    const answer = await ask(router, '/v1/embeddings', { model: 'mock-model', input: 'x' })
    expect(answer.text).toBe(text)
    expect(answer.headers.get('content-length')).toBe(String(text.length))
  })
})
