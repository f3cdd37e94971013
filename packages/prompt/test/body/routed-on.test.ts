import { BlockHasher } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import type { BodyReading } from '../../src/body/body-reading.js'
import type { PromptEndpoint } from '../../src/endpoint.js'
import { encode, errorOf } from './support.js'

const reader = new BodyReader(new BlockHasher())

const read = (endpoint: PromptEndpoint, body: unknown, nvext?: boolean): BodyReading => {
  return reader.read(endpoint, encode(JSON.stringify(body)), { nvext })
}
const user = (content: unknown) => ({ role: 'user', content })
const messages = [user('Why is the sky blue?')]

describe('what a request is routed on', () => {
  it('token-id prompt: the ids, and its tokens', () => {
    const reading = read('completions', { model: 'm', prompt: [0, 151_643, 4_294_967_295] })
    expect(reading).toMatchObject({
      route: 'tokens',
      model: 'm',
      allTokens: 3,
      prompts: 1,
      decodes: 1,
      textBytes: 0,
    })
    expect(reading.tokens).toEqual(Uint32Array.of(0, 151_643, 4_294_967_295))
  })

  it('string prompt: for the tokenizer', () => {
    const reading = read('completions', { prompt: 'a"b\né' })
    expect(reading).toMatchObject({ route: 'tokenize', tokens: undefined, allTokens: undefined, prompts: 1 })
    // The quote and the line feed are two bytes each, as is the letter.
    expect(reading.textBytes).toBe(8)
  })

  it('list of string prompts: for the tokenizer, all of them for the load', () => {
    const reading = read('completions', { prompt: ['abc', 'defg', ''] })
    expect(reading).toMatchObject({ route: 'tokenize', prompts: 3, textBytes: 7, allTokens: undefined })
  })

  it('list of id lists: hashed from the first, the load of all', () => {
    const reading = read('completions', { prompt: [[7, 8], [9], []] })
    expect(reading).toMatchObject({ route: 'tokens', prompts: 3, allTokens: 3 })
    expect(reading.tokens).toEqual(Uint32Array.of(7, 8))
    expect(read('completions', { prompt: [[], [9]] }).tokens).toEqual(new Uint32Array(0))
  })

  it('chat: for the tokenizer', () => {
    const body = {
      model: 'm',
      messages,
      documents: [{ text: 'x' }],
      chat_template_kwargs: { enable_thinking: false },
    }
    expect(read('chat', body)).toMatchObject({
      route: 'tokenize',
      model: 'm',
      hasOwnTemplate: false,
      mediaParts: 0,
    })
    expect(read('chat', { messages: [] })).toMatchObject({ route: 'tokenize' })
  })

  it("chat with a client's own template: content chunks", () => {
    expect(read('chat', { messages, chat_template: '{{ x }}' })).toMatchObject({
      route: 'content',
      hasOwnTemplate: true,
    })
    const inside = { messages, chat_template_kwargs: { chat_template: '{{ x }}' } }
    expect(read('chat', inside)).toMatchObject({ route: 'content', hasOwnTemplate: true })
    for (const none of [null, '', 5])
      expect(read('chat', { messages, chat_template: none })).toMatchObject({
        route: 'tokenize',
        hasOwnTemplate: false,
      })
  })

  it('media parts: counted, their text left out', () => {
    const parts = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1000)}` } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'https://x.test/v.mp4' } },
      { type: 'image_url', image_url: 'not a url' },
      { type: 'image_url', image_url: 5 },
      { type: 'file', file: { file_id: 'f' } },
      { image_url: { url: 'https://x.test/i.png' } },
    ]
    const reading = read('chat', { messages: [user(parts)] })
    expect(reading).toMatchObject({ route: 'tokenize', mediaParts: 7 })
    expect(reading.textBytes).toBeLessThan(120)
    const responses = [
      user([
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: 'u' },
        { type: 'input_file' },
      ]),
    ]
    expect(read('responses', { input: responses }).mediaParts).toBe(2)
    const result = {
      type: 'tool_result',
      content: [{ type: 'image', source: { type: 'base64', data: 'AA' } }],
    }
    const text = { type: 'document', source: { type: 'text', data: 'words' } }
    const scan = { type: 'document', source: { type: 'base64', data: 'AA' } }
    expect(read('messages', { messages: [user([result, text, scan])] }).mediaParts).toBe(2)
  })

  it('media parts: their long strings lie where the spans say', () => {
    const url = `data:image/png;base64,${'A'.repeat(300)}`
    const bytes = encode(
      JSON.stringify({
        messages: [
          user([
            { type: 'image_url', image_url: { url, detail: 'low' } },
            { type: 'image_url', image_url: { url: 'short' } },
          ]),
        ],
        documents: [{ type: 'image', data: `${url}b` }],
      }),
    )
    const { mediaSpans } = reader.read('chat', bytes)
    const spans = [0, 2].map((at) =>
      Buffer.from(bytes.subarray(mediaSpans[at], mediaSpans[at + 1])).toString(),
    )
    expect(mediaSpans).toHaveLength(4)
    expect(spans).toEqual([url, `${url}b`])
  })

  it('n or best_of k: decodes', () => {
    const decodes = (fields: object) => read('completions', { prompt: 'a', ...fields }).decodes
    expect([decodes({ n: 3 }), decodes({ best_of: 4 }), decodes({ n: 2, best_of: 5 })]).toEqual([3, 4, 5])
    expect([
      decodes({}),
      decodes({ n: 0 }),
      decodes({ n: null }),
      decodes({ n: 1.5 }),
      decodes({ n: '4' }),
    ]).toEqual([1, 1, 1, 1, 1])
    expect([decodes({ n: -3 }), decodes({ n: 1_000_000 })]).toEqual([1, 16_384])
  })

  it('responses: like a chat; with previous_response_id the id, and content chunks', () => {
    const body = { instructions: 'Be kind.', input: 'Hello' }
    expect(read('responses', body)).toMatchObject({ route: 'tokenize', previousResponseId: undefined })
    expect(read('responses', { input: messages })).toMatchObject({ route: 'tokenize' })
    const next = read('responses', { ...body, previous_response_id: 'resp_1' })
    expect(next).toMatchObject({ route: 'content', previousResponseId: 'resp_1' })
    expect(read('chat', { messages, previous_response_id: 'resp_1' }).previousResponseId).toBeUndefined()
    expect(read('responses', { ...body, previous_response_id: null })).toMatchObject({ route: 'tokenize' })
  })

  it('messages: content chunks', () => {
    const body = { system: 'Be kind.', messages, tools: [{ name: 'f', input_schema: {} }] }
    const reading = read('messages', body)
    expect(reading).toMatchObject({ route: 'content', allTokens: undefined })
    expect(reading.textBytes).toBeGreaterThan(read('messages', { messages }).textBytes + 30)
  })

  it('embeddings, rerank, score, pooling, tokenize, detokenize, count_tokens: nothing, but their load', () => {
    const cases: [PromptEndpoint, object, Partial<BodyReading>][] = [
      ['embeddings', { input: 'abcd' }, { textBytes: 4, prompts: 1, allTokens: undefined }],
      ['embeddings', { input: ['ab', 'cde'] }, { textBytes: 5, prompts: 2, allTokens: undefined }],
      ['embeddings', { input: [1, 2, 3] }, { textBytes: 0, prompts: 1, allTokens: 3 }],
      ['embeddings', { input: [[1, 2, 3], [4]], truncate_prompt_tokens: 2 }, { prompts: 2, allTokens: 3 }],
      [
        'rerank',
        { query: 'abc', documents: ['d', 'ef'] },
        { textBytes: 6, prompts: 2, allTokens: undefined },
      ],
      ['rerank', { query: 'abc', documents: [{ text: 'd' }] }, { textBytes: 15, prompts: 1 }],
      ['score', { text_1: 'abc', text_2: ['d', 'e', 'f'] }, { textBytes: 6, prompts: 3 }],
      ['pooling', { input: [5, 6] }, { allTokens: 2 }],
      ['pooling', { messages }, { prompts: 1, allTokens: undefined }],
      ['tokenize', { prompt: 'abc' }, { textBytes: 3, allTokens: undefined }],
      ['tokenize', { messages }, { allTokens: undefined }],
      ['detokenize', { tokens: [1, 2, 3] }, { allTokens: 3 }],
      ['count_tokens', { system: 'x', messages }, { allTokens: undefined }],
    ]
    for (const [endpoint, body, expected] of cases) {
      expect(read(endpoint, body), `${endpoint} ${JSON.stringify(body)}`).toMatchObject({
        route: 'nothing',
        tokens: undefined,
        ...expected,
      })
    }
    expect(read('tokenize', { messages }).textBytes).toBeGreaterThan(20)
    expect(read('count_tokens', { messages }).textBytes).toBe(read('tokenize', { messages }).textBytes)
  })

  it('truncation: the last tokens are kept', () => {
    const reading = read('completions', { prompt: [[1, 2, 3, 4], [5], [6, 7, 8]], truncate_prompt_tokens: 2 })
    expect(reading).toMatchObject({ truncateTokens: 2, allTokens: 5 })
    expect(reading.tokens).toEqual(Uint32Array.of(3, 4))
    for (const none of [-1, 0, null, '2', 1.5]) {
      const whole = read('completions', { prompt: [1, 2, 3], truncate_prompt_tokens: none })
      expect(whole).toMatchObject({ truncateTokens: undefined, allTokens: 3 })
    }
  })

  it('nvext.token_data: exact ids before all else', () => {
    const nvext = { token_data: [4, 5, 6], cache_salt: 's' }
    for (const [endpoint, rest] of [
      ['chat', { messages, chat_template: 'x' }],
      ['completions', { prompt: 'text' }],
      ['responses', { input: 'x', previous_response_id: 'r' }],
      ['messages', { messages }],
    ] as const) {
      const reading = read(endpoint, { ...rest, nvext })
      expect(reading, endpoint).toMatchObject({ route: 'tokens', allTokens: 3, textBytes: 0, cacheSalt: 's' })
      expect(reading.tokens).toEqual(Uint32Array.of(4, 5, 6))
    }
    expect(read('chat', { messages, nvext: { token_data: [] } }).route).toBe('tokenize')
    expect(read('chat', { messages, nvext }, false)).toMatchObject({
      route: 'tokenize',
      cacheSalt: undefined,
    })
    expect(read('embeddings', { input: 'x', nvext })).toMatchObject({
      route: 'nothing',
      allTokens: undefined,
    })
    expect(errorOf(() => read('chat', { messages, nvext: { token_data: [1, -1] } })).details).toEqual({
      key: 'nvext.token_data',
      index: 1,
      value: '-1',
    })
  })

  it('cache salt: that of nvext before the top-level one, empty as absent', () => {
    const salt = (fields: object) => read('chat', { messages, ...fields }).cacheSalt
    expect(salt({ cache_salt: 'a' })).toBe('a')
    expect(salt({ cache_salt: 'a', nvext: { cache_salt: 'b"é' } })).toBe('b"é')
    expect(salt({ cache_salt: 'a', nvext: { cache_salt: '' } })).toBe('a')
    expect([salt({}), salt({ cache_salt: '' }), salt({ cache_salt: null }), salt({ cache_salt: 5 })]).toEqual(
      [undefined, undefined, undefined, undefined],
    )
  })
})

it('a body without a prompt is routed on nothing, for its engine to refuse', () => {
  const cases: [PromptEndpoint, object][] = [
    ['completions', {}],
    ['completions', { prompt: null }],
    ['completions', { prompt: 5 }],
    ['completions', { prompt: [{ text: 'x' }] }],
    ['chat', {}],
    ['chat', { messages: 'hello' }],
    ['chat', { messages: null, tools: [{ type: 'function' }] }],
    ['responses', { instructions: 'x' }],
    ['messages', { system: 'x' }],
    ['embeddings', { input: {} }],
  ]
  for (const [endpoint, body] of cases)
    expect(read(endpoint, body).route, JSON.stringify(body)).toBe('nothing')
})
