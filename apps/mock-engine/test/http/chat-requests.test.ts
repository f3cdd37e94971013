import { describe, expect, test } from 'vitest'
import { type Json, ask, chat, serverForTests } from '../support/mock-server.js'

const engine = await serverForTests({ ranks: 2 })
const say = (body: object, headers: Record<string, string> = {}) =>
  ask(engine, '/v1/chat/completions', body, { headers })

describe('what the prompt is made of', () => {
  const tokens = async (more: object) =>
    (await say(chat('hi', { max_tokens: 1, ...more }))).json.usage.prompt_tokens

  test('are tools, documents and arguments of the template', async () => {
    const plain = await tokens({})
    expect(await tokens({ documents: [{ title: 'a', text: 'b' }] })).toBeGreaterThan(plain)
    expect(await tokens({ tools: [{ type: 'function', function: { name: 'f' } }] })).toBeGreaterThan(plain)
    expect(await tokens({ add_generation_prompt: false })).toBeLessThan(plain)
    expect(await tokens({ chat_template_kwargs: { enable_thinking: false } })).toBeGreaterThan(plain)
    expect((await say(chat('hi', { chat_template: '{{ 1 }}' }))).json.error.param).toBe('chat_template')
  })

  test('are images, told apart by what they show', async () => {
    const image = (url: string, more: object = {}) => ({ type: 'image_url', image_url: { url }, ...more })
    const ask64 = (part: object, rank = '0') =>
      say(chat([part, { type: 'text', text: 'what is it?' }], { max_tokens: 1 }), {
        'x-data-parallel-rank': rank,
      })
    const red = `data:image/png;base64,${Buffer.from('red').toString('base64')}`
    const one = await ask64(image(red))
    expect(one.json.usage.prompt_tokens).toBeGreaterThan(64)
    const cached = ({ json }: Json) => json.usage.prompt_tokens_details.cached_tokens
    expect(cached(await ask64(image(red)))).toBeGreaterThan(60)
    expect(cached(await ask64(image('https://example.com/blue.png')))).toBe(0)
    expect(cached(await ask64(image('https://example.com/blue.png')))).toBeGreaterThan(60)
    for (const url of ['data:image/png;base64,%%%', 'data:image/png;base64,', 'gopher://x', 5 as never])
      expect((await ask64(image(url))).json.error.code).toBe(400)
  })
})

describe('errors', () => {
  test('have the shape of vLLM', async () => {
    expect(await say(chat('x', { model: 'no' }))).toMatchObject({
      status: 404,
      json: {
        error: {
          message: 'The model `no` does not exist.',
          type: 'NotFoundError',
          param: 'model',
          code: 404,
        },
      },
    })
  })

  test('name what is wrong with a field', async () => {
    const refusal = async (body: object) => (await say(body)).json.error
    expect(await refusal({})).toMatchObject({ code: 400, type: 'Bad Request', param: 'messages' })
    for (const [field, value] of [
      ['temperature', -1],
      ['top_p', 0],
      ['n', 0],
      ['stop', 5],
      ['tools', ['x']],
      ['cache_salt', ''],
      ['stream_options', {}],
    ] as const)
      expect(await refusal(chat('x', { [field]: value }))).toMatchObject({
        code: 400,
        param: expect.stringContaining(field),
      })
    expect((await say(chat('x', { an_unknown_field: 1 }))).status).toBe(200)
    const seed = JSON.stringify(chat('x')).replace('{', '{"seed":9223372036854775807,')
    expect((await ask(engine, '/v1/chat/completions', seed)).status).toBe(200)
    expect((await refusal(chat('x', { seed: 1.5 }))).param).toBe('seed')
    expect(await refusal({ messages: [{ role: 'user', content: [{ type: 'video' }] }] })).toMatchObject({
      code: 400,
    })
  })

  test('name a rank that does not exist; a header that is no number does not count', async () => {
    const rank = (text: string) => say(chat('x'), { 'x-data-parallel-rank': text })
    expect((await rank('2')).json.error.message).toBe('data_parallel_rank 2 is out of range [0, 2).')
    expect((await rank('-1')).status).toBe(400)
    expect((await rank('one')).status).toBe(200)
  })
})

test('the id of an answer is the id of the request', async () => {
  expect((await say(chat('x', { request_id: 'mine' }))).json.id).toBe('chatcmpl-mine')
  const { json, headers } = await say(chat('x', { request_id: 'mine' }), { 'x-request-id': 'header' })
  expect([json.id, headers.get('x-request-id')]).toEqual(['chatcmpl-header', null])
})
