import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AddedToken, AddedTokenMatcher } from '../../src/tokenizer/added-tokens.js'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { TextCuts } from '../../src/tokenizer/text-cuts.js'
import { libraryTokenizer } from '../../src/tokenizer/tokenizer-library.js'
import { firstAddedId, folderWith, lettersTokenizer, read } from './support/small-tokenizer.js'

type Added = Partial<AddedToken> & { content: string }

function cutsOf(added: readonly Added[], normalizer: unknown = null, more: object = {}): TextCuts {
  const addedTokens = added.map((token, id) => ({ id, special: true, ...token }))
  return new TextCuts({ addedTokens, normalizer, ...more })
}

/** The parts of a text. */
function partsOf(cuts: TextCuts, text: string): string[] {
  const starts = cuts.starts(text)
  return starts.map((start, index) => text.slice(start, starts[index + 1]))
}

describe('added tokens are found', () => {
  it('from the left, the longest first, in a range', () => {
    const matcher = new AddedTokenMatcher(['<a>', '<a><b>', '<b>', '[x]', ''])
    const found = (text: string, from = 0, to = text.length): string[] => {
      const all: string[] = []
      for (let at = from; matcher.find(text, at, to); at = matcher.end)
        all.push(text.slice(matcher.start, matcher.end))
      return all
    }
    expect(found('..<a><b><b>[x]<a')).toEqual(['<a><b>', '<b>', '[x]'])
    expect(found('<a><b>', 0, 5)).toEqual(['<a>'])
    expect(found('<a><b>', 1)).toEqual(['<b>'])
    expect(found('nothing')).toEqual([])
    expect(new AddedTokenMatcher([]).find('<a>', 0, 3)).toBe(false)
  })

  it('as a search by hand finds them', () => {
    const contents = ['<a>', '<ab', '<ab>', 'b>a', '<<', '[b]']
    const matcher = new AddedTokenMatcher(contents)
    const text = fc.string({ unit: fc.constantFrom('<', 'a', 'b', '>', '[', ']'), maxLength: 40 })
    fc.assert(
      fc.property(text, (given) => {
        let at = 0
        while (at <= given.length) {
          const longest = (start: number): string =>
            contents
              .filter((one) => given.startsWith(one, start))
              .toSorted((a, b) => b.length - a.length)[0] ?? ''
          let start = at
          while (start < given.length && longest(start) === '') start++
          const isThere = matcher.find(given, at, given.length)
          expect(isThere).toBe(start < given.length)
          if (!isThere) return
          expect([matcher.start, matcher.end]).toEqual([start, start + longest(start).length])
          at = matcher.end
        }
      }),
      { seed: 3, numRuns: 300 },
    )
  })
})

describe('where a text is cut', () => {
  it('before tokens that leave their neighbours alone; not where it starts', () => {
    const cuts = cutsOf([{ content: '<a>' }, { content: '<b>', special: false, normalized: false }])
    expect(cuts.wholeReason).toBeUndefined()
    expect(partsOf(cuts, '<a>x<b><b>y')).toEqual(['<a>x', '<b>', '<b>y'])
    expect(partsOf(cuts, 'z<a>')).toEqual(['z', '<a>'])
    expect(partsOf(cuts, '')).toEqual([''])
  })

  it('not before tokens of white space or signs alone, which would make tiny parts', () => {
    const cuts = cutsOf([{ content: '\n\n' }, { content: '▁▁' }, { content: ' <s>' }, { content: '<t>' }])
    expect(partsOf(cuts, 'a\n\nb▁▁c <s>d<t>e')).toEqual(['a\n\nb▁▁c <s>d', '<t>e'])
  })

  it('not before tokens that strip, though others are still used', () => {
    const cuts = cutsOf([
      { content: '<l>', lstrip: true },
      { content: '<r>', rstrip: true },
      { content: '<t>' },
    ])
    expect(partsOf(cuts, 'a <l>b<r> c<t>d')).toEqual(['a <l>b<r> c', '<t>d'])
  })

  it('a longer token hides a shorter one', () => {
    const cuts = cutsOf([{ content: '<t>' }, { content: '!<t>!', rstrip: true }])
    expect(partsOf(cuts, 'a!<t>!b<t>c')).toEqual(['a!<t>!b', '<t>c'])
  })

  it('before tokens found after normalization only where that changes nothing', () => {
    const normalized = [{ content: '<n>', normalized: true }, { content: '<t>' }]
    const identity = { type: 'Sequence', normalizers: [] }
    for (const normalizer of [null, identity])
      expect(partsOf(cutsOf(normalized, normalizer), 'a<n>b<t>c<n>')).toEqual(['a', '<n>b', '<t>c', '<n>'])
    for (const [normalizer, more] of [
      [{ type: 'Lowercase' }, {}],
      [identity, { remove_space: true }],
      [identity, { do_lowercase_and_remove_accent: true }],
    ] as const)
      expect(partsOf(cutsOf(normalized, normalizer, more), 'a<n>b<t>c<n>')).toEqual(['a<n>b', '<t>c<n>'])
  })
})

describe('texts are tokenized as a whole', () => {
  it.each([
    ['single words', [{ content: '<t>' }, { content: 'word', single_word: true }], null, /"word"/],
    ['no token', [], null, /no added token/],
    ['only stripping ones', [{ content: '<t>', rstrip: true }], null, /no added token/],
    ['only normalized ones', [{ content: '<t>', normalized: true }], { type: 'NFC' }, /no added token/],
  ])('with %s', (_name, added, normalizer, reason) => {
    const cuts = cutsOf(added, normalizer)
    expect(cuts.wholeReason).toMatch(reason)
    expect(cuts.starts('a<t>word<t>')).toEqual([0])
  })
})

const tokens: Added[] = [
  { content: '<t>' },
  { content: '<l>', lstrip: true },
  { content: '<r>', rstrip: true },
  { content: '<n>', normalized: true, special: false },
  { content: '\n', special: false, normalized: false },
]

describe('ids of parts are the ids of the whole, whatever a tokenizer does to its pieces', () => {
  it.each<[string, object]>([
    ['nothing', {}],
    [
      'a prefix of every piece',
      { pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' } },
    ],
    [
      'a prefix of the first piece',
      { pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' } },
    ],
    ['a text put before', { normalizer: { type: 'Prepend', prepend: '▁' } }],
    ['white space taken off', { normalizer: { type: 'Strip', strip_left: true, strip_right: true } }],
    ['small letters', { normalizer: { type: 'Lowercase' } }],
    ['composition', { normalizer: { type: 'NFC' } }],
    ['no normalizers', { normalizer: { type: 'Sequence', normalizers: [] } }],
    ['spaces as signs', { normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '▁' } }],
  ])('%s', (_name, parts) => {
    const json = lettersTokenizer(tokens, parts)
    const folder = folderWith({ 'tokenizer.json': json, 'tokenizer_config.json': {} })
    const tokenizer = PromptTokenizer.load(folder, { cacheBytes: 20_000 })
    const library = libraryTokenizer({ ...json }, {})
    expect(tokenizer.wholeReason).toBeUndefined()
    let reused = 0
    const unit = fc.constantFrom(
      '<t>',
      '<l>',
      '<r>',
      '<n>',
      '<N>',
      '<t',
      '\n',
      ' ',
      'a',
      'b',
      'e\u0301',
      '▁',
      'Z',
      '\ud800',
    )
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 20 }), (prompt) => {
        const found = read(tokenizer, 'completions', { prompt, add_special_tokens: false })
        reused += found.reusedTokens
        expect([...found.tokens]).toEqual(library.encode(prompt, { add_special_tokens: false }).ids)
      }),
      { seed: 8, numRuns: 300 },
    )
    expect(reused).toBeGreaterThan(30)
  })

  it('and a tokenizer that finds single words says that it does the whole', () => {
    const json = lettersTokenizer([{ content: '<t>' }, { content: 'ab', single_word: true }])
    const tokenizer = PromptTokenizer.load(
      folderWith({ 'tokenizer.json': json, 'tokenizer_config.json': {} }),
    )
    expect(tokenizer.wholeReason).toContain('"ab"')
    const first = read(tokenizer, 'completions', { prompt: 'x<t>y<t>z' })
    expect(first).toMatchObject({ isWhole: true, reusedTokens: 0 })
    expect(first.tokens.filter((id) => id === firstAddedId)).toHaveLength(2)
    expect(read(tokenizer, 'completions', { prompt: 'x<t>y<t>zz' })).toMatchObject({
      isWhole: true,
      reusedTokens: 0,
    })
  })
})
