import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SegmentCache, ownText } from '../../src/tokenizer/segment-cache.js'

const overhead = 384

function idsOf(...ids: number[]): Uint32Array {
  return Uint32Array.from(ids)
}

/** Texts of one length, start and end that differ where no look is taken. */
function twins(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${'s'.repeat(1000)}.${index}${'e'.repeat(1000)}`)
}

it('gives back what was added, and nothing for texts alike that were not', () => {
  const cache = new SegmentCache(100_000)
  const [first, second] = twins(2) as [string, string]
  cache.add(first, idsOf(1, 2))
  expect(cache.get(first)).toEqual(idsOf(1, 2))
  expect(cache.get(second)).toBeUndefined()
  cache.add(second, idsOf(3))
  expect([cache.get(first), cache.get(second)]).toEqual([idsOf(1, 2), idsOf(3)])
  expect([cache.size, cache.bytes]).toEqual([2, 2 * (overhead + first.length) + 12])
})

it('of texts alike it keeps four, the new ones among them', () => {
  const cache = new SegmentCache(1_000_000)
  const texts = twins(10)
  for (const text of texts) {
    cache.add(text, idsOf(text.charCodeAt(1001)))
    expect(cache.get(text)).toEqual(idsOf(text.charCodeAt(1001)))
  }
  expect(texts.filter((text) => cache.get(text) !== undefined)).toHaveLength(4)
  expect([cache.size, cache.bytes]).toEqual([4, 4 * (overhead + texts[0]!.length + 4)])
})

it('texts that differ at an end, or in much, have places of their own', () => {
  const cache = new SegmentCache(10_000_000)
  const texts = Array.from({ length: 300 }, (_, index) => {
    const number = String(index).padStart(3, '0')
    return [
      `<|im_start|>user\n${number}${'m'.repeat(1000)}`,
      `${'m'.repeat(1000)}${number}<|im_end|>`,
      number.repeat(300),
    ]
  }).flat()
  for (const text of texts) cache.add(text, idsOf(1))
  expect(cache.size).toBe(900)
})

it('counts a byte a character, two where one does not fit in it, and four an id', () => {
  const cache = new SegmentCache(100_000)
  cache.add('é'.repeat(10), idsOf(1, 2, 3))
  expect(cache.bytes).toBe(overhead + 10 + 12)
  cache.add('ж'.repeat(10), idsOf())
  expect(cache.bytes).toBe(2 * overhead + 10 + 12 + 20)
})

it('drops the least recently used', () => {
  const cache = new SegmentCache(4 * (overhead + 5))
  for (const text of ['a', 'b', 'c', 'd']) cache.add(text, idsOf(0))
  expect(cache.get('a')).toBeDefined()
  cache.add('e', idsOf(0))
  expect(['a', 'b', 'c', 'd', 'e'].filter((text) => cache.get(text) !== undefined)).toEqual([
    'a',
    'c',
    'd',
    'e',
  ])
})

it('does not keep what would take over a quarter of it, nor anything when it has no room', () => {
  const cache = new SegmentCache(4 * (overhead + 100))
  cache.add('a'.repeat(97), idsOf(1))
  expect(cache.size).toBe(0)
  cache.add('a'.repeat(96), idsOf(1))
  expect(cache.size).toBe(1)
  const none = new SegmentCache(0)
  none.add('a', idsOf(1))
  expect([none.size, none.bytes]).toEqual([0, 0])
})

it('never holds more bytes than its capacity, and counts them right', () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', 'ж'), maxLength: 300 }), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(texts, (given) => {
      const cache = new SegmentCache(6000)
      for (const text of given) {
        if (cache.get(text) === undefined) cache.add(text, new Uint32Array(text.length))
        expect(cache.bytes).toBeLessThanOrEqual(6000)
      }
      const kept = [...new Set(given)].filter((text) => cache.get(text) !== undefined)
      expect(kept).toHaveLength(cache.size)
      const bytes = kept.map(
        (text) => overhead + (text.includes('ж') ? 2 : 1) * text.length + 4 * text.length,
      )
      expect(bytes.reduce((sum, one) => sum + one, 0)).toBe(cache.bytes)
    }),
    { seed: 2, numRuns: 100 },
  )
})

it('a copy of a text is the same text, lone surrogates too', () => {
  for (const text of ['', 'plain', 'é\u00ff', 'ж😀', '\ud83d and \udc00']) expect(ownText(text)).toBe(text)
})
