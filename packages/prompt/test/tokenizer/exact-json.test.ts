import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFloat, mayBeInexact, parseExactJson } from '../../src/tokenizer/exact-json.js'
import { anyCharacter } from '../support/characters.js'

/** The value as `JSON.parse` would give it. */
function plain(value: unknown): unknown {
  if (value instanceof JsonFloat) return value.value
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, held]) => [key as string, plain(held)]))
}

describe('JSON, exactly', () => {
  it('keeps what JavaScript would forget of numbers and the order of keys', () => {
    expect(parseExactJson('[1, 1.0, 1e2, -0, 12345678901234567890, 2.5]')).toEqual([
      1,
      new JsonFloat(1),
      new JsonFloat(100),
      0,
      12_345_678_901_234_567_890n,
      new JsonFloat(2.5),
    ])
    expect(parseExactJson('{"b": 1, "10": 2, "2": 3}')).toEqual(
      new Map([
        ['b', 1],
        ['10', 2],
        ['2', 3],
      ]),
    )
  })

  it('is otherwise what JSON.parse gives', () => {
    const value = fc.jsonValue({
      depthSize: 'medium',
      stringUnit: fc.string({ unit: anyCharacter, maxLength: 8 }),
    })
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t'), (given, indent) => {
        const text = JSON.stringify(given, undefined, indent)
        expect(plain(parseExactJson(text))).toEqual(plain(JSON.parse(text)))
      }),
      { seed: 4, numRuns: 100 },
    )
    const odd = ' {"a":"\\"\\\\","b\\u0000":[ ],"__proto__":{},"c":"\\\\\\"","d":"\ud800\\ud800"} '
    expect(plain(parseExactJson(odd))).toEqual(JSON.parse(odd))
  })

  it.each([
    '',
    '{',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '01',
    '1 2',
    '"a',
    '"a\\"',
    'nul',
    '{a:1}',
    '[1}',
    '-',
    '"\n"',
    '+1',
  ])('refuses %j', (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError)
    expect(() => parseExactJson(text)).toThrow(SyntaxError)
  })

  it('is needed for numbers and keys that look like an index alone', () => {
    expect([1, [[0]], { a: { 5: 'x' } }].every(mayBeInexact)).toBe(true)
    expect(['1', [], { a: [null, true, { b: 'c', '01': '' }] }, undefined].some(mayBeInexact)).toBe(false)
  })
})
