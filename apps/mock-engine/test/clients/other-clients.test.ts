import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { Output, type ToolSet, embed, generateObject, generateText, streamText, tool } from 'ai'
import { Pool } from 'undici'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chat, serverForTests, until } from '../support/mock-server.js'

// In one file, because each file of tests loads the server anew, which takes longer than the tests.

const engine = await serverForTests()
const realTime = await serverForTests({ speedup: 1 })

describe('the AI SDK', () => {
  const provider = createOpenAICompatible({
    name: 'mock',
    baseURL: `${engine.url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  const model = provider.chatModel(engine.model)
  const prompt = 'Hello from the AI SDK'
  // The type of a set of tools and exactOptionalPropertyTypes do not agree.
  const tools = { weather: tool({ inputSchema: z.object({ city: z.string() }) }) } as unknown as ToolSet

  test('text, whole and streamed, with usage', async () => {
    const { text, usage, finishReason } = await generateText({ model, prompt })
    expect(text).toMatch(/\w+ \w+/u)
    expect([usage.outputTokens, finishReason]).toEqual([32, 'stop'])
    const stream = streamText({ model, prompt })
    expect(await stream.text).toBe(text)
    expect((await stream.usage).outputTokens).toBe(32)
    expect(usage.inputTokenDetails.cacheReadTokens).toBe(0)
  })

  test('tool calls, whole and streamed', async () => {
    const calls = [{ toolName: 'weather', input: { city: '' } }]
    const whole = await generateText({ model, prompt, tools, toolChoice: 'required' })
    expect(whole).toMatchObject({ finishReason: 'tool-calls', toolCalls: calls })
    expect(await streamText({ model, prompt, tools, toolChoice: 'required' }).toolCalls).toMatchObject(calls)
    const named = await generateText({
      model,
      prompt,
      tools,
      toolChoice: { type: 'tool', toolName: 'weather' },
    })
    expect(named.toolCalls).toMatchObject(calls)
  })

  test('an object of a schema', async () => {
    const schema = z.object({
      name: z.string().min(2),
      age: z.number().int().min(18),
      tags: z.array(z.enum(['a', 'b'])).min(1),
    })
    const { output } = await generateText({ model, prompt, output: Output.object({ schema }) })
    expect(schema.parse(output)).toEqual({ name: 'aa', age: 18, tags: ['a'] })
    const { object } = await generateObject({ model, prompt, schema })
    expect(object).toEqual(output)
  })

  test('embeddings', async () => {
    const { embedding } = await embed({ model: provider.embeddingModel(engine.model), value: 'a cache' })
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
  })
})

describe('the official client of Anthropic', () => {
  const client = new Anthropic({ baseURL: engine.url, apiKey: 'none', maxRetries: 0 })
  const request = {
    model: engine.model,
    max_tokens: 100,
    system: 'Be kind.',
    messages: [{ role: 'user' as const, content: 'Hello from the Anthropic client' }],
  }
  const tools = [
    {
      name: 'weather',
      input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ]

  test('messages, whole and streamed', async () => {
    const message = await client.messages.create(request)
    expect(message).toMatchObject({
      stop_reason: 'end_turn',
      usage: { output_tokens: 32, cache_read_input_tokens: 0 },
    })
    const streamed = await client.messages.stream(request).finalMessage()
    expect(streamed.content).toEqual(message.content)
    expect(streamed).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 32 } })
  })

  test('tools, whole and streamed', async () => {
    const calling = { ...request, tools, tool_choice: { type: 'any' as const } }
    const content = [{ type: 'tool_use', name: 'weather', input: { city: '' } }]
    const message = await client.messages.create(calling)
    expect(message).toMatchObject({ stop_reason: 'tool_use', content })
    expect(await client.messages.stream(calling).finalMessage()).toMatchObject({
      stop_reason: 'tool_use',
      content,
    })
    const call = message.content[0] as Anthropic.ToolUseBlock
    const next = await client.messages.create({
      ...request,
      tools,
      messages: [
        ...request.messages,
        { role: 'assistant', content: message.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] },
      ],
    })
    expect(next.content[0]!.type).toBe('text')
  })

  test('counted tokens are those of the message', async () => {
    const { max_tokens: _limit, ...counted } = request
    const { input_tokens: count } = await client.messages.countTokens(counted)
    const { usage } = await client.messages.create(request)
    expect(count).toBe(usage.input_tokens + usage.cache_read_input_tokens!)
  })

  test('errors of the right class', async () => {
    await expect(client.messages.create({ ...request, model: 'no' })).rejects.toThrow(Anthropic.NotFoundError)
    await expect(client.messages.create({ ...request, max_tokens: 0 })).rejects.toThrow(
      Anthropic.BadRequestError,
    )
  })
})

describe('LangChain', () => {
  const configuration = { baseURL: `${engine.url}/v1` }
  const model = new ChatOpenAI({ model: engine.model, apiKey: 'none', maxRetries: 0, configuration })
  const prompt = 'Hello from LangChain'
  const city = z.object({ city: z.string() })

  test('invoke and stream', async () => {
    const message = await model.invoke(prompt)
    expect(message.content).toMatch(/\w+ \w+/u)
    expect(message.usage_metadata).toMatchObject({
      output_tokens: 32,
      input_token_details: { cache_read: 0 },
    })
    let text = ''
    for await (const chunk of await model.stream(prompt)) text += chunk.content
    expect(text).toBe(message.content)
  })

  test('tools that are bound', async () => {
    const bound = model.bindTools([{ name: 'weather', description: 'of a city', schema: city }], {
      tool_choice: 'required',
    })
    expect((await bound.invoke(prompt)).tool_calls).toMatchObject([{ name: 'weather', args: { city: '' } }])
  })

  test('structured output, by schema and by call', async () => {
    for (const method of ['jsonSchema', 'functionCalling'] as const)
      expect(await model.withStructuredOutput(city, { method }).invoke(prompt)).toEqual({ city: '' })
  })

  test('embeddings', async () => {
    const embeddings = new OpenAIEmbeddings({
      model: engine.model,
      apiKey: 'none',
      maxRetries: 0,
      configuration,
    })
    const vectors = await embeddings.embedDocuments(['a cache', 'a router'])
    expect(vectors.map((vector) => vector.length)).toEqual([64, 64])
    expect(vectors[0]).toEqual(await embeddings.embedQuery('a cache'))
  })
})

describe('a pool of undici', () => {
  const post = (body: object) => ({
    method: 'POST' as const,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  test('a pool keeps its connection, and sees the end of a stream', async () => {
    const pool = new Pool(realTime.url, { connections: 1 })
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
    const pool = new Pool(realTime.url)
    const abort = new AbortController()
    const request = post(chat('hi', { stream: true, max_tokens: 5000, ignore_eos: true }))
    const { body } = await pool.request({ ...request, signal: abort.signal })
    body.on('error', () => {})
    await new Promise((resolve) => body.once('data', resolve))
    abort.abort()
    await until('noticed', () => realTime.stats().aborts.decode === 1)
    await until('free', () => realTime.stats().ranks[0]!.runningRequests === 0)
    await pool.destroy()
  })
})
