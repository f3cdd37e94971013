import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { StreamWatch } from '../../src/proxy/stream-watch.js'
import { chat, chatPath, proxyOf, serverOf } from './support/proxies.js'

const comment = ': keep-alive\n\n'
const event = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'

/** An engine that says only what the test has it say. */
async function silentEngine(): Promise<{ readonly url: string; readonly answered: Promise<ServerResponse> }> {
  let answer: (response: ServerResponse) => void
  const answered = new Promise<ServerResponse>((resolve) => (answer = resolve))
  const { url } = await serverOf((request, response) => {
    request.resume()
    answer(response)
  })
  return { url, answered }
}

it('a stream that is silent gets comments, before its first event and between events, never within one', async () => {
  const engine = await silentEngine()
  const { url } = await proxyOf([engine], { proxy: { sseKeepAliveMs: 40 } })
  const asked = fetch(url + chatPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chat('hello', { stream: true })),
  })
  const upstream = await engine.answered
  upstream.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  const reader = (await asked).body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (holds: () => boolean): Promise<void> => {
    for (;;) {
      if (holds()) return
      const { value, done } = await reader.read()
      if (done) throw new Error(`it ended with: ${text}`)
      text += value
    }
  }
  await until(() => text.startsWith(comment + comment))
  // Half an event does not pass; what is silent is not cut in two.
  upstream.write(event + event.slice(0, 20))
  await until(() => text.includes(event + comment + comment))
  upstream.write(event.slice(20))
  await until(() => text.replaceAll(comment, '') === event + event)
  // Too long to be kept until its end.
  const long = `data: ${'x'.repeat(1024 * 1024)}\n\n`
  upstream.write(long.slice(0, -2))
  await until(() => text.includes(long.slice(0, -2)))
  await sleep(200)
  upstream.end(`${long.slice(-2)}data: [DONE]\n\n`)
  await until(() => text.endsWith('data: [DONE]\n\n'))
  expect(text.replaceAll(comment, '')).toBe(`${event}${event}${long}data: [DONE]\n\n`)
  expect(text).toContain(long)
})

it('answers in one piece get no comments, and streams get none unless they are asked for', async () => {
  for (const [type, sseKeepAliveMs] of [
    ['application/json', 20],
    ['text/event-stream', undefined],
  ] as const) {
    const engine = await silentEngine()
    // So short that it looks often at what is late, which also sends comments.
    const { url } = await proxyOf([engine], { proxy: { sseKeepAliveMs, idleTimeoutMs: 500, retryLimit: 0 } })
    const asked = fetch(url + chatPath, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat('hello', { stream: true })),
    })
    const upstream = await engine.answered
    upstream.writeHead(200, { 'content-type': type })
    upstream.write('{"a"')
    // Until the router gives it up.
    expect(await (await asked).text()).not.toContain('keep-alive')
  }
})

it('an event so long that it passes before its end is no place for a comment', () => {
  const stream = new StreamWatch('chat', false, () => undefined)
  stream.push(Buffer.from(event))
  expect(stream.isWithinEvent).toBe(false)
  stream.push(Buffer.concat([Buffer.from('data: '), Buffer.alloc(1024 * 1024 + 1, 'x')]))
  expect(stream.isWithinEvent).toBe(true)
  stream.push(Buffer.from('xx'))
  expect(stream.isWithinEvent).toBe(true)
  stream.push(Buffer.from('\n\n'))
  expect(stream.isWithinEvent).toBe(false)
})
