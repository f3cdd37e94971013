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

const messages = [{ role: 'user', content: 'hi' }]
/** Shows a value as JSON. */
const show = (expression: string): string => `{{ ${expression} | tojson }}`

/** The text that a request's tokens stand for, with the tokenizer of letters. */
function textOf(
  template: unknown,
  endpoint: 'chat' | 'responses',
  body: object,
  config: object = {},
): string {
  const tokenizer = PromptTokenizer.load(lettersFolder(template, config), {
    now: () => new Date(2026, 10, 30),
  })
  return letters(read(tokenizer, endpoint, body).tokens)
}

function letters(tokens: Uint32Array): string {
  const { model, added_tokens: added } = lettersTokenizer([
    { content: '[user]' },
    { content: '[assistant]' },
    { content: '[system]' },
    { content: '[tool]' },
  ]) as { model: { vocab: Record<string, number> }; added_tokens: { id: number; content: string }[] }
  const texts = new Map(Object.entries(model.vocab).map(([text, id]) => [id, text]))
  for (const { id, content } of added) texts.set(id, content)
  return Array.from(tokens, (id) => texts.get(id) ?? '?').join('')
}

describe('a chat', () => {
  it('is its rendered template, with the start of an answer unless told otherwise', () => {
    expect(textOf(plainTemplate, 'chat', { messages })).toBe('[user]hi[assistant]')
    expect(textOf(plainTemplate, 'chat', { messages, add_generation_prompt: false })).toBe('[user]hi')
  })

  it('tools come in the order of fields that engines give them, null where nothing is said', () => {
    const tools = [
      { function: { strict: true, parameters: { b: 1.0, a: 2 }, name: 'f' }, type: 'function' },
      { type: 'function', function: { name: 'g', description: 'd' } },
      'no object',
    ]
    expect(textOf(show('tools'), 'chat', { messages, tools })).toBe(
      '[{"type": "function", "function": {"name": "f", "description": null, "parameters": {"b": 1, "a": 2}, "strict": true}}, ' +
        '{"type": "function", "function": {"name": "g", "description": "d", "parameters": null}}, "no object"]',
    )
    expect(textOf(show('tools'), 'chat', { messages })).toBe('null')
    const exact =
      '{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": 1.0, "1": 2, "0": 1e2}}}]}'
    const tokenizer = PromptTokenizer.load(lettersFolder(show('tools[0].function.parameters')))
    expect(letters(read(tokenizer, 'chat', exact).tokens)).toBe('{"x": 1.0, "1": 2, "0": 100.0}')
  })

  it('documents and the variables of chat_template_kwargs, which win over all', () => {
    expect(textOf(show('documents'), 'chat', { messages, documents: [{ title: 'a' }] })).toBe(
      '[{"title": "a"}]',
    )
    expect(textOf(show('documents'), 'chat', { messages })).toBe('null')
    const body = {
      messages,
      chat_template_kwargs: { mood: 'calm', add_generation_prompt: false, bos_token: 'B' },
    }
    expect(
      textOf('{{ mood }}{{ add_generation_prompt }}{{ bos_token }}', 'chat', body, { bos_token: 'x' }),
    ).toBe('calmFalseB')
    expect(textOf('{{ reasoning_effort is defined }}', 'chat', { messages })).toBe('False')
    expect(textOf('{{ reasoning_effort }}', 'chat', { messages, reasoning_effort: 'low' })).toBe('low')
  })

  it('special tokens are those of the configuration, as text or object; what it lacks comes from special_tokens_map.json', () => {
    const folder = folderWith({
      'tokenizer.json': lettersTokenizer(),
      'tokenizer_config.json': {
        chat_template: '{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ unk_token is defined }}',
        bos_token: 'B',
        eos_token: { content: 'E' },
        unk_token: null,
      },
      'special_tokens_map.json': { bos_token: 'x', pad_token: { content: 'P' } },
    })
    expect(letters(read(PromptTokenizer.load(folder), 'chat', { messages }).tokens)).toBe('BEPFalse')
  })

  it('the clock is the one given', () => {
    expect(textOf("{{ strftime_now('%d %b %Y') }}", 'chat', { messages })).toBe('30 Nov 2026')
  })

  it('add_special_tokens puts the frame around it; by default it is left to the template', () => {
    const single = [
      { SpecialToken: { id: '[system]' } },
      { Sequence: { id: 'A' } },
      { SpecialToken: { id: '[tool]' } },
    ]
    const known = { '[system]': { ids: [103] }, '[tool]': { ids: [104, 105] } }
    const processors = [{ type: 'ByteLevel' }, { type: 'TemplateProcessing', single, special_tokens: known }]
    const folder = folderWith({
      'tokenizer.json': lettersTokenizer([{ content: '[user]' }], {
        post_processor: { type: 'Sequence', processors },
      }),
      'tokenizer_config.json': { chat_template: '[user]' },
    })
    const tokenizer = PromptTokenizer.load(folder)
    expect([...read(tokenizer, 'chat', { messages }).tokens]).toEqual([firstAddedId])
    expect([...read(tokenizer, 'chat', { messages, add_special_tokens: true }).tokens]).toEqual([
      103,
      firstAddedId,
      104,
      105,
    ])
  })
})

describe('messages, as an engine hands them to a template', () => {
  const all = '{% for m in messages %}{{ m | tojson }}\n{% endfor %}'
  const inParts = '{% for m in messages %}{% for p in m.content %}{{ p | tojson }}{% endfor %}|{% endfor %}'

  it('content as one text: parts joined by line ends, empty ones left out, nothing is an empty text', () => {
    const body = {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: '' },
            'b',
            { type: 'refusal', refusal: 'c' },
          ],
        },
        { role: 'assistant', content: null },
        { role: 'user' },
        { role: 'user', content: [] },
      ],
    }
    expect(textOf('{% for m in messages %}<{{ m.content }}>{% endfor %}', 'chat', body)).toBe(
      '<a\nb\nc><><><>',
    )
  })

  it('content as parts: a text is a list of one, nothing an empty list', () => {
    const body = {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: [{ type: 'input_text', text: 'b', cache: 1 }] },
        { role: 'assistant', content: null },
        { role: 'user', content: '' },
      ],
    }
    expect(textOf(inParts, 'chat', body)).toBe(
      '{"type": "text", "text": "a"}|{"type": "text", "text": "b"}|||',
    )
  })

  it('names, ids of tool calls and reasoning pass; other fields do not', () => {
    const body = {
      messages: [
        { role: 'user', content: 'a', name: 'ann', weight: 1 },
        { role: 'assistant', content: 'b', reasoning_content: 'why', refusal: null },
        { role: 'tool', content: 'c', tool_call_id: 't' },
      ],
    }
    expect(textOf(all, 'chat', body)).toBe(
      [
        '{"role": "user", "content": "a", "name": "ann"}',
        '{"role": "assistant", "content": "b", "reasoning_content": "why", "reasoning": "why"}',
        '{"role": "tool", "content": "c", "tool_call_id": "t"}',
        '',
      ].join('\n'),
    )
  })

  it('no tool calls are none at all', () => {
    const body = {
      messages: [
        { role: 'assistant', content: 'a', tool_calls: [] },
        { role: 'user', content: 'b', tool_calls: [{}] },
      ],
    }
    expect(textOf("{% for m in messages %}{{ 'tool_calls' in m }}{% endfor %}", 'chat', body)).toBe(
      'FalseFalse',
    )
  })

  it('arguments of tool calls are parsed, exactly; no arguments are an empty object, no JSON stays a text', () => {
    const call = (given: unknown): object => ({ id: 'i', function: { name: 'f', arguments: given } })
    const calls = [
      call('{"b": 1.0, "a": "x"}'),
      call(''),
      call({ k: 1 }),
      call('{oops'),
      call(undefined),
      'bare',
    ]
    const template = `{% for m in messages %}{% for c in m.tool_calls %}${show('(c.function.arguments if c is mapping else c)')};{% endfor %}{% endfor %}`
    const body = {
      messages: [
        { role: 'assistant', content: '', tool_calls: calls },
        { role: 'assistant', tool_calls: [] },
      ],
    }
    expect(textOf(template, 'chat', body)).toBe('{"b": 1.0, "a": "x"};{};{"k": 1};"{oops";{};"bare";')
  })
})

describe('continue_final_message', () => {
  const ended =
    '{% for m in messages %}[{{ m.role }}]{{ m.content }}!{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}'
  const trimmed = ended.replace('m.content', 'm.content | trim')
  const bodyOf = (content: unknown): object => ({
    messages: [...messages, { role: 'assistant', content }],
    continue_final_message: true,
  })

  it.each([
    [ended, 'so far', '[user]hi![assistant]so far'],
    [ended, 'so far ', '[user]hi![assistant]so far '],
    [trimmed, ' so far ', '[user]hi![assistant]so far'],
    [ended, [{ type: 'text', text: 'hi' }], '[user]hi![assistant]hi'],
    [ended, '!', '[user]hi![assistant]!'],
    [ended, '\n', '[user]hi![assistant]\n'],
    [ended, '', '[user]hi![assistant]'],
    [trimmed, ' \n', '[user]hi![assistant]'],
  ])('%s: ends with %j', (template, content, text) => {
    expect(textOf(template, 'chat', bodyOf(content))).toBe(text)
  })

  it('starts no answer', () => {
    const body = { ...bodyOf('so'), add_generation_prompt: true }
    expect(textOf('{{ add_generation_prompt }}{{ messages[-1].content }}', 'chat', body)).toBe('Falseso')
  })

  it('of a content in parts goes on with the last text', () => {
    const template =
      '{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}!{% endfor %}'
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    expect(textOf(template, 'chat', bodyOf(parts))).toBe('[user]hi![assistant]ab')
  })
})

describe('a template by name', () => {
  const named = [
    { name: 'default', template: 'plain' },
    { name: 'tool_use', template: 'tools' },
  ]
  it('tool_use where there are tools, else default', () => {
    expect(textOf(named, 'chat', { messages })).toBe('plain')
    expect(textOf(named, 'chat', { messages, tools: [] })).toBe('tools')
    expect(textOf(named.slice(0, 1), 'chat', { messages, tools: [] })).toBe('plain')
  })

  it('chat_template.jinja wins over chat_template.json, and that over the configuration', () => {
    const files = {
      'tokenizer.json': lettersTokenizer(),
      'tokenizer_config.json': { chat_template: 'config' },
    }
    const json = { ...files, 'chat_template.json': { chat_template: 'json' } }
    const all = { ...json, 'chat_template.jinja': 'jinja' }
    const found = [files, json, all].map(
      (given) => read(PromptTokenizer.load(folderWith(given)), 'chat', { messages }).tokens,
    )
    expect(found.map(letters)).toEqual(['config', 'json', 'jinja'])
  })
})

describe('a responses request', () => {
  it('is a chat of its instructions and input', () => {
    expect(textOf(plainTemplate, 'responses', { instructions: 'be', input: 'hi' })).toBe(
      '[system]be[user]hi[assistant]',
    )
  })

  it('of items', () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'q' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a": 1}' },
      { type: 'function_call_output', call_id: 'c', output: 'r' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
    ]
    const template =
      '{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ m.reasoning_content }}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{{ m.tool_call_id }}{% endfor %}{{ tools | tojson }}'
    const tools = [{ type: 'function', name: 'f', parameters: {}, strict: true }]
    expect(textOf(template, 'responses', { input, tools })).toBe(
      '[user]q[assistant]hm[assistant]f{"a": 1}[tool]rc[assistant]x[{"type": "function", "function": {"name": "f", "description": null, "parameters": {}}}]',
    )
  })
})
