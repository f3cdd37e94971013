import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { anyCharacter } from '../support/characters.js'
import { baseSeed, chunksOf, textOf } from './support.js'

const hasher = new BlockHasher()

interface Message {
  readonly role: string
  readonly content: unknown
}
const user = (content: unknown): Message => ({ role: 'user', content })

/** Hashes of the complete blocks of a text, taken as 32-bit words. */
function hashesOfText(text: string, blockSize: number): bigint[] {
  const bytes = Buffer.from(text)
  const words = new Uint32Array(Math.floor(bytes.length / 4))
  Buffer.from(words.buffer).set(bytes.subarray(0, 4 * words.length))
  const target = new BlockHashes()
  hasher.hash(words, { blockSize }, target)
  return hashesOf(target.sequence, target.count)
}

const content = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc.array(fc.record({ type: fc.constant('text'), text: fc.string({ maxLength: 30 }) }), { maxLength: 3 }),
)
const message = fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content })
const conversation = fc.array(message, { minLength: 1, maxLength: 6 })

describe('content chunks', () => {
  it('are the blocks of the canonical text, 4 x blockSize bytes each, the last one complete', () => {
    const messages = Array.from({ length: 300 }, (_, turn) =>
      user(`Turn ${turn}: "${'word '.repeat(turn)}"\n\u{1f600}`),
    )
    const text = textOf('chat', { messages })
    expect(text.length).toBeGreaterThan(200_000)
    for (const blockSize of [1, 3, 16, 784, 16_384, 20_000, 100_000]) {
      const chunks = chunksOf('chat', { messages }, { blockSize })
      expect(chunks).toEqual(hashesOfText(text, blockSize))
      expect(chunks).toHaveLength(Math.floor(Buffer.byteLength(text) / (4 * blockSize)))
    }
  })

  it('of a conversation that goes on from another start with its chunks', () => {
    fc.assert(
      fc.property(conversation, conversation, (before, more) => {
        const chunks = chunksOf('chat', { messages: before })
        const longer = chunksOf('chat', { stream: true, messages: [...before, ...more] })
        expect(longer.slice(0, chunks.length)).toEqual(chunks)
        expect(chunks.length).toBeGreaterThan(0)
      }),
      { seed: 8, numRuns: 200 },
    )
    const prompt = 'Once upon a time there was a router'
    const shorter = chunksOf('completions', { prompt })
    expect(shorter).toHaveLength(2)
    expect(chunksOf('completions', { prompt: `${prompt} that knew where things were.` }).slice(0, 2)).toEqual(
      shorter,
    )
  })

  it('are the same with other white space, escapes and order of the top-level keys', () => {
    const plain =
      '{"model":"m","messages":[{"role":"user","content":"A/é \u{1f600} and some more text"}],"stream":true}'
    const other =
      '{ "stream" : false,\n"messages":[ {"r\\u006fle" : "user","content":"\\u0041\\/\\u00E9 \\ud83d\\uDE00 and some more text"} ],"seed":1}\n'
    expect(chunksOf('chat', other)).toEqual(chunksOf('chat', plain))
    expect(chunksOf('chat', plain).length).toBeGreaterThan(4)
  })

  it('differ where conversations differ', () => {
    const tail = user('and a good deal of text behind it, the same for all')
    const variants: Message[][] = [
      [user('ab'), user('c')],
      [user('a'), user('bc')],
      [user('abc')],
      [user('ab'), { role: 'assistant', content: 'c' }],
      [
        user([
          { type: 'text', text: 'ab' },
          { type: 'text', text: 'c' },
        ]),
      ],
      [{ ...user('abc'), name: 'x' } as Message],
      [user('"},{"role":"user","content":"')],
      [user(null)],
    ]
    const seen = new Set(
      variants.map((messages) => chunksOf('chat', { messages: [...messages, tail] }, { blockSize: 32 })[0]),
    )
    expect(seen.size).toBe(variants.length)
    expect(seen.has(undefined)).toBe(false)
    const tools = [{ type: 'function', function: { name: 'a tool' } }]
    expect(chunksOf('chat', { messages: [tail], tools })[0]).not.toBe(
      chunksOf('chat', { messages: [tail] })[0],
    )
    expect(chunksOf('chat', { messages: [tail], documents: tools })[0]).not.toBe(
      chunksOf('chat', { messages: [tail], tools })[0],
    )
  })

  it('of other adapters and salts never match', () => {
    const body = { messages: [user('a text of more than one chunk')] }
    const seeds = [
      baseSeed,
      hasher.seedOf('a'),
      hasher.seedOf(undefined, 'a'),
      hasher.seedOf('a', 'b'),
      hasher.seedOf('b', 'a'),
    ]
    const all = seeds.flatMap((seed) => chunksOf('chat', body, { seed }))
    expect(new Set(all).size).toBe(all.length)
    expect(all.length).toBe(5 * chunksOf('chat', body).length)
  })

  it('of a list of prompts are those of the first', () => {
    const first = 'a prompt that has a chunk or two'
    expect(chunksOf('completions', { prompt: [first, 'another'] })).toEqual(
      chunksOf('completions', { prompt: first }),
    )
    expect(chunksOf('completions', { prompt: first })).toEqual(hashesOfText(first, 4))
  })

  it('are none for ids, hashes, and requests that are routed on nothing', () => {
    const text = 'a text that is long enough for chunks'
    expect(chunksOf('completions', { prompt: [1, 2, 3, 4, 5, 6, 7, 8] })).toEqual([])
    expect(chunksOf('chat', { messages: [user(text)], nvext: { token_data: [1] } })).toEqual([])
    expect(chunksOf('selection', { sequence_hashes: [1], isl_tokens: 4 })).toEqual([])
    expect(chunksOf('embeddings', { input: text })).toEqual([])
    expect(chunksOf('count_tokens', { messages: [user(text)] })).toEqual([])
    expect(chunksOf('chat', { messages: [] })).toEqual([])
  })
})

describe('media parts in chunks', () => {
  const withImage = (url: string, more: object = {}) => ({
    messages: [
      user([
        { type: 'text', text: 'Look at this:' },
        { type: 'image_url', image_url: { url }, ...more },
        { type: 'text', text: 'What is it?' },
      ]),
    ],
  })
  const wholeOf = (body: object) => chunksOf('chat', body, { blockSize: 8 })

  it('count by their digest: the same for the same bytes, another for others', () => {
    const chunks = wholeOf(withImage('https://x.test/a.png'))
    expect(chunks.length).toBeGreaterThan(3)
    expect(
      chunksOf('chat', JSON.stringify(withImage('https://x.test/a.png')).replaceAll('/', '\\/'), {
        blockSize: 8,
      }),
    ).toEqual(chunks)
    const marked = JSON.stringify(withImage('https://x.test/a.png', { cache_control: { type: 'ephemeral' } }))
    for (const body of [marked, marked.replace('cache_control', 'cache\\u005fcontrol')])
      expect(chunksOf('chat', body, { blockSize: 8 })).toEqual(chunks)
    const other = wholeOf(withImage('https://x.test/b.png'))
    expect(other[0]).toBe(chunks[0])
    expect(other.at(-1)).not.toBe(chunks.at(-1))
    expect(other).toHaveLength(chunks.length)
  })

  it('of any size tell apart what differs in one byte', () => {
    // Around the size of a piece, and far above it.
    for (const length of [65_400, 65_480, 65_536, 131_072, 300_001]) {
      const data = `data:image/png;base64,${'A'.repeat(length)}`
      const chunks = wholeOf(withImage(data))
      expect(wholeOf(withImage(data))).toEqual(chunks)
      for (const other of [
        `${data.slice(0, -1)}B`,
        `B${data.slice(1)}`,
        `${data.slice(0, 70_000)}B${data.slice(70_001)}`,
        `${data}A`,
      ])
        expect(wholeOf(withImage(other)).at(-1), `${length}`).not.toBe(chunks.at(-1))
      expect(chunks).toHaveLength(wholeOf(withImage('u')).length)
    }
  })

  it('that are broken count like others', () => {
    for (const image of [
      { type: 'image_url' },
      { type: 'image_url', image_url: [1, 2] },
      { type: 'image', source: null },
    ]) {
      const chunks = wholeOf({
        messages: [
          user([{ type: 'text', text: 'x'.repeat(100) }, image, { type: 'text', text: 'y'.repeat(100) }]),
        ],
      })
      expect(chunks.length).toBeGreaterThan(5)
    }
  })
})

it('one reader gives the chunks of a body again after it has read others', () => {
  const reader = new BodyReader(hasher)
  const bodies = ['first', 'second'].map((text) =>
    Buffer.from(JSON.stringify({ messages: [user(text.repeat(20))] })),
  )
  const readings = bodies.map((bytes) => reader.read('chat', bytes))
  const target = new BlockHashes()
  const layout = { blockSize: 4, seed: baseSeed }
  for (const turn of [0, 1, 0, 0, 1]) {
    reader.contentChunks(bodies[turn]!, readings[turn]!, layout, target)
    expect(hashesOf(target.sequence, target.count)).toEqual(chunksOf('chat', bodies[turn]))
  }
  expect(() => reader.contentChunks(bodies[0]!, readings[0]!, { ...layout, blockSize: 0 }, target)).toThrow(
    expect.objectContaining({ code: 'KV_INDEX_BLOCK_SIZE_INVALID' }),
  )
})
