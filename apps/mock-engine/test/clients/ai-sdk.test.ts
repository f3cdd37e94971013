import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Output, type ToolSet, embed, generateObject, generateText, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { serverForTests } from '../support/mock-server.js'

const engine = await serverForTests()
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
