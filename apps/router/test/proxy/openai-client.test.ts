import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { engineOf, proxyOf, until } from './support/proxies.js'

const model = 'mock-model'
const messages = [{ role: 'user' as const, content: 'Hello from JavaScript' }]

async function clientOf(engines: Parameters<typeof proxyOf>[0], options: Parameters<typeof proxyOf>[1] = {}) {
  const router = await proxyOf(engines, options)
  const client = (apiKey = 'none') => new OpenAI({ baseURL: `${router.url}/v1`, apiKey, maxRetries: 0 })
  return { router, client }
}

describe('A5: the official OpenAI client', () => {
  test('chats whole and streamed, with usage; completes, embeds, responds, lists models', async () => {
    const { router, client } = await clientOf([await engineOf()])
    const openai = client()
    const { choices, usage } = await openai.chat.completions.create({ model, messages })
    expect(usage).toMatchObject({ completion_tokens: 32 })
    const runner = openai.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    })
    expect(await runner.finalContent()).toBe(choices[0]!.message.content)
    expect((await runner.totalUsage()).completion_tokens).toBe(32)
    const silent = await openai.chat.completions.create({ model, messages, stream: true })
    for await (const chunk of silent) expect([chunk.choices.length, chunk.usage ?? null]).toEqual([1, null])
    const completion = await openai.completions.create({ model, prompt: ['a', 'b'], max_tokens: 3 })
    expect(completion.choices).toHaveLength(2)
    expect((await openai.embeddings.create({ model, input: 'x' })).data).toHaveLength(1)
    const response = await openai.responses.create({ model, input: 'hello', max_output_tokens: 3 })
    expect((await openai.responses.retrieve(response.id)).output_text).toBe(response.output_text)
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual([model])
    expect(router.booked()).toBe(0)
  })

  test('stops its engine when it aborts', async () => {
    const engine = await engineOf({ speedup: 1, timing: { type: 'fixed', prefill_ms: 5, decode_ms: 5 } })
    const { router, client } = await clientOf([engine])
    const stream = await client().chat.completions.create({ model, messages, stream: true, max_tokens: 3000 })
    let chunks = 0
    for await (const _chunk of stream) if (++chunks === 3) stream.controller.abort()
    await until('cancelled', () => engine.stats().aborts.decode === 1)
    await until('freed', () => router.booked() === 0)
  })

  test('knows our errors by their classes', async () => {
    const engine = await engineOf()
    const { client } = await clientOf([engine], { access: { apiKeys: ['key'] } })
    const ask = (openai: OpenAI, more = {}) => openai.chat.completions.create({ model, messages, ...more })
    await expect(ask(client('wrong'))).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(ask(client('key'), { model: 'other' })).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(ask(client('key'), { messages: 'x' })).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    engine.addFault({ kind: 'error', status: 429 })
    await expect(ask(client('key'))).rejects.toBeInstanceOf(OpenAI.RateLimitError)
  })

  test('is told of a stream that broke', async () => {
    const engine = await engineOf()
    engine.addFault({ kind: 'cut', after_chunks: 3 })
    const { client } = await clientOf([engine])
    const read = async () => {
      for await (const _chunk of await client().chat.completions.create({ model, messages, stream: true }));
    }
    await expect(read()).rejects.toMatchObject({ code: 'upstream_failed' })
  })
})
