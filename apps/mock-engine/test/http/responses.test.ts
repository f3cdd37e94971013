import { describe, expect, test } from 'vitest'
import { ResponseStore } from '../../src/http/response-store.js'
import { type Json, ask, eventsOf, serverForTests, until } from '../support/mock-server.js'

const engine = await serverForTests()
const say = (body: object) => ask(engine, '/v1/responses', body)
const get = (id: string, query = '') => ask(engine, `/v1/responses/${id}${query}`)
const cancel = (id: string) => ask(engine, `/v1/responses/${id}/cancel`, '', { method: 'POST' })
const tools = [
  {
    type: 'function',
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
]

/** Runs something while nothing is generated. */
async function whileHung<Result>(run: () => Promise<Result>): Promise<Result> {
  engine.addFault({ kind: 'health_lies', says: 200 })
  try {
    return await run()
  } finally {
    engine.removeFaults()
  }
}

describe('a response', () => {
  test('is answered and kept', async () => {
    const { status, json } = await say({ input: 'hello', instructions: 'be kind', metadata: { a: 'b' } })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      id: expect.stringMatching(/^resp_/u),
      object: 'response',
      status: 'completed',
      model: 'mock-model',
      instructions: 'be kind',
      metadata: { a: 'b' },
      error: null,
      incomplete_details: null,
      output: [
        {
          id: expect.stringMatching(/^msg_/u),
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: expect.any(String), annotations: [], logprobs: [] }],
        },
      ],
    })
    const { usage } = json
    expect(usage).toEqual({
      input_tokens: expect.any(Number),
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 32,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input_tokens + 32,
    })
    expect((await get(json.id)).json).toEqual(json)
    const unkept = await say({ input: 'hello', store: false })
    expect((await get(unkept.json.id)).json.error).toMatchObject({ code: 404, param: 'response_id' })
  })

  test('may be cut, or called, or of a form', async () => {
    expect((await say({ input: 'x', max_output_tokens: 3 })).json).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 3 },
    })
    expect((await say({ input: 'x', tools, tool_choice: 'required' })).json.output).toEqual([
      {
        id: expect.stringMatching(/^fc_/u),
        type: 'function_call',
        call_id: expect.stringMatching(/^call_/u),
        name: 'weather',
        arguments: '{"city":""}',
        status: 'completed',
      },
    ])
    const named = { type: 'function', name: 'weather' }
    expect((await say({ input: 'x', tools, tool_choice: named })).json.output[0].type).toBe('function_call')
    const format = {
      type: 'json_schema',
      name: 'x',
      schema: { type: 'object', properties: { a: { type: 'null' } }, required: ['a'] },
    }
    expect((await say({ input: 'x', text: { format } })).json.output[0].content[0].text).toBe('{"a":null}')
  })

  test('goes on with an earlier one, whose prompt is in the cache', async () => {
    const input = 'A question that fills some blocks of the cache, word by word by word. '.repeat(4)
    const first = (await say({ input, instructions: 'be kind' })).json
    const text = first.output[0].content[0].text
    const second = (await say({ input: 'and then?', previous_response_id: first.id })).json
    const messages = [
      { role: 'user', content: input },
      { role: 'assistant', content: text },
      { role: 'user', content: 'and then?' },
    ]
    const { count } = (await ask(engine, '/tokenize', { messages })).json
    // Instructions are not kept.
    expect(second.usage.input_tokens).toBe(count)
    expect(second.previous_response_id).toBe(first.id)
    const third = (await say({ input: [{ role: 'user', content: 'more' }], previous_response_id: second.id }))
      .json
    const said = second.usage.input_tokens + second.usage.output_tokens - 1
    expect(third.usage.input_tokens_details.cached_tokens).toBe(Math.floor(said / 16) * 16)
    expect((await say({ input: 'x', previous_response_id: 'resp_no' })).json.error).toMatchObject({
      code: 404,
      param: 'previous_response_id',
    })
  })

  test('is a prompt that chat would have, item by item', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
    const messages = [
      { role: 'user', content: 'hi\nthere' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ]
    const { count } = (await ask(engine, '/tokenize', { messages })).json
    const { json } = await say({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'hi' },
            { type: 'input_text', text: 'there' },
          ],
        },
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
      ],
    })
    expect(json.usage.input_tokens).toBe(count)
    for (const item of [
      { type: 'item_reference' },
      { type: 'message' },
      { role: 'user', content: [{ type: 'input_file' }] },
    ])
      expect((await say({ input: [item] })).status).toBe(400)
  })
})

describe('a stream', () => {
  test('has the typed events of the API, numbered', async () => {
    const events = eventsOf((await say({ input: 'hello', stream: true, max_output_tokens: 2 })).text)
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.incomplete',
    ])
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
    const { response } = events.at(-1)!
    expect(events.map(({ delta }) => delta ?? '').join('')).toBe(response.output[0].content[0].text)
    expect(events[6].text).toBe(response.output[0].content[0].text)
    expect(events[8].item).toEqual(response.output[0])
    expect((await get(response.id)).json).toEqual(response)
    expect((await get(response.id, '?stream=true')).status).toBe(400)
  })

  test('has a call in pieces', async () => {
    const { text } = await say({ input: 'x', stream: true, tools, tool_choice: 'required' })
    expect(text.startsWith('event: response.created\ndata: ')).toBe(true)
    const events = eventsOf(text)
    const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta')
    expect(deltas.map(({ delta }) => delta).join('')).toBe('{"city":""}')
    expect(events.find(({ type }) => type === 'response.function_call_arguments.done')).toMatchObject({
      name: 'weather',
      arguments: '{"city":""}',
    })
    expect(events.at(-1)!.response.output[0].type).toBe('function_call')
  })

  test('ends as failed where the engine goes away', async () => {
    const pending = await whileHung(async () => {
      const started = say({ input: 'x', stream: true })
      await until('it waits', () => engine.stats().ranks[0]!.waitingRequests === 1)
      await engine.restart()
      return started
    })
    expect(eventsOf(pending.text).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    })
  })
})

describe('in the background', () => {
  test('a response is queued, and there when it is asked for', async () => {
    const { json } = await whileHung(() => say({ input: 'x', background: true }))
    expect(json).toMatchObject({ status: 'queued', background: true, output: [], usage: null })
    await until('completed', async () => (await get(json.id)).json.status === 'completed')
    expect((await get(json.id)).json.output).toHaveLength(1)
  })

  test('it can be cancelled, which frees the engine; others cannot', async () => {
    await whileHung(async () => {
      const { json } = await say({ input: 'x', background: true })
      expect((await get(json.id)).json.status).toBe('in_progress')
      expect((await cancel(json.id)).json.status).toBe('cancelled')
      expect((await cancel(json.id)).json.status).toBe('cancelled')
      engine.removeFaults()
      await until(
        'free',
        () => engine.stats().ranks[0]!.waitingRequests + engine.stats().ranks[0]!.runningRequests === 0,
      )
      expect((await get(json.id)).json).toMatchObject({ status: 'cancelled', output: [] })
    })
    const { json } = await say({ input: 'x' })
    expect((await cancel(json.id)).json.error).toMatchObject({
      code: 400,
      message: 'Cannot cancel a synchronous response.',
    })
    expect((await cancel('resp_no')).status).toBe(404)
    expect((await say({ input: 'x', background: true, store: false })).status).toBe(400)
  })

  test('its stream can be left, and read later from any event on', async () => {
    const abort = new AbortController()
    const id = await whileHung(async () => {
      const body = JSON.stringify({ input: 'x', background: true, stream: true })
      const headers = { 'content-type': 'application/json' }
      const { body: stream } = await fetch(`${engine.url}/v1/responses`, {
        method: 'POST',
        headers,
        body,
        signal: abort.signal,
      })
      const { value } = await stream!.getReader().read()
      abort.abort()
      return eventsOf(new TextDecoder().decode(value))[0].response.id as string
    })
    const all = eventsOf((await get(id, '?stream=true')).text)
    expect(all.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    await until('over', async () => (await get(id)).json.status === 'completed')
    expect(eventsOf((await get(id, '?stream=true')).text)).toEqual(all)
    expect((await get(id, '?stream=true&starting_after=x')).status).toBe(400)
    expect(eventsOf((await get(id, '?stream=true&starting_after=3')).text)).toEqual(all.slice(4))
  })
})

test('so many responses and bytes are kept, the oldest are forgotten', () => {
  const record = (id: string, bytes = 10) => ({ id, bytes, task: new AbortController() }) as Json
  const kept = (store: ResponseStore) => ['a', 'b', 'c'].filter((id) => store.find(id) !== undefined)
  const counted = new ResponseStore({ count: 2, bytes: 1000 })
  for (const id of ['a', 'b', 'c', 'c']) counted.add(record(id))
  expect(kept(counted)).toEqual(['b', 'c'])
  const weighed = new ResponseStore({ count: 100, bytes: 25 })
  for (const id of ['a', 'b', 'c', 'c']) weighed.add(record(id))
  expect(kept(weighed)).toEqual(['b', 'c'])
  weighed.add(record('a', 1000))
  expect(kept(weighed)).toEqual(['a'])
  const last = weighed.find('a')!
  weighed.close()
  expect([kept(weighed), last.task.signal.aborted]).toEqual([[], true])
})
