import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtInModel } from '../../src/model/built-in-model.js'
import { withImages } from '../../src/model/images.js'
import { ReplyWriter } from '../../src/model/reply-writer.js'
import { TextStream } from '../../src/model/text-stream.js'
import { anyText } from './support/conversations.js'

const model = builtInModel()
const writer = new ReplyWriter(model)

describe('a reply', () => {
  it('has exactly the tokens asked for, which come back from its text', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat({ max: 300 }), (seed, count) => {
        const tokens = writer.reply(seed, count)
        expect(tokens).toHaveLength(count)
        expect(model.encode(model.decode(tokens), false)).toEqual(tokens)
        // In the prompt of the next turn, too.
        const [head, tail] = ['<|im_start|>assistant\n', '<|im_end|>\n']
        const prompt = model.encode(head + model.decode(tokens) + tail, false)
        const at = model.encode(head, false).length
        expect(prompt.slice(at, at + count)).toEqual(tokens)
      }),
      { seed: 1, numRuns: 200 },
    )
  })

  it('is the same for the same seed, another for another', () => {
    expect(writer.reply(7, 50)).toEqual(new ReplyWriter(model).reply(7, 50))
    expect(writer.reply(7, 50)).not.toEqual(writer.reply(8, 50))
    expect(writer.reply(7, 50).subarray(0, 20)).toEqual(writer.reply(7, 20))
  })

  it('reads as sentences of many words', () => {
    const text = model.decode(writer.reply(3, 2000))
    expect(text).toMatch(/^[A-Z]\w*( \w+){4,12}\.( [A-Z]\w*( \w+){4,12}\.)* /)
    expect(new Set(text.match(/\w+/g)).size).toBeGreaterThan(100)
  })

  it('of a tokenizer that has no word as one token is made of parts of words', () => {
    const utf8 = {
      encode: (text: string) => Uint32Array.from(Buffer.from(text)),
      decode: (tokens: Uint32Array) => Buffer.from(tokens).toString(),
    }
    expect(
      utf8.decode(
        new ReplyWriter({
          ...utf8,
          encode: (text) => (text === '.' ? new Uint32Array(2) : utf8.encode(text)),
        }).reply(1, 50),
      ),
    ).toMatch(/^A[ the]{49}$/)
  })
})

describe('text from tokens as they come', () => {
  const piecesOf = (tokens: Iterable<number>): string[] => {
    const stream = new TextStream(model)
    return [...Array.from(tokens, (token) => stream.push(token)), stream.end()]
  }

  it('is the text of all tokens, whatever they are', () => {
    const anyTokens = fc.oneof(
      anyText.map((text) => [...model.encode(text, false)]),
      fc.array(fc.nat({ max: 255 }), { maxLength: 30 }),
      fc.array(fc.nat({ max: model.vocabularySize - 1 }), { maxLength: 30 }),
    )
    fc.assert(
      fc.property(anyTokens, (tokens) => {
        expect(piecesOf(tokens).join('')).toBe(model.decode(Uint32Array.from(tokens)))
      }),
      { seed: 2, numRuns: 1000 },
    )
  })

  it('never has a part of a character', () => {
    const text = 'a 漢 b 👩‍👩‍👧 c'
    const pieces = piecesOf(model.encode(text, false))
    expect(pieces.join('')).toBe(text)
    expect(pieces.filter((piece) => piece.includes('\ufffd'))).toEqual([])
    expect(pieces.filter((piece) => piece === '').length).toBeGreaterThan(5)
  })

  it('comes with each token that is whole', () => {
    expect(piecesOf(writer.reply(1, 20)).slice(0, -1)).not.toContain('')
  })
})

describe('images', () => {
  const image = model.imageToken!

  it('take their tokens where the prompt has them', () => {
    const prompt = Uint32Array.of(1, image, 2, image, 3)
    expect(withImages(prompt, image, ['a', 'b'], 3)).toEqual({
      promptTokens: Uint32Array.of(1, image, image, image, 2, image, image, image, 3),
      media: [
        { identifier: 'a', start: 1, end: 4 },
        { identifier: 'b', start: 5, end: 8 },
      ],
    })
  })

  it('that the prompt has more of are left alone', () => {
    const prompt = Uint32Array.of(image, 1, image)
    expect(withImages(prompt, image, ['a'], 2)).toEqual({
      promptTokens: Uint32Array.of(image, image, 1, image),
      media: [{ identifier: 'a', start: 0, end: 2 }],
    })
    expect(withImages(prompt, image, [], 2)).toEqual({ promptTokens: prompt, media: [] })
  })
})
