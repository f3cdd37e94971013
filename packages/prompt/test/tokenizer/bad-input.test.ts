import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PromptError } from '../../src/errors.js'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { qwen3Folder } from './support/qwen3.js'
import {
  codeOf,
  folderWith,
  lettersFolder,
  lettersTokenizer,
  plainTemplate,
  read,
} from './support/small-tokenizer.js'

const good = {
  'tokenizer.json': lettersTokenizer(),
  'tokenizer_config.json': { chat_template: plainTemplate },
}
const text = JSON.stringify(good['tokenizer.json'])

/** Code and message of what loading a folder throws. */
function failureOf(files: Readonly<Record<string, unknown>>): [string, string] {
  const folder = folderWith(files)
  try {
    PromptTokenizer.load(folder)
  } catch (error) {
    if (!PromptError.isInstance(error)) throw error
    expect(error.message.startsWith(String(error.details['file']))).toBe(true)
    return [error.code, error.message.replace(folder, '')]
  }
  return ['', '']
}

const without = (name: string): object =>
  Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
const changed = (more: object): object => ({ ...good, 'tokenizer.json': lettersTokenizer([], more) })

describe('a folder that is no tokenizer', () => {
  it.each<[string, object, string, RegExp]>([
    [
      'tokenizer.json missing',
      without('tokenizer.json'),
      'MISSING',
      /^\/tokenizer\.json: there is no such file/,
    ],
    ['configuration missing', without('tokenizer_config.json'), 'MISSING', /^\/tokenizer_config\.json/],
    [
      'cut',
      { ...good, 'tokenizer.json': text.slice(0, -40) },
      'INVALID',
      /^\/tokenizer\.json: it is no JSON, or cut/,
    ],
    ['empty', { ...good, 'tokenizer.json': '' }, 'INVALID', /no JSON/],
    ['a list', { ...good, 'tokenizer.json': '[]' }, 'INVALID', /no JSON object/],
    ['another version', changed({ version: '2.0' }), 'INVALID', /version "2\.0"; expected "1\.0"/],
    ['no model', changed({ model: null }), 'INVALID', /no model/],
    ['another model', changed({ model: { type: 'Quantum' } }), 'INVALID', /"Quantum"; expected one of BPE/],
    [
      'a model without vocabulary',
      changed({ model: { type: 'BPE' } }),
      'INVALID',
      /^\/tokenizer\.json: it cannot be used/,
    ],
    ['another normalizer', changed({ normalizer: { type: 'Odd' } }), 'INVALID', /Odd/],
    ['another post-processor', changed({ post_processor: { type: 'Odd' } }), 'INVALID', /Odd/],
    ['added tokens that are none', changed({ added_tokens: [{ content: 5 }] }), 'INVALID', /added_tokens/],
    [
      'a configuration cut',
      { ...good, 'tokenizer_config.json': '{"a":' },
      'INVALID',
      /^\/tokenizer_config\.json/,
    ],
    [
      'a template of no kind',
      { ...good, 'tokenizer_config.json': { chat_template: [5] } },
      'INVALID',
      /chat_template; expected/,
    ],
    ['a template file cut', { ...good, 'chat_template.json': '{' }, 'INVALID', /^\/chat_template\.json/],
  ])('%s', (_name, files, code, message) => {
    const failure = failureOf(files as Record<string, unknown>)
    expect(failure).toEqual([`PROMPT_TOKENIZER_${code}`, expect.stringMatching(message)])
  })

  it.each([{ cacheBytes: -1 }, { cacheBytes: Number.NaN }, { maxTextCharacters: 1.5 }])(
    'options %j',
    (options) => {
      expect(codeOf(() => PromptTokenizer.load(folderWith(good), options))).toBe('PROMPT_OPTION_INVALID')
    },
  )

  it('no folder at all', () => {
    expect(codeOf(() => PromptTokenizer.load(join(folderWith({}), 'nowhere')))).toBe(
      'PROMPT_TOKENIZER_MISSING',
    )
  })

  it('a real one, cut', () => {
    const whole = readFileSync(join(qwen3Folder, 'tokenizer.json'), 'utf8')
    expect(failureOf({ ...good, 'tokenizer.json': whole.slice(0, 1_000_000) })[0]).toBe(
      'PROMPT_TOKENIZER_INVALID',
    )
  })
})

describe('a template that cannot be used leaves string prompts', () => {
  const chat = { messages: [{ role: 'user', content: 'a' }] }
  it.each<[string, object, string]>([
    ['none', {}, 'PROMPT_TOKENIZER_MISSING'],
    ['null', { chat_template: null }, 'PROMPT_TOKENIZER_MISSING'],
    ['no default', { chat_template: [{ name: 'tool_use', template: 'x' }] }, 'PROMPT_TOKENIZER_MISSING'],
    ['cannot be parsed', { chat_template: '{% for %}' }, 'PROMPT_TEMPLATE_FAILED'],
    ['raises', { chat_template: "{{ raise_exception('not so') }}" }, 'PROMPT_TEMPLATE_FAILED'],
    [
      'asks for what is not there',
      { chat_template: '{{ messages[0].name.first }}' },
      'PROMPT_TEMPLATE_FAILED',
    ],
  ])('%s', (_name, config, code) => {
    const tokenizer = PromptTokenizer.load(folderWith({ ...good, 'tokenizer_config.json': config }))
    expect(codeOf(() => read(tokenizer, 'chat', chat))).toBe(code)
    expect(read(tokenizer, 'completions', { prompt: 'abc' }).tokens).toHaveLength(2)
  })

  it('says what it raised', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder("{{ raise_exception('roles must alternate') }}"))
    expect(() => read(tokenizer, 'chat', chat)).toThrow('roles must alternate')
  })

  it('is held to the maximum of characters', () => {
    const folder = lettersFolder(plainTemplate)
    const size = '[user]a[assistant]'.length
    expect(read(PromptTokenizer.load(folder, { maxTextCharacters: size }), 'chat', chat).tokens).toHaveLength(
      3,
    )
    const tight = PromptTokenizer.load(folder, { maxTextCharacters: size - 1 })
    expect(codeOf(() => read(tight, 'chat', chat))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('makes much of a little: at most four characters of a byte, and 64 Ki', () => {
    const spread = PromptTokenizer.load(
      lettersFolder('{% for i in range(n) %}{{ messages[0].content }}{% endfor %}'),
    )
    const bodyOf = (n: number): string =>
      JSON.stringify({
        messages: [{ role: 'user', content: 'a'.repeat(10_000) }],
        chat_template_kwargs: { n },
      })
    const most = Math.floor((4 * bodyOf(10).length + 65_536) / 10_000)
    expect(read(spread, 'chat', bodyOf(most)).allTokens).toBe(10_000 * most)
    expect(codeOf(() => read(spread, 'chat', bodyOf(most + 1)))).toBe('PROMPT_TEMPLATE_FAILED')
    expect(codeOf(() => read(spread, 'tokenize', bodyOf(most + 1)))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('changes the message that is to be continued', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder('{{ messages[-1].content | upper }}'))
    expect(codeOf(() => read(tokenizer, 'chat', { ...chat, continue_final_message: true }))).toBe(
      'PROMPT_TEMPLATE_FAILED',
    )
  })
})

describe('a body without a prompt is refused by the name of the field', () => {
  it.each<[Parameters<typeof read>[1], unknown, RegExp]>([
    ['chat', [], /^body: got a list/],
    ['chat', '{"messages"', /^body: it is no JSON/],
    ['chat', {}, /^messages: got a value of type undefined/],
    ['chat', { messages: 'hi' }, /^messages/],
    ['chat', { messages: [5] }, /^messages\[0\]: got a value of type number/],
    ['chat', { messages: [{ role: 5 }] }, /^messages\[0\]\.role/],
    ['chat', { messages: [{ role: 'user', content: 5 }] }, /^messages\[0\]\.content: got/],
    ['chat', { messages: [{ role: 'user', content: [5] }] }, /^messages\[0\]\.content\[0\]: got/],
    [
      'chat',
      { messages: [{ role: 'user', content: [{ type: 'text', text: {} }] }] },
      /^messages\[0\]\.content\[0\]\.text/,
    ],
    ['chat', { messages: [], tools: 'f' }, /^tools: got a value of type string/],
    ['completions', {}, /^prompt: got/],
    ['completions', { prompt: [] }, /^prompt: got a list/],
    ['completions', { prompt: ['a', 5] }, /^prompt: got a list/],
    ['responses', {}, /^input: got/],
    ['responses', { input: [null] }, /^input\[0\]: got null/],
  ])('%s %j', (endpoint, body, message) => {
    const tokenizer = PromptTokenizer.load(folderWith(good))
    expect(() => read(tokenizer, endpoint, body)).toThrow(
      expect.objectContaining({
        code: 'PROMPT_BODY_INVALID',
        message: expect.stringMatching(message),
        details: expect.objectContaining({ key: expect.any(String) }),
      }),
    )
  })
})

describe('odd input that is a prompt all the same', () => {
  it('tools that are no objects, and fields of any type', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder(`${plainTemplate}{{ tools | tojson }}`))
    const body = {
      messages: [
        { role: 'user', content: 'a', name: {}, tool_calls: 'x' },
        { role: 'assistant', tool_calls: [null, {}] },
      ],
      tools: [null, 5, { function: 'f' }, {}],
      documents: 5,
      chat_template_kwargs: 'none',
      truncate_prompt_tokens: '5',
    }
    expect(read(tokenizer, 'chat', body).tokens.length).toBeGreaterThan(5)
  })

  it('keys that plain objects have of their own', () => {
    const tokenizer = PromptTokenizer.load(
      lettersFolder('{{ messages[0].constructor is defined }}{{ tools | tojson }}'),
    )
    const body =
      '{"messages": [{"role": "user", "content": "a", "__proto__": {"x": 1}}], "tools": [{"__proto__": 1, "toString": 2}]}'
    const plain =
      '{"messages": [{"role": "user", "content": "a"}], "tools": [{"__proto__": 1, "toString": 2}]}'
    expect(read(tokenizer, 'chat', body).tokens).toEqual(read(tokenizer, 'chat', plain).tokens)
  })

  it('nesting without end', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder('{{ tools | tojson }}'))
    const deep = `{"messages": [], "tools": [${'['.repeat(50_000)}1${']'.repeat(50_000)}]}`
    expect(['PROMPT_BODY_INVALID', 'PROMPT_TEMPLATE_FAILED']).toContain(
      codeOf(() => read(tokenizer, 'chat', deep)),
    )
    expect(read(tokenizer, 'completions', { prompt: 'a' }).tokens).toHaveLength(1)
  })

  it('10,000 messages, and one of a hundred thousand characters', () => {
    const tokenizer = PromptTokenizer.load(lettersFolder(plainTemplate))
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `a${index % 90}`,
    }))
    const found = read(tokenizer, 'chat', { messages })
    expect(read(tokenizer, 'chat', { messages }).reusedTokens).toBe(found.allTokens)
    const long = read(tokenizer, 'chat', { messages: [{ role: 'user', content: 'b '.repeat(50_000) }] })
    expect(long.allTokens).toBe(100_002)
  })
})
