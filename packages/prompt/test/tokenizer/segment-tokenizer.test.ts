import { expect, it } from 'vitest'
import { SegmentTokenizer } from '../../src/tokenizer/segment-tokenizer.js'
import { TextCuts } from '../../src/tokenizer/text-cuts.js'
import { codeOf } from './support/small-tokenizer.js'

const cuts = new TextCuts({ addedTokens: [{ id: 0, content: '<t>', special: true }], normalizer: null })

/** A library whose tokens are the texts it was given, counted; `!` cannot be tokenized. */
function countingLibrary() {
  const encoded: string[] = []
  let cleared = 0
  return {
    encoded,
    clearings: () => cleared,
    model: { clear_cache: () => void cleared++ },
    encode(text: string) {
      if (text.includes('!')) throw new RangeError('too much')
      encoded.push(text)
      return { ids: [encoded.length] }
    },
  }
}

it('each part is given to the library once, and what was put around the text is not', () => {
  const library = countingLibrary()
  const segments = new SegmentTokenizer(library, cuts, 100_000)
  expect([...segments.tokenize('a<t>b', [7, 8], [9], 5).ids]).toEqual([7, 8, 1, 2, 9])
  const second = segments.tokenize('a<t>b<t>c', [], [], 9)
  expect([[...second.ids], second.reusedTokens]).toEqual([[1, 2, 3], 2])
  expect(library.encoded).toEqual(['a', '<t>b', '<t>c'])
  expect(segments.cachedSegments).toBe(3)
})

it('tokens are certain up to the last cut within the certain text, what stands before it included', () => {
  const segments = new SegmentTokenizer(countingLibrary(), cuts, 100_000)
  const exact = [0, 1, 2, 4, 5, 9, 10].map(
    (characters) => segments.tokenize('a<t>b<t>cc', [7], [9], characters).exactTokens,
  )
  // Before, a, <t>b, <t>cc, after; cuts at 1 and 5.
  expect(exact).toEqual([1, 2, 2, 2, 3, 3, 5])
})

it('the words that the library remembers are dropped after 16 Mi characters, so that they hold on to no more text', () => {
  const library = countingLibrary()
  const segments = new SegmentTokenizer(library, cuts, 1000)
  const text = 'x'.repeat(4_194_304)
  for (let count = 0; count < 4; count++) segments.tokenize(text, [], [], 0)
  expect(library.clearings()).toBe(0)
  segments.tokenize('y', [], [], 0)
  expect(library.clearings()).toBe(1)
  for (let count = 0; count < 3; count++) segments.tokenize(text, [], [], 0)
  expect(library.clearings()).toBe(1)
})

it('what the library throws has a code, and leaves nothing behind', () => {
  const segments = new SegmentTokenizer(countingLibrary(), cuts, 1000)
  expect(codeOf(() => segments.tokenize('a!', [], [], 0))).toBe('PROMPT_TOKENIZATION_FAILED')
  expect(segments.cachedSegments).toBe(0)
})
