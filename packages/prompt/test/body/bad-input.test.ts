import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import { expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import type { PromptEndpoint } from '../../src/endpoint.js'
import { encode, errorOf } from './support.js'

const hasher = new BlockHasher()
const reader = new BodyReader(hasher)
const layout = { blockSize: 4, seed: hasher.seedOf() }

const chat = (content: string) => `{"messages":[{"role":"user","content":"${content}"}]}`
function chunksOf(bytes: Uint8Array, endpoint: PromptEndpoint = 'chat'): bigint[] {
  const target = new BlockHashes()
  reader.contentChunks(bytes, reader.read(endpoint, bytes), layout, target)
  return hashesOf(target.sequence, target.count)
}
const offsetOf = (bytes: Uint8Array) => {
  const { code, details } = errorOf(() => reader.read('chat', bytes))
  return [code, details['offset'], details['found']]
}

it('a body that is empty, no JSON or no object is refused with the place', () => {
  const invalid = 'PROMPT_BODY_INVALID'
  expect(offsetOf(encode(''))).toEqual([invalid, 0, 'the end'])
  expect(offsetOf(encode('model=m'))).toEqual([invalid, 0, '"m"'])
  expect(offsetOf(encode(' [{"role":"user"}]'))).toEqual([invalid, 1, '"["'])
  for (const scalar of ['null', '5', '"x"', '[1,2]', 'true'])
    expect(offsetOf(encode(scalar))[0]).toBe(invalid)
  expect(offsetOf(encode('{"messages":[{"role":'))).toEqual([invalid, 21, 'the end'])
  // UTF-16, with and without its mark.
  expect(offsetOf(Buffer.from('\ufeff{}', 'utf16le'))[0]).toBe(invalid)
  expect(offsetOf(Buffer.from('{}', 'utf16le'))[0]).toBe(invalid)
})

it('a byte order mark is passed over', () => {
  const text = chat('a text with some chunks')
  expect(chunksOf(encode(`\ufeff${text}`))).toEqual(chunksOf(encode(text)))
  expect(offsetOf(encode('\ufeff\ufeff{}'))).toEqual(['PROMPT_BODY_INVALID', 3, 'the byte 0xef'])
})

it('lone surrogates and bytes that are not UTF-8 count as U+FFFD', () => {
  const replaced = chunksOf(encode(chat('broken: \ufffd, then more')))
  expect(replaced.length).toBeGreaterThan(3)
  expect(chunksOf(encode(chat('broken: \\ud800, then more')))).toEqual(replaced)
  expect(chunksOf(encode(chat('broken: \\uDC00, then more')))).toEqual(replaced)
  const raw = Buffer.from(chat('broken: #, then more'))
  raw[raw.indexOf('#')] = 0xff
  expect(chunksOf(raw)).toEqual(replaced)
  // As a decoder of the web platform does it: a surrogate in UTF-8 is three faulty bytes.
  const surrogate = Buffer.concat([
    Buffer.from('{"prompt":"'),
    Buffer.of(0xed, 0xa0, 0x80),
    Buffer.from(' and text behind it"}'),
  ])
  expect(chunksOf(surrogate, 'completions')).toEqual(
    chunksOf(encode('{"prompt":"\ufffd\ufffd\ufffd and text behind it"}'), 'completions'),
  )
})

it('bytes that are not UTF-8 are no JSON outside of strings, and move no place', () => {
  const bytes = Buffer.from('{"a":"#","b":#}')
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x23) bytes[at] = 0xfe
  expect(offsetOf(bytes)).toEqual(['PROMPT_BODY_INVALID', 13, 'the byte 0xfe'])
  // Spans would lie in other bytes than the caller's.
  const image = Buffer.from(
    `{"x":"#","messages":[{"content":[{"type":"image_url","image_url":"${'A'.repeat(500)}"}]}]}`,
  )
  expect(reader.read('chat', image).mediaSpans).toHaveLength(2)
  image[image.indexOf('#')] = 0xfe
  expect(reader.read('chat', image)).toMatchObject({ mediaParts: 1, mediaSpans: [] })
})

it('of a key that is there twice the last one counts', () => {
  const reading = reader.read(
    'completions',
    encode('{"prompt":[1],"n":2,"prompt":[3,4],"n":5,"model":"a","model":"b"}'),
  )
  expect(reading).toMatchObject({ decodes: 5, model: 'b', allTokens: 2 })
  expect(reading.tokens).toEqual(Uint32Array.of(3, 4))
  expect(reader.read('completions', encode('{"prompt":[1],"prompt":null}')).route).toBe('nothing')
})

it('10,000 messages are read like ten', () => {
  const messages = Array.from({ length: 10_000 }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${turn}`,
  }))
  const bytes = encode(JSON.stringify({ messages }))
  expect(reader.read('chat', bytes)).toMatchObject({ route: 'tokenize', prompts: 1 })
  const start = chunksOf(encode(JSON.stringify({ messages: messages.slice(0, 10) })))
  const chunks = chunksOf(bytes)
  expect(chunks.length).toBeGreaterThan(30_000)
  expect(chunks.slice(0, start.length)).toEqual(start)
})

it('one message of 10 MB is read like a short one', () => {
  const bytes = encode(chat('0123456789abcde\\n'.repeat(700_000)))
  const { route, textBytes } = reader.read('chat', bytes)
  expect([route, textBytes > 10_000_000]).toEqual(['tokenize', true])
  expect(chunksOf(bytes)).toHaveLength(Math.floor(textBytes / 16))
})

it('tools and messages that are no objects are part of the text', () => {
  const body = (tools: unknown, messages: unknown[] = []) =>
    encode(JSON.stringify({ tools, messages: [...messages, { role: 'user', content: 'hello' }] }))
  const all = [
    body(undefined),
    body('a tool'),
    body(5),
    body([1, 2.5, -1]),
    body([12, 5]),
    body([[], [null]]),
    body(undefined, [7, 'x', null]),
  ]
  for (const bytes of all) expect(reader.read('chat', bytes).route).toBe('tokenize')
  expect(new Set(all.map((bytes) => chunksOf(bytes).at(-1))).size).toBe(all.length)
  for (const none of [null, []]) expect(chunksOf(body(none))).toEqual(chunksOf(body(undefined)))
})

it('messages that nest deeply need no stack', () => {
  const depth = 50_000
  const bytes = encode(
    `{"messages":[{"role":"user","content":${'[{"type":"tool_result","content":'.repeat(depth)}1${'}]'.repeat(depth)}}]}`,
  )
  expect(reader.read('chat', bytes)).toMatchObject({ route: 'tokenize', mediaParts: 0 })
  expect(chunksOf(bytes).length).toBeGreaterThan(depth)
})

it('an empty prompt is a prompt', () => {
  expect(reader.read('completions', encode('{"prompt":""}'))).toMatchObject({
    route: 'tokenize',
    textBytes: 0,
  })
  expect(reader.read('completions', encode('{"prompt":[]}'))).toMatchObject({
    route: 'tokens',
    allTokens: 0,
    prompts: 1,
  })
})
