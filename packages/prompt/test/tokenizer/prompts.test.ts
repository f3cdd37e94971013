import { describe, expect, it } from 'vitest'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import {
  firstAddedId,
  folderWith,
  lettersFolder,
  lettersTokenizer,
  plainTemplate,
  read,
} from './support/small-tokenizer.js'

const frame = {
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '<s>' } }, { Sequence: { id: 'A' } }],
  special_tokens: { '<s>': { ids: [firstAddedId] } },
}

/** A tokenizer of letters with the added tokens `<s>` and `<e>`. */
function framed(postProcessor: unknown, config: object = {}): PromptTokenizer {
  const json = lettersTokenizer([{ content: '<s>' }, { content: '<e>' }], { post_processor: postProcessor })
  return PromptTokenizer.load(
    folderWith({
      'tokenizer.json': json,
      'tokenizer_config.json': { bos_token: '<s>', eos_token: '<e>', ...config },
    }),
  )
}

// Ids of the tokenizer of letters.
const [a, b, start, end] = [66, 67, firstAddedId, firstAddedId + 1]

describe('a string prompt starts as the engine starts it', () => {
  it.each<[string, unknown, object, number[]]>([
    ['as the post-processor says', frame, {}, [start, a]],
    ['with nothing, where it says nothing', { type: 'ByteLevel' }, {}, [a]],
    ['with nothing, without one', null, {}, [a]],
    ['between two', { type: 'BertProcessing', cls: ['<s>', start], sep: ['<e>', end] }, {}, [start, a, end]],
    ['in the class of Llama', { type: 'ByteLevel' }, { tokenizer_class: 'LlamaTokenizerFast' }, [start, a]],
    ['in that class, told not to', frame, { tokenizer_class: 'LlamaTokenizer', add_bos_token: false }, [a]],
    [
      'in that class, with an end',
      null,
      { tokenizer_class: 'GemmaTokenizer', add_eos_token: true },
      [start, a, end],
    ],
  ])('%s', (_name, postProcessor, config, ids) => {
    const tokenizer = framed(postProcessor, config)
    expect([...read(tokenizer, 'completions', { prompt: 'a' }).tokens]).toEqual(ids)
    expect([...read(tokenizer, 'completions', { prompt: 'a', add_special_tokens: false }).tokens]).toEqual([
      a,
    ])
  })

  it('an empty one too', () => {
    expect([...read(framed(frame), 'completions', { prompt: '' }).tokens]).toEqual([start])
    expect(read(framed(null), 'completions', { prompt: '' })).toEqual({
      tokens: new Uint32Array(0),
      exactTokens: 0,
      allTokens: 0,
      reusedTokens: 0,
      isWhole: false,
    })
  })
})

it('of a list of prompts the first is read, and all are counted', () => {
  const found = read(framed(frame), 'completions', { prompt: ['ba', 'a', ''] })
  expect([...found.tokens]).toEqual([start, b, a])
  expect(found).toMatchObject({ exactTokens: 3, allTokens: 6 })
})

describe('truncation keeps the last tokens', () => {
  it.each([
    [-1, [start, b, b, a]],
    [null, [start, b, b, a]],
    [4, [start, b, b, a]],
    [3, [start, b, a]],
    [1, [a]],
    [0, []],
    [1.5, [start, b, b, a]],
  ])('truncate_prompt_tokens %s', (limit, ids) => {
    const found = read(framed(frame), 'completions', { prompt: 'bba', truncate_prompt_tokens: limit })
    expect([...found.tokens]).toEqual(ids)
    expect(found).toMatchObject({ exactTokens: ids.length, allTokens: ids.length })
  })

  it('of each prompt of a list, and of a chat', () => {
    expect(
      read(framed(frame), 'completions', { prompt: ['bba', 'bbb'], truncate_prompt_tokens: 2 }).allTokens,
    ).toBe(4)
    const chat = PromptTokenizer.load(lettersFolder(plainTemplate))
    const found = read(chat, 'chat', {
      messages: [{ role: 'user', content: 'a' }],
      truncate_prompt_tokens: 2,
    })
    expect([...found.tokens]).toEqual([a, firstAddedId + 1])
  })
})

describe('media', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const bodyOf = (...contents: unknown[]): object => ({
    messages: contents.map((content) => ({ role: 'user', content })),
  })
  const inParts =
    '{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{% if p.type == "text" %}{{ p.text }}{% else %}<{{ p.type }}>{% endif %}{% endfor %}{% endfor %}'

  it('in a content of one text: exact to the start of the message, as engines put the image first', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder(plainTemplate))
    const found = read(tokenizer, 'chat', bodyOf('aaaa', [{ type: 'text', text: 'bbb' }, image], 'a'))
    // [user]aaaa | [user]bbb | [user]a | [assistant]
    expect(found).toMatchObject({ exactTokens: 5, allTokens: 5 + 4 + 2 + 1 })
    expect(found.tokens).toHaveLength(found.allTokens)
  })

  it('in a content of parts: exact to the added token before the part', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder(inParts))
    const text = { type: 'text', text: 'bb[tool]b' }
    const found = read(tokenizer, 'chat', bodyOf('aaaa', [text, image, text]))
    // [user]aaaa | [user]bb | [tool]b<image>bb | [tool]b
    expect(found.exactTokens).toBe(5 + 3)
    expect(found.allTokens).toBe(5 + 3 + 2 + '<image>'.length + 2 + 2)
  })

  it.each([
    ['a URL', { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }],
    ['a broken one', { type: 'image_url', image_url: 5 }],
    ['sound', { type: 'input_audio', input_audio: {} }],
    ['a file', { type: 'file', file: { file_id: 'f' } }],
    ['no type', { image_url: { url: 'x' } }],
  ])('%s', (_name, part) => {
    const tokenizer = PromptTokenizer.load(lettersFolder(inParts))
    expect(read(tokenizer, 'chat', bodyOf([part])).exactTokens).toBe(0)
    expect(read(tokenizer, 'chat', bodyOf('a', [part])).exactTokens).toBe(2)
  })

  it('nothing is exact where the text cannot be cut, or is truncated', () => {
    const body = bodyOf('aaaa', [image])
    const tokenizer = PromptTokenizer.load(lettersFolder(plainTemplate))
    expect(read(tokenizer, 'chat', { ...body, truncate_prompt_tokens: 3 })).toMatchObject({
      exactTokens: 0,
      allTokens: 3,
    })
    const json = lettersTokenizer([{ content: '[user]', single_word: true }])
    const config = { chat_template: plainTemplate }
    const whole = PromptTokenizer.load(
      folderWith({ 'tokenizer.json': json, 'tokenizer_config.json': config }),
    )
    expect(read(whole, 'chat', body)).toMatchObject({ exactTokens: 0, isWhole: true })
  })
})

describe('requests that are hashed from nothing count for the load', () => {
  const template = '<e>{{ messages[0].content }}'
  it.each<[Parameters<typeof read>[1], object, number]>([
    ['embeddings', { input: 'aa' }, 3],
    ['embeddings', { input: ['aa', 'b'] }, 5],
    ['embeddings', { input: [[1, 2, 3], [4]] }, 4],
    ['embeddings', { input: [1, 2] }, 2],
    ['embeddings', { input: 'aa', add_special_tokens: false }, 2],
    ['embeddings', { input: 'aaaa', truncate_prompt_tokens: 2 }, 2],
    ['pooling', { messages: [{ role: 'user', content: [{ type: 'text', text: 'aa' }] }] }, 3],
    ['rerank', { query: 'a', documents: ['b', { text: 'bb' }] }, 2 + 2 + 2 + 3],
    ['score', { text_1: 'a', text_2: ['b', 'bb'] }, 2 + 2 + 2 + 3],
    ['score', { queries: ['a', 'aa'], documents: ['b', 'bb'] }, 2 + 3 + 2 + 3],
    ['tokenize', { prompt: 'aa' }, 3],
    ['tokenize', { messages: [{ role: 'user', content: 'aa' }] }, 3],
    ['detokenize', { tokens: [1, 2, 3] }, 3],
    ['count_tokens', { system: 'a', messages: [{ role: 'user', content: 'b' }] }, 4],
    ['embeddings', {}, 0],
  ])('%s %j', (endpoint, body, allTokens) => {
    const tokenizer = framed(frame, { chat_template: template })
    expect(read(tokenizer, endpoint, body)).toMatchObject({
      tokens: new Uint32Array(0),
      exactTokens: 0,
      allTokens,
    })
  })
})

describe('what was read before is not tokenized again', () => {
  it('a conversation that grows costs its new end', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder(plainTemplate))
    const turns = ['a', 'b', 'aa', 'bb'].map((content, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content,
    }))
    const reads = [1, 3].map((count) => read(tokenizer, 'chat', { messages: turns.slice(0, count) }))
    // The start of the answer was alone before, and now has a text.
    expect(reads.map(({ reusedTokens, allTokens }) => [reusedTokens, allTokens])).toEqual([
      [0, 3],
      [2 + 1, 2 + 2 + 3 + 1],
    ])
    expect(read(tokenizer, 'chat', { messages: turns.slice(0, 3) }).reusedTokens).toBe(8)
  })

  it('without room nothing is kept, and the ids are the same', () => {
    const folder = lettersFolder(plainTemplate)
    const body = { messages: [{ role: 'user', content: 'ab' }] }
    const none = PromptTokenizer.load(folder, { cacheBytes: 0 })
    const first = read(none, 'chat', body)
    expect(read(none, 'chat', body)).toEqual({ ...first, reusedTokens: 0 })
    expect(read(PromptTokenizer.load(folder), 'chat', body)).toEqual(first)
    expect([none.cachedBytes, none.cachedSegments]).toEqual([0, 0])
  })
})
