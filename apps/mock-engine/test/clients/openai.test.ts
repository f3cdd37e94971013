import { fileURLToPath } from 'node:url'
import { pythonWith, runPython } from '@router/tooling/python-environment'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { serverForTests, until } from '../support/mock-server.js'

const engine = await serverForTests({ loraAdapters: ['adapter-a'] })
const plain = await serverForTests()
const client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'none', maxRetries: 0 })
const { model } = engine
const messages = [{ role: 'user' as const, content: 'Hello from JavaScript' }]
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

describe('the official client in JavaScript', () => {
  test('chats, whole and streamed', async () => {
    const { choices, usage } = await client.chat.completions.create({ model, messages })
    const text = choices[0]!.message.content
    expect(usage).toMatchObject({ completion_tokens: 32, prompt_tokens_details: { cached_tokens: 0 } })
    const runner = client.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    })
    expect(await runner.finalContent()).toBe(text)
    expect((await runner.totalUsage()).completion_tokens).toBe(32)
  })

  test('calls tools, whole and streamed', async () => {
    const request = {
      model,
      messages,
      tools: [{ type: 'function' as const, function: { name: 'weather', parameters } }],
      tool_choice: 'required' as const,
    }
    const { choices } = await client.chat.completions.create(request)
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather', arguments: '{"city":""}' } }] },
    })
    const final = await client.chat.completions.stream(request).finalMessage()
    expect(final.tool_calls).toMatchObject([
      { type: 'function', function: { name: 'weather', arguments: '{"city":""}' } },
    ])
  })

  test('parses an answer of a form', async () => {
    const completion = await client.chat.completions.parse({
      model,
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema: parameters } },
    })
    expect(JSON.parse(completion.choices[0]!.message.content!)).toEqual({ city: '' })
  })

  test('completes, embeds, and lists models', async () => {
    const { choices } = await client.completions.create({
      model,
      prompt: ['a', 'b'],
      max_tokens: 3,
      logprobs: 1,
    })
    expect(choices.map(({ logprobs }) => logprobs!.tokens!.length)).toEqual([3, 3])
    // The client asks for base64 and decodes it.
    const { data } = await client.embeddings.create({ model, input: ['a', 'b'] })
    expect(data.map(({ embedding }) => Math.hypot(...embedding))).toEqual([
      expect.closeTo(1, 5),
      expect.closeTo(1, 5),
    ])
    const models = await client.models.list()
    expect(models.data.map(({ id }) => id)).toEqual([model, 'adapter-a'])
  })

  test('responds, streams, retrieves and goes on', async () => {
    const response = await client.responses.create({ model, input: 'Hello' })
    expect(response).toMatchObject({ status: 'completed', output_text: expect.stringMatching(/\w+ \w+/u) })
    expect((await client.responses.retrieve(response.id)).output).toEqual(response.output)
    const stream = client.responses.stream({ model, input: 'Hello' })
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed'])
    expect((await stream.finalResponse()).output_text).toBe(response.output_text)
    const next = await client.responses.create({ model, input: 'more', previous_response_id: response.id })
    expect(next.usage!.input_tokens).toBeGreaterThan(
      response.usage!.input_tokens + response.usage!.output_tokens,
    )
  })

  test('cancels a response in the background', async () => {
    engine.addFault({ kind: 'health_lies', says: 200 })
    const { id, status } = await client.responses.create({ model, input: 'Hello', background: true })
    expect(status).toBe('queued')
    expect((await client.responses.cancel(id)).status).toBe('cancelled')
    expect((await client.responses.retrieve(id)).status).toBe('cancelled')
    engine.removeFaults()
  })

  test('aborts a stream, which the server notices', async () => {
    const slow = await serverForTests({ speedup: 1 })
    const own = new OpenAI({ baseURL: `${slow.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const stream = await own.chat.completions.create({
      model,
      messages,
      stream: true,
      max_tokens: 5000,
      min_tokens: 5000,
    } as never)
    for await (const _chunk of stream as never as AsyncIterable<unknown>) break
    await until('noticed', () => slow.stats().aborts.decode === 1)
    await until('free', () => slow.stats().ranks[0]!.runningRequests === 0)
  })

  test('throws errors of the right class', async () => {
    await expect(client.chat.completions.create({ model: 'no', messages })).rejects.toThrow(
      OpenAI.NotFoundError,
    )
    await expect(client.chat.completions.create({ model, messages, max_tokens: 0 })).rejects.toMatchObject({
      status: 400,
      param: 'max_tokens',
    })
    engine.addFault({ kind: 'error', status: 429, times: 1 })
    await expect(client.chat.completions.create({ model, messages })).rejects.toThrow(OpenAI.RateLimitError)
    engine.addFault({ kind: 'error', status: 503, times: 1, retry_after_seconds: 0 })
    const retried = await client.chat.completions.create({ model, messages }, { maxRetries: 1 })
    expect(retried.choices).toHaveLength(1)
  })
})

const environment = await pythonWith(['openai==3.57.0'])
const why = environment.missing === undefined ? '' : ` (skipped: ${environment.missing})`
const script = fileURLToPath(new URL('../support/openai-scenarios.py', import.meta.url))

describe.skipIf(environment.missing !== undefined)(`the official client in Python${why}`, () => {
  test('gets all that it asks for', async () => {
    const result = JSON.parse(await runPython(environment.python!, script, [plain.url, plain.model]))
    expect(result).toEqual({
      chat: expect.stringMatching(/\w+ \w+/u),
      cached: 0,
      streamed: result.chat,
      streamed_tokens: 32,
      call: ['tool_calls', 'weather', { city: '' }],
      completions: [expect.stringMatching(/^a./u), expect.stringMatching(/^b./u)],
      embeddings: [64, 64],
      response: ['completed', expect.stringMatching(/\w+ \w+/u)],
      retrieved: result.response[1],
      response_stream: ['response.created', 'response.completed', result.response[1]],
      models: ['mock-model'],
      not_found: 'The model `no` does not exist.',
      bad_request: 'max_tokens',
    })
  })
})
