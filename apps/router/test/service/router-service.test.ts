import { expect, it } from 'vitest'
import { ask, chat, chatPath, engineOf } from '../proxy/support/proxies.js'
import { routerOf, toldEngine } from './support.js'

const json = { 'content-type': 'application/json' }

it('starts in front of engines that are known by their URLs, and answers chats', async () => {
  const engines = [await engineOf(), await toldEngine()]
  const router = await routerOf(engines)
  const asked = async (path: string, body?: object) =>
    fetch(
      router.url + path,
      body === undefined ? {} : { method: 'POST', headers: json, body: JSON.stringify(body) },
    )
  const request = { model: 'mock-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 }
  const answer = await asked('/v1/chat/completions', request)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-router-worker')).toMatch(/^\d+\.0$/)
  expect(await answer.json()).toMatchObject({ object: 'chat.completion' })
  const stream = await asked('/v1/chat/completions', { ...request, stream: true })
  expect(await stream.text()).toMatch(/data: \[DONE\]\n\n$/)
  expect((await asked('/live')).status).toBe(200)
  expect((await asked('/ready')).status).toBe(200)
  const health = await (await asked('/health')).json()
  expect(health).toMatchObject({ partitions: [{ model_name: 'mock-model', workers: 2, schedulable: 2 }] })
  expect((await asked('/v1/nothing')).status).toBe(404)
  expect(await (await asked('/v1/nothing')).json()).toMatchObject({ error: { code: 'not_found' } })
  const selection = await asked('/select', { model_name: 'mock-model', token_ids: [1, 2, 3] })
  expect(selection.status).toBe(200)
  expect(await (await asked('/select', {})).json()).toMatchObject({
    code: expect.any(String),
    error: expect.any(String),
  })
  const metrics = await (await asked('/metrics')).text()
  expect(metrics).toMatch(/^router_requests_total\{router_id="[0-9a-f]{16}"\} 2$/m)
  expect(metrics).toMatch(/^router_state_entries\{.*map="workers".*\} 2$/m)
  router.drain()
  expect((await asked('/ready')).status).toBe(503)
  expect((await asked('/v1/chat/completions', request)).status).toBe(200)
})

it('shows a part of what a caller sent, however long it is, at every front door', async () => {
  const router = await routerOf([await engineOf()])
  const long = 'x'.repeat(12_000)
  const tokens = { token_ids: [1], model_name: 'mock-model' }
  const held = { ...tokens, selection_id: long.slice(0, 1024) }
  expect((await ask(router, '/select_and_reserve', held)).status).toBe(200)
  const refusals: [path: string, body?: object | undefined, options?: Parameters<typeof ask>[3]][] = [
    [chatPath, chat('hello', { model: long })],
    [chatPath, chat('hello'), { headers: { 'x-dynamo-dp-rank': long } }],
    [chatPath, chat('hello'), { headers: { 'x-router-routing-group': long } }],
    [chatPath, chat('hello'), { headers: { 'content-type': `text/${long}` } }],
    [chatPath, chat('hello'), { headers: { 'content-encoding': long } }],
    [`/v1/responses/${long.slice(0, 256)}`],
    [`/${long}`],
    [`/workers/${long}`, undefined, { method: 'DELETE' }],
    [`/loads?${long}=1&${long}=2`],
    ['/select', { token_ids: [1], model_name: long }],
    ['/select', { ...tokens, routing_group: long }],
    ['/select', { ...tokens, session_context: { session_id: 'a', agent_headers: { [long]: 5 } } }],
    ['/select', { ...tokens, allowed_worker_ids: [long] }],
    ['/select_and_reserve', held],
    ['/select_and_reserve', { ...tokens, selection_id: long.slice(0, 1025) }],
    [`/reservations/${long.slice(1)}/prefill_complete`, {}],
    ['/reservations', { selection_id: `y${long}` }],
    [`/v1/explain?path=${long}`, {}],
    [`/debug/decisions/${long.slice(1)}`],
    [`/debug/decisions?limit=${long}`],
  ]
  for (const [path, body, options] of refusals) {
    const { status, text } = await ask(router, path, body, options)
    const about = `${status} for ${path.slice(0, 30)}: ${text.slice(0, 300)}`
    expect([status >= 400 && status < 504, text.length < 1500, text.includes('x...')], about).toEqual([
      true,
      true,
      true,
    ])
  }
})
