import { fileURLToPath } from 'node:url'
import { pythonWith, runPython } from '@router/tooling/python-environment'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { until } from '../until.js'
import { type Target, javascriptClients } from './javascript-clients.js'
import { startedRouter } from './started-router.js'

// In one file, because each file of tests loads routers and engines anew, which takes longer than the tests.

const open = await startedRouter()
const slow = {
  speedup: 1,
  replyTokens: 5000,
  timing: { type: 'fixed', prefill_ms: 5, decode_ms: 20 },
} as const
/** Its engines answer for minutes; it takes one request for each, with a key, and says 429 when they are busy. */
const guarded = await startedRouter({
  settings: {
    ROUTER_API_KEYS: 'key',
    ROUTER_MAX_REQUESTS_PER_RANK: '1',
    ROUTER_OVERLOAD_STATUS_CODE: '429',
  },
  engines: [slow, slow],
})
const withKey = { url: guarded.url, apiKey: 'key' }

/** Holds both engines of the guarded router while something runs. */
async function whileBusy(run: () => Promise<void>): Promise<void> {
  const client = new OpenAI({ baseURL: `${guarded.url}/v1`, apiKey: 'key', maxRetries: 0 })
  const hold = (content: string) =>
    client.chat.completions.create({
      model: 'mock-model',
      messages: [{ role: 'user', content }],
      stream: true,
    })
  const streams = [await hold('one'), await hold('two')]
  try {
    expect(guarded.booked()).toBe(2)
    await run()
  } finally {
    for (const stream of streams) stream.controller.abort()
    await until('freed', () => guarded.booked() === 0)
  }
}

describe.each(javascriptClients)('A5: the official client $name', (client) => {
  const target: Target = {
    url: open.url,
    content: `Hello from ${client.name}, with enough words behind it that the prompt has blocks which a cache can hold`,
  }

  test('chats, in one piece and streamed, with usage; what was said before is in the cache', async () => {
    const before = open.finished.length
    const whole = await client.chat(target)
    await until('freed', () => open.booked() === 0)
    expect(whole).toMatchObject({
      text: expect.stringMatching(/\w+ \w+/u),
      cachedTokens: 0,
      outputTokens: 32,
    })
    const streamed = await client.stream(target)
    expect(streamed).toEqual({ ...whole, cachedTokens: expect.any(Number) })
    expect(streamed.cachedTokens).toBeGreaterThanOrEqual(16)
    await until('told', () => open.finished.length === before + 2)
    const told = open.finished.slice(before)
    expect(told[1]).toMatchObject({
      workerId: told[0]!.workerId,
      usage: { promptTokens: whole.promptTokens, completionTokens: whole.outputTokens },
    })
    expect(told[1]!.predictedTokens).toBe(streamed.cachedTokens)
  })

  test('calls tools, in one piece and streamed', async () => {
    const call = ['weather', { city: '' }]
    expect(await client.tools(target)).toEqual([call, call])
  })

  test('aborts a stream: its engine stops, and its booking goes', async () => {
    const before = guarded.stopped()
    await client.abort({ ...target, ...withKey })
    await until('stopped', () => guarded.stopped() === before + 1)
    await until('freed', () => guarded.booked() === 0)
    await until('told', () => guarded.finished.at(-1)?.ending === 'client_gone')
  })

  test('knows refusals by their classes: 400, 401, 404', async () => {
    await expect(client.refused(target)).rejects.toEqual(client.errorOf(400))
    await expect(client.chat({ ...target, url: guarded.url })).rejects.toEqual(client.errorOf(401))
    await expect(client.chat({ ...target, model: 'nobody' })).rejects.toEqual(client.errorOf(404))
  })

  test('and overload: 429 of the router, and of engines when the last one says so', async () => {
    await whileBusy(async () => {
      await expect(client.chat({ ...target, ...withKey })).rejects.toEqual(client.errorOf(429))
    })
    for (const engine of open.engines) engine.addFault({ kind: 'error', status: 429, times: 1 })
    await expect(client.chat(target)).rejects.toEqual(client.errorOf(429))
    await until('told', () => open.finished.at(-1)?.attempts === 2)
  })
})

describe('A5: beyond chats, the official client openai', () => {
  const openai = new OpenAI({ baseURL: `${open.url}/v1`, apiKey: 'none', maxRetries: 0 })
  const model = 'mock-model'

  test('completes, embeds, responds, goes on with a response, lists models', async () => {
    const completion = await openai.completions.create({ model, prompt: ['a', 'b'], max_tokens: 3 })
    expect(completion.choices).toHaveLength(2)
    expect((await openai.embeddings.create({ model, input: 'x' })).data).toHaveLength(1)
    const response = await openai.responses.create({ model, input: 'hello', max_output_tokens: 3 })
    expect((await openai.responses.retrieve(response.id)).output_text).toBe(response.output_text)
    const next = await openai.responses.create({ model, input: 'more', previous_response_id: response.id })
    expect(next.usage!.input_tokens).toBeGreaterThan(response.usage!.input_tokens)
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual([model])
  })

  test('gets no usage in a stream for which it did not ask', async () => {
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const stream = await openai.chat.completions.create({ model, messages, stream: true })
    for await (const chunk of stream) expect([chunk.choices.length, chunk.usage ?? null]).toEqual([1, null])
  })

  test('is told of a stream that broke', async () => {
    for (const engine of open.engines) engine.addFault({ kind: 'cut', after_chunks: 3, times: 1 })
    const read = async () => {
      const messages = [{ role: 'user' as const, content: 'Hello' }]
      for await (const _chunk of await openai.chat.completions.create({ model, messages, stream: true }));
    }
    await expect(read()).rejects.toMatchObject({ code: 'upstream_failed' })
    for (const engine of open.engines) engine.removeFaults()
  })
})

const environment = await pythonWith(['openai==3.57.0'])
const why = environment.missing === undefined ? '' : ` (skipped: ${environment.missing})`
const script = fileURLToPath(new URL('python-client.py', import.meta.url))

test.skipIf(environment.missing !== undefined)(
  `A5: the official client of OpenAI in Python chats, streams, calls tools, aborts, and knows refusals${why}`,
  async () => {
    const before = guarded.stopped()
    const printed = await runPython(environment.python!, script, [open.url, guarded.url])
    const { chat, ...result } = JSON.parse(printed)
    expect(chat).toMatchObject({ text: expect.stringMatching(/\w+ \w+/u), cached: 0, output: 32 })
    expect(result).toEqual({
      stream: { ...chat, cached: 16 * Math.floor((chat.prompt - 1) / 16) },
      tool: ['weather', { city: '' }],
      errors: [
        ['BadRequestError', 400],
        ['AuthenticationError', 401],
        ['NotFoundError', 404],
        ['RateLimitError', 429],
      ],
    })
    await until('stopped', () => guarded.stopped() === before + 2)
    await until('freed', () => guarded.booked() === 0)
  },
)
