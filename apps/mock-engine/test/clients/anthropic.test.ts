import Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { serverForTests } from '../support/mock-server.js'

const engine = await serverForTests()
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
