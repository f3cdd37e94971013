import { describe, expect, test } from 'vitest'
import { type Json, ask, serverForTests } from '../support/mock-server.js'

const engine = await serverForTests()
const question = { role: 'user', content: 'hello' }
const base = { model: 'mock-model', max_tokens: 100, messages: [question] }
const say = (more: object = {}) => ask(engine, '/v1/messages', { ...base, ...more })
const count = async (more: object = {}) =>
  (await ask(engine, '/v1/messages/count_tokens', { model: 'mock-model', messages: [question], ...more }))
    .json.input_tokens as number
const tools = [
  {
    name: 'weather',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
]

/** Name and data of each event. */
async function stream(more: object): Promise<{ name: string; data: Json }[]> {
  const { text } = await say({ ...more, stream: true })
  return [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gmu)].map(([, name, data]) => ({
    name: name!,
    data: JSON.parse(data!),
  }))
}

describe('a message', () => {
  test('has the fields of the API', async () => {
    expect((await say()).json).toEqual({
      id: expect.stringMatching(/^msg_/u),
      type: 'message',
      role: 'assistant',
      model: 'mock-model',
      content: [{ type: 'text', text: expect.any(String) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: await count(),
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 32,
      },
    })
    expect((await say({ max_tokens: 3 })).json).toMatchObject({
      stop_reason: 'max_tokens',
      usage: { output_tokens: 3 },
    })
    const said = (await say()).json.content[0].text as string
    const stop = said.split(' ')[3]!
    expect((await say({ stop_sequences: [` ${stop}`] })).json).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ` ${stop}`,
      content: [{ text: said.slice(0, said.indexOf(` ${stop}`)) }],
    })
  })

  test('says how much of its prompt was cached, apart from the rest', async () => {
    const messages = [{ role: 'user', content: 'A prompt that fills some blocks of the cache. '.repeat(8) }]
    const total = await count({ messages })
    expect((await say({ messages })).json.usage).toMatchObject({
      input_tokens: total,
      cache_read_input_tokens: 0,
    })
    const { usage } = (await say({ messages })).json
    expect(usage.cache_read_input_tokens).toBeGreaterThan(0)
    expect(usage.input_tokens + usage.cache_read_input_tokens).toBe(total)
  })

  test('calls a tool where it has to', async () => {
    const call = (await say({ tools, tool_choice: { type: 'any' } })).json
    expect(call).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'tool_use', id: expect.stringMatching(/^toolu_/u), name: 'weather', input: { city: '' } },
      ],
    })
    expect((await say({ tools, tool_choice: { type: 'tool', name: 'weather' } })).json.stop_reason).toBe(
      'tool_use',
    )
    expect((await say({ tools, tool_choice: { type: 'auto' } })).json.stop_reason).toBe('end_turn')
    expect((await say({ tools, tool_choice: { type: 'tool', name: 'no' } })).status).toBe(400)
    expect((await say({ tools, tool_choice: { type: 'tool' } })).status).toBe(400)
  })

  test('is a prompt that chat would have, block by block', async () => {
    const chatTokens = async (messages: object[]) => (await ask(engine, '/tokenize', { messages })).json.count
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: '' },
          { type: 'text', text: 'I ask' },
          { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'sunny' }] },
          { type: 'text', text: 'so?' },
        ],
      },
    ]
    const system = [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }]
    const call = { id: 't1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
    expect(await count({ messages, system })).toBe(
      await chatTokens([
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'one\ntwo' },
        { role: 'assistant', content: 'I ask', tool_calls: [call] },
        { role: 'tool', tool_call_id: 't1', content: 'sunny' },
        { role: 'user', content: 'so?' },
      ]),
    )
    expect(await count({ tools })).toBeGreaterThan(await count())
  })

  test('has results of tools that are texts or blocks of text', async () => {
    const result = (content: unknown) =>
      ask(engine, '/v1/messages/count_tokens', {
        model: 'mock-model',
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content }] }],
      })
    expect((await result('sunny')).json).toEqual((await result([{ type: 'text', text: 'sunny' }])).json)
    for (const content of [5, {}, [null], [{ type: 'image' }]])
      expect((await result(content)).json.error, JSON.stringify(content)).toMatchObject({
        type: 'invalid_request_error',
      })
  })

  test('shows images', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' }
    const image = (more: object) =>
      count({ messages: [{ role: 'user', content: [{ type: 'image', source: { ...source, ...more } }] }] })
    expect(await image({})).toBeGreaterThan(64)
    expect(await image({ type: 'url', url: 'https://example.com/x.png' })).toBeGreaterThan(64)
    expect(await image({ data: '%' })).toBeUndefined()
  })
})

describe('a stream', () => {
  test('has the events of the API', async () => {
    const events = await stream({})
    const names = events.map(({ name }) => name)
    expect(names.slice(0, 2)).toEqual(['message_start', 'content_block_start'])
    expect(names.slice(2, -3)).toEqual(Array.from({ length: 32 }, () => 'content_block_delta'))
    expect(names.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop'])
    expect(events.every(({ name, data }) => data.type === name)).toBe(true)
    const whole = (await say()).json
    expect(events.map(({ data }) => data.delta?.text ?? '').join('')).toBe(whole.content[0].text)
    expect(events[0]!.data.message).toMatchObject({
      content: [],
      stop_reason: null,
      usage: { output_tokens: 0 },
    })
    expect(events.at(-2)!.data).toMatchObject({
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 32 },
    })
  })

  test('has the arguments of a call in pieces', async () => {
    const events = await stream({ tools, tool_choice: { type: 'any' } })
    expect(events[1]!.data.content_block).toMatchObject({ type: 'tool_use', name: 'weather', input: {} })
    expect(events.map(({ data }) => data.delta?.partial_json ?? '').join('')).toBe('{"city":""}')
    expect(events.at(-2)!.data.delta.stop_reason).toBe('tool_use')
  })
})

test('errors have the shape of the API', async () => {
  const refusal = async (more: object) => {
    const { status, json } = await say(more)
    expect(json).toEqual({ type: 'error', error: { type: expect.any(String), message: expect.any(String) } })
    return [status, json.error.type]
  }
  expect(await refusal({ model: 'no' })).toEqual([404, 'not_found_error'])
  expect(await refusal({ max_tokens: 0 })).toEqual([400, 'invalid_request_error'])
  expect(await refusal({ messages: [] })).toEqual([400, 'invalid_request_error'])
  expect(await refusal({ messages: [{ role: 'user', content: [{ type: 'video' }] }] })).toEqual([
    400,
    'invalid_request_error',
  ])
  expect(await refusal({ messages: [{ role: 'assistant', content: [{ type: 'image' }] }] })).toEqual([
    400,
    'invalid_request_error',
  ])
  engine.addFault({ kind: 'health_lies', says: 200 })
  const pending = say({ stream: true })
  while (engine.stats().ranks[0]!.waitingRequests === 0)
    await new Promise((resolve) => setTimeout(resolve, 1))
  await engine.restart()
  engine.removeFaults()
  expect((await pending).text).toMatch(/^event: error\ndata: \{"type":"error","error":\{"type":"api_error",/u)
})
