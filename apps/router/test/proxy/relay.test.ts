import { describe, expect, test } from 'vitest'
import { ask, chat, chatPath, engineOf, eventsOf, proxyOf } from './support/proxies.js'

describe('A7: an answer passes as the engine gave it', () => {
  test('whole: status, headers, bytes; with the headers of the router', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const answer = await ask(router, chatPath, chat('hello', { max_tokens: 4 }), {
      headers: { 'x-request-id': 'mine' },
    })
    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({ object: 'chat.completion', usage: { completion_tokens: 4 } })
    expect(answer.headers.get('server')).toBe('uvicorn')
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)))
    expect(answer.headers.get('x-router-request-id')).toBe('mine')
    expect(answer.headers.get('x-router-worker')).toBe('1.0')
    expect(answer.headers.get('x-router-overlap-blocks')).toBe('0')
    expect(router.booked()).toBe(0)
    expect(router.finished).toMatchObject([
      {
        requestId: 'mine',
        path: chatPath,
        ending: 'answered',
        status: 200,
        model: 'mock-model',
        workerId: 1n,
        dpRank: 0,
        exactness: 'approximate',
        cause: 'tokenizer_missing',
        attempts: 1,
        usage: { completionTokens: 4 },
      },
    ])
    expect(router.proxy.inFlight).toBe(0)
    expect(router.proxy.sizes).toEqual({
      bodyBytes: 0,
      upstreams: 1,
      responses: 0,
      waitingRetries: 0,
      models: 1,
    })
  })

  test('streamed: every event, without the usage that the client did not ask for, which the router learns all the same', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const body = chat('hello', { max_tokens: 6, stream: true, seed: 1 })
    const answer = await ask(router, chatPath, body)
    const direct = await ask(engine, chatPath, body)
    const stable = (text: string) => eventsOf(text).map(({ choices, usage }) => ({ choices, usage }))
    expect(stable(answer.text)).toEqual(stable(direct.text))
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.text.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(answer.text).not.toContain('usage')
    expect(router.finished).toMatchObject([{ contentChunks: 6, usage: { completionTokens: 6 } }])
    expect(Buffer.from(engine.requests()[0]!.bodyBase64, 'base64').toString()).toContain(
      ',"stream_options":{"include_usage":true}}',
    )
  })

  test('streamed with the usage that the client asked for', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const body = chat('hello', { max_tokens: 2, stream: true, stream_options: { include_usage: true } })
    const answer = await ask(router, chatPath, body)
    expect(eventsOf(answer.text).at(-2)).toMatchObject({ choices: [], usage: { completion_tokens: 2 } })
    expect(Buffer.from(engine.requests()[0]!.bodyBase64, 'base64').toString()).toBe(JSON.stringify(body))
  })
})
