import { expect, it } from 'vitest'
import { engineOf } from '../proxy/support/proxies.js'
import { routerOf, toldEngine } from './support.js'

const json = { 'content-type': 'application/json' }

it('starts in front of engines that are known by their URLs, and answers chats', async () => {
  const engines = [await engineOf(), await toldEngine()]
  const router = await routerOf(engines)
  const ask = async (path: string, body?: object) =>
    fetch(
      router.url + path,
      body === undefined ? {} : { method: 'POST', headers: json, body: JSON.stringify(body) },
    )
  const chat = { model: 'mock-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 }
  const answer = await ask('/v1/chat/completions', chat)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-router-worker')).toMatch(/^\d+\.0$/)
  expect(await answer.json()).toMatchObject({ object: 'chat.completion' })
  const stream = await ask('/v1/chat/completions', { ...chat, stream: true })
  expect(await stream.text()).toMatch(/data: \[DONE\]\n\n$/)
  expect((await ask('/live')).status).toBe(200)
  expect((await ask('/ready')).status).toBe(200)
  const health = await (await ask('/health')).json()
  expect(health).toMatchObject({ partitions: [{ model_name: 'mock-model', workers: 2, schedulable: 2 }] })
  expect((await ask('/v1/nothing')).status).toBe(404)
  expect(await (await ask('/v1/nothing')).json()).toMatchObject({ error: { code: 'not_found' } })
  const selection = await ask('/select', { model_name: 'mock-model', token_ids: [1, 2, 3] })
  expect(selection.status).toBe(200)
  expect(await (await ask('/select', {})).json()).toMatchObject({
    code: expect.any(String),
    error: expect.any(String),
  })
  const metrics = await (await ask('/metrics')).text()
  expect(metrics).toMatch(/^router_requests_total\{router_id="[0-9a-f]{16}"\} 2$/m)
  expect(metrics).toMatch(/^router_state_entries\{.*map="workers".*\} 2$/m)
  router.drain()
  expect((await ask('/ready')).status).toBe(503)
  expect((await ask('/v1/chat/completions', chat)).status).toBe(200)
})
