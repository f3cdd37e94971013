import { BlockHasher } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { writeShortest } from '../../src/body/json-escapes.js'
import { BytePieces } from '../../src/content/byte-pieces.js'
import { anyCharacter } from '../support/characters.js'
import { textOf } from './support.js'

const reader = new BodyReader(new BlockHasher())

describe('the canonical text of a conversation', () => {
  it('is the bytes themselves of tools that are canonical, and of those within others that are not', () => {
    const tools = '[{"name":"f","x":{"a":[1.5,"b\\n",{}]}},{"name":"g","y":[[],[true]]}]'
    const textOfTools = (json: string) => textOf('chat', `{"tools":${json},"messages":[]}`)
    expect(textOfTools(tools)).toBe(`"tools":${tools},"messages":[`)
    for (const odd of [
      tools.replaceAll(',"y"', ' , "y"'),
      tools.replace('"f"', '"\\u0066"'),
      tools.replace('"x"', '"\\u0078"'),
      tools.replace('[[]', '[[ ]'),
      tools.replace('}]}}', ' }]}}'),
      tools.replace('"x"', '"cache_control":{"a":1},"x"'),
      ` ${tools} `,
    ])
      expect(textOfTools(odd), odd).toBe(`"tools":${tools},"messages":[`)
    expect(textOfTools('[{"enum":[1, 2,\n3]}]')).toBe('"tools":[{"enum":[1,2,3]}],"messages":[')
  })

  it('chat: tools and documents first, wherever they stand, then the turns, open for more', () => {
    const body = `{ "messages": [ {"role": "user", "name": "Bo", "content": "Hi\\u0021"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]} ],
      "documents": [{"title": "t"}], "model": "m", "tools" : [{"type":"function","function":{"name":"f"}}] , "seed": 1.0e0 }`
    expect(textOf('chat', body)).toBe(
      '"tools":[{"type":"function","function":{"name":"f"}}],"documents":[{"title":"t"}],' +
        '"messages":[{"role":"user","name":"Bo","content":[{"type":"text","text":"Hi!"}]},' +
        '{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}',
    )
  })

  it('responses: tools, instructions, input', () => {
    expect(textOf('responses', { input: 'Hi', instructions: 'Be kind.', tools: [] })).toBe(
      '"instructions":[{"type":"text","text":"Be kind."}],"input":[{"role":"user","content":[{"type":"text","text":"Hi"}]}',
    )
    const items = [
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'function_call_output', output: '5' },
    ]
    expect(textOf('responses', { input: items })).toBe(
      '"input":[{"type":"message","role":"user","content":[{"type":"text","text":"Hi"}]},{"type":"function_call_output","output":"5"}',
    )
  })

  it('messages: tools, system, messages', () => {
    const body = { messages: [{ role: 'user', content: 'Hi' }], system: 'Be kind.', tools: [{ name: 'f' }] }
    expect(textOf('messages', body)).toBe(
      '"tools":[{"name":"f"}],"system":[{"type":"text","text":"Be kind."}],' +
        '"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}',
    )
  })

  it('a string is the list of one text part, so that a client may change from one to the other', () => {
    const parts = (content: unknown) =>
      textOf('messages', { system: content, messages: [{ role: 'user', content }] })
    expect(parts([{ type: 'text', text: 'Hi' }])).toBe(parts('Hi'))
  })

  it('cache marks are left out, first, last or alone, at any depth', () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: [1] } }
    const body = (marks: object) => ({
      tools: [
        { name: 'f', ...marks },
        { ...marks, name: 'g' },
      ],
      system: [{ ...marks, type: 'text', text: 's' }],
      messages: [
        {
          ...marks,
          role: 'user',
          content: [
            { type: 'text', ...marks, text: 'Hi' },
            { type: 'tool_result', content: [{ ...marks }] },
          ],
          ...marks,
        },
      ],
    })
    expect(textOf('messages', body(mark))).toBe(textOf('messages', body({})))
  })

  it('media parts leave their digest alone', () => {
    const image = { type: 'image_url', image_url: { url: 'https://x.test/a.png' } }
    const content = [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }]
    expect(textOf('chat', { messages: [{ role: 'user', content }] })).toBe(
      '"messages":[{"role":"user","content":[{"type":"text","text":"a"},<>,{"type":"text","text":"b"}]}',
    )
    expect(textOf('responses', { input: [{ type: 'image_generation_call', result: 'AA' }] })).toBe(
      '"input":[<>',
    )
    // What a tool is told is no part of the conversation's content, whatever its keys.
    const call = {
      role: 'assistant',
      tool_calls: [{ function: { arguments: { type: 'image_url' } } }],
      audio: { type: 'image' },
    }
    expect(textOf('chat', { messages: [call] })).toBe(`"messages":[${JSON.stringify(call)}`)
  })

  it('is told in bytes without being written, media left out', () => {
    const image = { type: 'image_url', image_url: { url: 'https://x.test/a.png' } }
    const body = {
      tools: [1, 2.5],
      messages: [{ role: 'user', content: [image, { type: 'text', text: 'é\n/' }] }, 7, 'x'],
    }
    const text = JSON.stringify(body).replaceAll('/', '\\/').replaceAll('é', '\\u00e9')
    expect(reader.read('chat', Buffer.from(text)).textBytes).toBe(
      Buffer.byteLength(textOf('chat', text)) - '<>'.length,
    )
  })
})

const anyJson = fc.jsonValue({
  maxDepth: 4,
  stringUnit: fc.string({ unit: anyCharacter, minLength: 1, maxLength: 2 }),
})

/** The same JSON, written with other white space and needless escapes. */
function rewritten(json: string, space: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|[,:[\]{}]/g, (token) => {
    if (token.length === 1) return `${space}${token}${space}`
    return token.replaceAll(/\\u[0-9a-f]{4}|\\.|[^\\"]/gsu, (character) => {
      if (character.length > 1 && character.startsWith('\\')) return character
      const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      if (units[0]! % 3 > 0 && character !== '/') return character
      return character === '/'
        ? '\\/'
        : units.map((unit) => `\\u${unit.toString(16).toUpperCase().padStart(4, '0')}`).join('')
    })
  })
}

it('is JSON in its shortest form, whatever form it came in', () => {
  fc.assert(
    fc.property(fc.array(anyJson, { maxLength: 4 }), fc.constantFrom('', ' ', '\n\t'), (tools, space) => {
      const json = JSON.stringify(tools)
      // A tokenizer sees a lone surrogate so.
      const shortest = json.replaceAll(/\\\\|\\ud[89a-f]../g, (escape) =>
        escape.length === 2 ? escape : '\ufffd',
      )
      const body = `{${space}"messages"${space}:[],"tools":${rewritten(json, space)}}`
      const list = tools.length === 0 ? '' : `"tools":${shortest},`
      expect(textOf('tokenize', body)).toBe(`${list}"messages":[`)
    }),
    { seed: 6, numRuns: 300 },
  )
})

it('strings come out as JSON.stringify writes well-formed text, whatever their escapes', () => {
  const units = fc.array(
    fc.oneof(
      fc.constantFrom(
        '\\u0041',
        '\\ud83d\\ude00',
        '\\ud83d',
        '\\ude00',
        '\\uD83D\\uD83D\\uDE00',
        '\\u001f',
        '\\u000a',
        '\\u0022',
        '\\u005C',
        '\\/',
        '\\n',
        '\\b',
        '\\u0000',
        '\\u007f',
        '\\u07ff',
        '\\u0800',
      ),
      fc.string({ unit: anyCharacter, maxLength: 2 }).map((text) => JSON.stringify(text).slice(1, -1)),
    ),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(units, (list) => {
      const json = `"${list.join('')}"`
      const parsed = JSON.parse(json) as string
      const out = new BytePieces(1000, () => 0)
      const bytes = Buffer.from(json)
      writeShortest(bytes, 0, bytes.length, out)
      const expected = JSON.stringify(Buffer.from(parsed).toString())
      expect(Buffer.from(out.buffer.subarray(0, out.used)).toString()).toBe(expected)
      // What the scanner counts is what comes out.
      const { textBytes } = reader.read('completions', Buffer.from(`{"prompt":${json}}`))
      expect(textBytes).toBe(Buffer.byteLength(expected) - 2)
    }),
    { seed: 7, numRuns: 500 },
  )
})
