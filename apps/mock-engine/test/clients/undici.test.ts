import { Pool } from 'undici'
import { expect, test } from 'vitest'
import { chat, serverForTests, until } from '../support/mock-server.js'

const engine = await serverForTests({ speedup: 1 })
const post = (body: object) => ({
  method: 'POST' as const,
  path: '/v1/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

test('a pool keeps its connection, and sees the end of a stream', async () => {
  const pool = new Pool(engine.url, { connections: 1 })
  let connections = 0
  pool.on('connect', () => connections++)
  for (let index = 0; index < 3; index++) {
    const { body } = await pool.request(post(chat('hi', { stream: true, max_tokens: 2 })))
    expect((await body.text()).endsWith('data: [DONE]\n\n')).toBe(true)
  }
  expect(connections).toBe(1)
  await pool.close()
})

test('one that aborts frees the engine', async () => {
  const pool = new Pool(engine.url)
  const abort = new AbortController()
  const request = post(chat('hi', { stream: true, max_tokens: 5000, ignore_eos: true }))
  const { body } = await pool.request({ ...request, signal: abort.signal })
  body.on('error', () => {})
  await new Promise((resolve) => body.once('data', resolve))
  abort.abort()
  await until('noticed', () => engine.stats().aborts.decode === 1)
  await until('free', () => engine.stats().ranks[0]!.runningRequests === 0)
  await pool.destroy()
})
