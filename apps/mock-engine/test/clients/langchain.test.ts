import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { serverForTests } from '../support/mock-server.js'

const engine = await serverForTests()
const configuration = { baseURL: `${engine.url}/v1` }
const model = new ChatOpenAI({ model: engine.model, apiKey: 'none', maxRetries: 0, configuration })
const prompt = 'Hello from LangChain'
const city = z.object({ city: z.string() })

test('invoke and stream', async () => {
  const message = await model.invoke(prompt)
  expect(message.content).toMatch(/\w+ \w+/u)
  expect(message.usage_metadata).toMatchObject({ output_tokens: 32, input_token_details: { cache_read: 0 } })
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
