import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/engine/serving.js'
import { builtInModel } from '../../src/model/built-in-model.js'
import { imageIdentifiers } from '../../src/model/messages.js'
import { codeOf } from '../support/codes.js'
import { conversation } from './support/conversations.js'

const model = builtInModel()

describe('a conversation that cannot be rendered', () => {
  const image = { type: 'image_url', image_url: { url: 'http://x/y.png' } }
  it.each<[string, unknown]>([
    ['a message that is none', 'hello'],
    ['nothing', null],
    ['no role', { content: 'x' }],
    ['a role that is no text', { role: 1, content: 'x' }],
    ['content that is a number', { role: 'user', content: 5 }],
    ['content that is an object', { role: 'user', content: { text: 'x' } }],
    ['a part that is none', { role: 'user', content: [5] }],
    ['a part of another type', { role: 'user', content: [{ type: 'input_audio' }] }],
    ['a part without its text', { role: 'user', content: [{ type: 'text' }] }],
    [
      'more placeholders than images',
      { role: 'user', content: [image, { type: 'text', text: '<|image|><|image|>' }] },
    ],
    ['a tool call that is none', { role: 'assistant', tool_calls: [1] }],
    ['a tool call without a function', { role: 'assistant', tool_calls: [{ id: '1' }] }],
    ['a tool call without a name', { role: 'assistant', tool_calls: [{ function: {} }] }],
    [
      'arguments that are no JSON',
      { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{' } }] },
    ],
    [
      'arguments that are a number',
      { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: 1 } }] },
    ],
  ])('%s', (_name, message) => {
    const messages = [message] as Conversation['messages']
    expect(codeOf(() => model.render(conversation(messages)))).toBe('MOCK_ENGINE_CONVERSATION_INVALID')
  })

  it('nothing to be continued, or continued and answered at once', () => {
    const continued = { continueFinalMessage: true, addGenerationPrompt: false }
    const messages = [{ role: 'user', content: 'x' }]
    expect(codeOf(() => model.render(conversation([], continued)))).toBe('MOCK_ENGINE_CONVERSATION_INVALID')
    expect(codeOf(() => model.render(conversation(messages, { continueFinalMessage: true })))).toBe(
      'MOCK_ENGINE_CONVERSATION_INVALID',
    )
    expect(model.render(conversation(messages, continued))).toBe('<|im_start|>user\nx')
  })
})

it('only an assistant calls tools', () => {
  const message = (role: string) => ({ role, content: 'x', tool_calls: [{ function: { name: 'f' } }] })
  const text = model.render(
    conversation([message('user'), message('assistant')], { addGenerationPrompt: false }),
  )
  expect(text.split('<|im_end|>\n')).toEqual([
    '<|im_start|>user\nx',
    '<|im_start|>assistant\nx\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    '',
  ])
})

describe('images of a conversation', () => {
  it('a placeholder stands where the text says, or before it', () => {
    const image = { type: 'input_image', image_url: 'http://x/y.png' }
    const content = [{ type: 'text', text: 'One <|image|>.' }, image, image, 'Two.']
    expect(model.render(conversation([{ role: 'user', content }], { addGenerationPrompt: false }))).toBe(
      '<|im_start|>user\n<|image|>\nOne <|image|>.\nTwo.<|im_end|>\n',
    )
  })

  it('are known by what they show, or as the client says', () => {
    const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')
    const part = (url: unknown, rest = {}) => ({ type: 'image_url', image_url: url, ...rest })
    const content = [
      part({ url: 'data:image/png;base64,aGVsbG8=' }),
      { type: 'text', text: 'x' },
      part('http://x/y.png'),
      part(null, { uuid: 'mine' }),
    ]
    expect(
      imageIdentifiers({
        messages: [
          { role: 'user', content },
          { role: 'user', content: 'x' },
        ],
      }),
    ).toEqual([sha256(Buffer.from('hello')), sha256('http://x/y.png'), 'mine'])
  })

  it.each([[undefined], [''], [{}], [{ url: 5 }]])('without a URL are refused: %o', (url) => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: url }] }]
    expect(codeOf(() => imageIdentifiers({ messages }))).toBe('MOCK_ENGINE_CONVERSATION_INVALID')
  })
})
