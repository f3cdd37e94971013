import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tokenizer } from '@huggingface/tokenizers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PromptEndpoint } from '../src/endpoint.js'
import type { PromptReader } from '../src/prompt-reader.js'
import type { PromptReading, PromptRequest } from '../src/prompt-reading.js'
import { atOnce, blocksOf, chainOf, newReader, requestOf } from './support/reading.js'
import { qwen3 } from './support/tokenizer-folders.js'

const words = Array.from({ length: 80 }, (_, index) => `word${index}`).join(' ')
const imageUrl = `data:image/png;base64,${'iVBORw0KGgo'.repeat(2000)}`

let reader: PromptReader
let library: Tokenizer

beforeAll(async () => {
  const [tokenizer, config] = ['tokenizer.json', 'tokenizer_config.json'].map(
    (file) => JSON.parse(readFileSync(join(qwen3, file), 'utf8')) as object,
  )
  library = new Tokenizer(tokenizer!, config!)
  reader = newReader()
  await reader.load(qwen3)
}, 60_000)
afterAll(() => reader.close())

const read = async (
  endpoint: PromptEndpoint,
  body: unknown,
  more: Partial<PromptRequest> = {},
): Promise<PromptReading> => reader.read(requestOf(endpoint, body, { tokenizer: qwen3, ...more }))

const idsOf = (text: string): number[] => library.encode(text).ids

/** What a reading of these very tokens is. */
function exactly(ids: readonly number[], options?: object): object {
  return {
    exactness: 'exact',
    cause: undefined,
    tokens: Uint32Array.from(ids),
    chunks: undefined,
    promptTokens: ids.length,
    allTokens: ids.length,
    isEstimated: false,
    chain: blocksOf(ids, options),
  }
}

const withChain = (reading: PromptReading): object => ({ ...reading, chain: chainOf(reading.blocks) })

/** What a reading on content chunks is: no token, no block, an estimate of four bytes a token. */
function expectApproximate(reading: PromptReading, cause: string): void {
  expect(reading).toMatchObject({ exactness: 'approximate', cause, tokens: undefined, isEstimated: true })
  expect([reading.blocks.count, reading.chunks?.count]).toEqual([0, expect.any(Number)])
  expect(reading.chunks!.count).toBeGreaterThan(5)
  expect(reading.promptTokens).toBe(Math.ceil(reading.body.textBytes / 4))
  expect(reading.promptTokens).toBeGreaterThan(100)
}

describe('what a request is routed on', () => {
  it('token-id prompt: the ids, at once, without a tokenizer', async () => {
    const prompt = Array.from({ length: 100 }, (_, index) => 1000 + index)
    const reading = atOnce(reader.read(requestOf('completions', { model: 'm', prompt })))
    expect(withChain(reading)).toMatchObject(exactly(prompt))
    expect(reading.blocks.count).toBe(6)
  })

  it('token-id prompt in nvext: the ids', async () => {
    const token_data = Array.from({ length: 40 }, (_, index) => index)
    const reading = await read('chat', {
      messages: [{ role: 'user', content: words }],
      nvext: { token_data },
    })
    expect(withChain(reading)).toMatchObject(exactly(token_data))
    const messages = [{ role: 'user', content: words }]
    const ignored = await read('chat', { messages, nvext: { token_data } }, { nvext: false })
    expect(ignored.tokens).toEqual((await read('chat', { messages })).tokens)
  })

  it('string prompt: what the tokenizer makes of it', async () => {
    const ids = idsOf(words)
    const reading = await read('completions', { model: 'm', prompt: words })
    expect(withChain(reading)).toMatchObject(exactly(ids))
    expect(reading.blocks.count).toBe(Math.floor(ids.length / 16))
  })

  it('list of prompts: hashed from the first, the load of all', async () => {
    const reading = await read('completions', { prompt: [words, 'hello world', words] })
    const ids = idsOf(words)
    expect(withChain(reading)).toMatchObject({ ...exactly(ids), allTokens: 2 * ids.length + 2 })
    expect(reading.body.prompts).toBe(3)
    const lists = [Array.from({ length: 20 }, () => 5), [1, 2, 3]]
    const given = atOnce(reader.read(requestOf('completions', { prompt: lists })))
    expect(withChain(given)).toMatchObject({ ...exactly(lists[0]!), allTokens: 23 })
  })

  it('chat: the rendered template', async () => {
    const reading = await read('chat', {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: words },
      ],
      chat_template_kwargs: { enable_thinking: false },
    })
    const rendered =
      `<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n${words}<|im_end|>\n` +
      '<|im_start|>assistant\n<think>\n\n</think>\n\n'
    expect(withChain(reading)).toMatchObject(exactly(idsOf(rendered)))
  })

  it('chat with tools, without a generation prompt: the template decides', async () => {
    const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
    const messages = [{ role: 'user', content: words }]
    const reading = await read('chat', { messages, tools: [tool], add_generation_prompt: false })
    const text = library.decode([...reading.tokens!], { skip_special_tokens: false })
    expect(text).toContain(
      '{"type": "function", "function": {"name": "look", "description": null, "parameters": {"type": "object"}}}',
    )
    expect(text.endsWith(`${words}<|im_end|>\n`)).toBe(true)
    expect(withChain(reading)).toMatchObject(exactly(idsOf(text)))
  })

  it('chat, truncated: the last tokens', async () => {
    const body = { messages: [{ role: 'user', content: words }] }
    const whole = await read('chat', body)
    const reading = await read('chat', { ...body, truncate_prompt_tokens: 50 })
    expect(withChain(reading)).toMatchObject(exactly([...whole.tokens!].slice(-50)))
  })

  it('chat with its own template: content chunks, at once', () => {
    const messages = [{ role: 'user', content: words.repeat(3) }]
    const request = requestOf('chat', { messages, chat_template: '{{ 1 }}' }, { tokenizer: qwen3 })
    expectApproximate(atOnce(reader.read(request)), 'client_template')
  })

  it('media parts: the exact blocks before the first one, and the chunks of all', async () => {
    const content = [
      { type: 'text', text: words },
      { type: 'image_url', image_url: { url: imageUrl } },
      { type: 'text', text: words.repeat(2) },
    ]
    const messages = [
      { role: 'system', content: words },
      { role: 'user', content },
    ]
    const reading = await read('chat', { messages })
    const before = idsOf(`<|im_start|>system\n${words}<|im_end|>\n<|im_start|>user\n${words}`)
    expect(reading).toMatchObject({ exactness: 'exact_before_media', cause: 'media', isEstimated: true })
    const known = [...reading.tokens!]
    expect(known).toEqual(before.slice(0, known.length))
    expect(known.length).toBeGreaterThan(before.length / 2)
    expect(chainOf(reading.blocks)).toEqual(blocksOf(known))
    expect(reading.chunks!.count).toBeGreaterThan(10)
    expect(reading.body.mediaParts).toBe(1)
    expect(reading.allTokens).toBeGreaterThan(1.9 * before.length)
    expect(reading.allTokens).toBeLessThan(2.1 * before.length)
  })

  it('n and best_of: as one prompt, with so many decodes', async () => {
    const one = await read('completions', { prompt: words })
    const several = await read('completions', { prompt: words, n: 2, best_of: 5 })
    expect([one.body.decodes, several.body.decodes]).toEqual([1, 5])
    expect(withChain(several)).toMatchObject(exactly(idsOf(words)))
  })

  it('responses: like a chat; with a previous response on content chunks, and it says which', async () => {
    const reading = await read('responses', { input: words, instructions: 'Be brief.' })
    const rendered = `<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n${words}<|im_end|>\n<|im_start|>assistant\n`
    expect(withChain(reading)).toMatchObject(exactly(idsOf(rendered)))
    const later = await read('responses', { input: words, previous_response_id: 'resp_1' })
    expectApproximate(later, 'previous_response')
    expect(later.body.previousResponseId).toBe('resp_1')
  })

  it('messages: content chunks', () => {
    const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: words.repeat(3) }] }
    expectApproximate(atOnce(reader.read(requestOf('messages', body, { tokenizer: qwen3 }))), 'messages')
  })

  it.each([
    ['embeddings', { input: words }],
    ['rerank', { query: 'q', documents: [words, words] }],
    ['score', { text_1: words, text_2: words }],
    ['pooling', { input: [words] }],
    ['tokenize', { prompt: words }],
    ['count_tokens', { messages: [{ role: 'user', content: words }] }],
  ] as const)('%s: nothing, its load is estimated', (endpoint, body) => {
    const reading = atOnce(reader.read(requestOf(endpoint, body, { tokenizer: qwen3 })))
    expect(reading).toMatchObject({
      exactness: 'nothing',
      cause: undefined,
      tokens: undefined,
      chunks: undefined,
    })
    expect([reading.blocks.count, reading.isEstimated]).toEqual([0, true])
    expect(reading.allTokens).toBe(Math.ceil(reading.body.textBytes / 4))
    expect(reading.allTokens).toBeGreaterThan(100)
  })

  it.each([
    ['embeddings', { input: [[1, 2, 3], [4]] }, 4],
    ['pooling', { input: [1, 2, 3] }, 3],
    ['detokenize', { tokens: [7, 8, 9, 10, 11] }, 5],
  ] as const)('%s of token ids: nothing, its load is known', (endpoint, body, tokens) => {
    const reading = atOnce(reader.read(requestOf(endpoint, body)))
    expect(reading).toMatchObject({ exactness: 'nothing', allTokens: tokens, isEstimated: false })
    expect(reading.blocks.count).toBe(0)
  })
})

describe('selection bodies', () => {
  it('of token ids: exact, with objects, adapter, salt and layout of their own', () => {
    const token_ids = Array.from({ length: 33 }, (_, index) => index)
    const infos = [null, { mm_objects: [{ mm_hash: 7, offsets: [[16, 20]] }] }]
    const body = { token_ids, block_mm_infos: infos, lora_name: 'a', cache_salt: 's', is_eagle: true }
    const reading = atOnce(reader.read(requestOf('selection', body, { loraName: 'b' })))
    const options = { loraName: 'a', cacheSalt: 's', isEagle: true, objectsByBlock: [[], [7n]] }
    expect(withChain(reading)).toMatchObject(exactly(token_ids, options))
  })

  it('of hashes: as they are', () => {
    const body = { block_hashes: [1, -2], sequence_hashes: [-3, 4], isl_tokens: 40 }
    const reading = atOnce(reader.read(requestOf('selection', body)))
    expect(reading).toMatchObject({ exactness: 'exact', promptTokens: 40, tokens: undefined })
    expect(chainOf(reading.blocks)).toEqual([2n ** 64n - 3n, 4n])
  })
})

describe('what sets prompts apart', () => {
  const prompt = Array.from({ length: 40 }, (_, index) => index)

  it('adapter and salt; a salt beside the body goes before those in it', () => {
    const body = { prompt, cache_salt: 'top', nvext: { cache_salt: 'inner' } }
    const chain = (more: Partial<PromptRequest>, of: object = body): bigint[] | undefined =>
      chainOf(atOnce(reader.read(requestOf('completions', of, more))).blocks)
    expect(chain({ loraName: 'l' })).toEqual(blocksOf(prompt, { loraName: 'l', cacheSalt: 'inner' }))
    expect(chain({ cacheSalt: 'header' })).toEqual(blocksOf(prompt, { cacheSalt: 'header' }))
    expect(chain({ cacheSalt: '' }, { prompt, cache_salt: 'top' })).toEqual(
      blocksOf(prompt, { cacheSalt: 'top' }),
    )
    expect(chain({ isEagle: true }, { prompt })).toEqual(blocksOf(prompt, { isEagle: true }))
  })

  it('the salt is told, and hashed by the threads too', async () => {
    const reading = await read('completions', { prompt: words, cache_salt: 's' }, { loraName: 'l' })
    expect(reading.cacheSalt).toBe('s')
    expect(withChain(reading)).toMatchObject(exactly(idsOf(words), { loraName: 'l', cacheSalt: 's' }))
    const chunks = (cacheSalt?: string): bigint[] | undefined =>
      chainOf(atOnce(reader.read(requestOf('completions', { prompt: words }, { cacheSalt }))).chunks)
    expect(chunks('a')![0]).not.toBe(chunks('b')![0])
    expect(chunks()).toHaveLength(chunks('a')!.length)
  })

  it('"no complete block" is not "unknown"', async () => {
    const short = await read('completions', { prompt: 'hello world' })
    expect(short).toMatchObject({ exactness: 'exact', promptTokens: 2, chunks: undefined })
    const unknown = await read('completions', { prompt: 'hello world' }, { tokenizer: undefined })
    expect(unknown).toMatchObject({ exactness: 'approximate', cause: 'tokenizer_missing' })
    expect([short.blocks.count, unknown.blocks.count, unknown.chunks?.count]).toEqual([0, 0, 0])
  })
})
