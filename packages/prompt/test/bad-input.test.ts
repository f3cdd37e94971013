import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PromptEndpoint } from '../src/endpoint.js'
import type { PromptReader } from '../src/prompt-reader.js'
import type { PromptReading } from '../src/prompt-reading.js'
import { atOnce, blocksOf, bytesOf, chainOf, newReader, requestOf } from './support/reading.js'
import { qwen3 } from './support/tokenizer-folders.js'

let reader: PromptReader
beforeAll(async () => {
  reader = newReader()
  await reader.load(qwen3)
}, 60_000)
afterAll(() => reader.close())

const read = async (endpoint: PromptEndpoint, body: unknown): Promise<PromptReading> =>
  reader.read(requestOf(endpoint, body, { tokenizer: qwen3 }))

const chatOf = (content: unknown): object => ({ messages: [{ role: 'user', content }] })

describe('a body that is no request is refused in words', () => {
  it.each([
    ['empty', ''],
    ['no JSON', 'hello'],
    ['cut', '{"messages": [{"role": "us'],
    ['a list', '[]'],
    ['two values', '{} {}'],
  ])('%s', (_name, body) => {
    const before = reader.counters().refused
    expect(() => reader.read(requestOf('chat', body, { tokenizer: qwen3 }))).toThrow(
      expect.objectContaining({ code: 'PROMPT_BODY_INVALID', message: expect.stringMatching(/./u) }),
    )
    expect(reader.counters().refused).toBe(before + 1)
  })

  it.each([
    ['negative', [1, -2]],
    ['fractional', [1.5]],
    ['beyond 32 bits', [4_294_967_296]],
    ['a text among them', [1, 'two']],
  ])('token ids: %s', (_name, prompt) => {
    expect(() => reader.read(requestOf('completions', { prompt }))).toThrow(
      expect.objectContaining({ code: 'PROMPT_TOKEN_INVALID' }),
    )
  })

  it.each(['completions', 'chat', 'embeddings'] as const)('a block size that is none: %s', (endpoint) => {
    const body = { ...chatOf('hello'), prompt: [1], input: 'hello' }
    const request = requestOf(endpoint, body, { blockSize: 0, tokenizer: qwen3 })
    expect(() => reader.read(request)).toThrow(
      expect.objectContaining({ code: 'KV_INDEX_BLOCK_SIZE_INVALID' }),
    )
  })
})

describe('token ids', () => {
  it('above the vocabulary are hashed as they are, and counted', () => {
    const prompt = [...Array.from({ length: 31 }, (_, index) => index), 4_294_967_295]
    const before = reader.counters().unknownIds
    const reading = atOnce(reader.read(requestOf('completions', { prompt }, { tokenizer: qwen3 })))
    expect([reading.exactness, chainOf(reading.blocks)]).toEqual(['exact', blocksOf(prompt)])
    expect(reader.counters().unknownIds).toBe(before + 1)
    // Qwen3 has 151,669.
    for (const id of [151_668, 151_669])
      reader.read(requestOf('completions', { prompt: [id] }, { tokenizer: qwen3 }))
    expect(reader.counters().unknownIds).toBe(before + 2)
  })

  it('none at all are a prompt of no tokens', () => {
    const reading = atOnce(reader.read(requestOf('completions', { prompt: [] })))
    expect(reading).toMatchObject({ exactness: 'exact', promptTokens: 0, blocks: { count: 0 } })
  })
})

describe('texts', () => {
  it('an empty prompt has no tokens', async () => {
    expect(await read('completions', { prompt: '' })).toMatchObject({ exactness: 'exact', promptTokens: 0 })
  })

  it('lone surrogates are the replacement character', async () => {
    const escaped = '{"messages": [{"role": "user", "content": "a \\ud83d b \\udc00"}]}'
    const [given, replaced] = [await read('chat', escaped), await read('chat', chatOf('a \ufffd b \ufffd'))]
    expect(given.exactness).toBe('exact')
    expect(given.tokens).toEqual(replaced.tokens)
  })

  it('a message of 10 MB is routed on its chunks', async () => {
    const text = 'a line of the log that somebody pasted\n'.repeat(10_000_000 / 39)
    const reading = await read('chat', chatOf(text))
    expect(reading).toMatchObject({ exactness: 'approximate', cause: 'too_large' })
    expect(reading.chunks!.count).toBe(Math.floor(reading.body.textBytes / 64))
    expect(reading.promptTokens).toBeGreaterThan(2_400_000)
  })

  it('10,000 messages are read', async () => {
    const messages = Array.from({ length: 10_000 }, (_, turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: `turn ${turn}`,
    }))
    const reading = await read('chat', { messages })
    expect(reading.exactness).toBe('exact')
    expect(reading.promptTokens).toBeGreaterThan(80_000)
    expect(reading.blocks.count).toBe(Math.floor(reading.promptTokens / 16))
  })
})

describe('images', () => {
  const long = 'iVBORw0KGgo'.repeat(100)
  const readings = new Map<string, PromptReading>()

  it.each([
    ['a URL', { url: 'https://example.org/cat.png' }],
    ['a data URL', { url: `data:image/png;base64,${long}` }],
    ['a broken data URL', { url: `data:image/png;base64,%%%${long}` }],
    ['a text in place of an object', 'https://example.org/cat.png'],
    ['a number', 5],
    ['nothing', null],
  ])('%s: what stands before is exact, and the chunks know them apart', async (name, image_url) => {
    const content = [
      { type: 'image_url', image_url },
      { type: 'text', text: 'Go on. '.repeat(90) },
    ]
    const messages = [
      { role: 'system', content: 'You describe images. '.repeat(30) },
      { role: 'user', content },
    ]
    const reading = await read('chat', { messages })
    expect(reading).toMatchObject({
      exactness: 'exact_before_media',
      cause: 'media',
      body: { mediaParts: 1 },
    })
    expect(reading.blocks.count).toBeGreaterThan(4)
    for (const other of readings.values()) {
      expect(chainOf(reading.blocks)).toEqual(chainOf(other.blocks))
      expect(chainOf(reading.chunks)!.at(-1)).not.toBe(chainOf(other.chunks)!.at(-1))
    }
    if (name !== 'a text in place of an object') readings.set(name, reading)
  })
})

describe('what an engine may refuse is routed all the same', () => {
  const long = 'hello '.repeat(50)

  it.each([
    ['tools that are no objects', { ...chatOf(long), tools: [1, 'two', null] }, 'exact', undefined],
    ['tools that are no list', { ...chatOf(long), tools: 'none' }, 'approximate', 'prompt_invalid'],
    ['messages that are no objects', { messages: [1, null, long] }, 'approximate', 'prompt_invalid'],
    ['a role that is none', { messages: [{ role: 7, content: long }] }, 'approximate', 'prompt_invalid'],
    ['messages that are no list', { messages: long }, 'nothing', undefined],
    ['no messages', {}, 'nothing', undefined],
    ['a prompt of null', { prompt: null }, 'nothing', undefined],
    ['an own template that is no text', { ...chatOf(long), chat_template: 5 }, 'exact', undefined],
  ] as const)('%s', async (_name, body, exactness, cause) => {
    const before = reader.counters()
    const reading = await read('prompt' in body ? 'completions' : 'chat', body)
    const after = reader.counters()
    expect(reading).toMatchObject({ exactness, cause })
    // Said, and counted as it was said.
    expect(after.requests).toBe(before.requests + 1)
    expect(after.exactness[exactness]).toBe(before.exactness[exactness] + 1)
    if (cause === undefined) return
    expect(reading.detail).toMatch(/expected/u)
    expect(after.causes[cause]).toBe(before.causes[cause] + 1)
  })
})

it('bytes that are no UTF-8 are read the same way by the scanner and the tokenizer', async () => {
  const body = bytesOf(chatOf('hello # and more words to fill a few chunks of the text. '.repeat(9)))
  body[body.indexOf(0x23)] = 0xff
  const reading = await read('chat', body)
  const replaced = await read(
    'chat',
    chatOf('hello # and more words to fill a few chunks of the text. '.repeat(9).replace('#', '\ufffd')),
  )
  expect([reading.exactness, reading.tokens]).toEqual(['exact', replaced.tokens])
})
