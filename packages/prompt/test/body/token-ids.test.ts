import { BlockHasher } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { noIds, noRoom, readIds } from '../../src/body/id-list.js'
import { IdRun } from '../../src/simd/id-run.js'
import { encode, errorOf } from './support.js'

const reader = new BodyReader(new BlockHasher())
const tokensOf = (list: string) => reader.read('completions', encode(`{"prompt":${list}}`)).tokens

it('token ids come through as they are, however they are spaced', () => {
  const ids = fc.array(fc.oneof(fc.nat({ max: 300_000 }), fc.integer({ min: 0, max: 4_294_967_295 })), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(ids, fc.constantFrom(',', ', ', ' ,\n\t', '  ,'), (list, comma) => {
      expect(tokensOf(`[ ${list.join(comma)} ]`)).toEqual(Uint32Array.from(list))
    }),
    { seed: 4, numRuns: 200 },
  )
})

it('as many as a body has, after lists that were longer or shorter', () => {
  for (const length of [3, 1023, 1024, 1025, 300_000, 5]) {
    const ids = Uint32Array.from({ length }, (_, index) => index * 7919)
    const found = tokensOf(JSON.stringify([...ids]))!
    expect(found.every((id, index) => id === ids[index]) && found.length).toBe(length)
    const lists = `[${Array.from({ length: 3 }, () => JSON.stringify([...ids.subarray(0, 600)])).join(',')}]`
    expect(reader.read('completions', encode(`{"prompt":${lists}}`)).allTokens).toBe(
      3 * Math.min(600, length),
    )
  }
})

it('what is no token id is refused by its place and value', () => {
  const cases: [list: string, index: number, value: string][] = [
    ['[1,-1]', 1, '-1'],
    ['[-0]', 0, '-0'],
    ['[1.0]', 0, '1.0'],
    ['[1,2,1.5]', 2, '1.5'],
    ['[1e3]', 0, '1e3'],
    ['[0,4294967295,4294967296]', 2, '4294967296'],
    ['[1,99999999999999999999999999]', 1, '99999999999999999999999999'],
    ['[1,"2"]', 1, '"2"'],
    ['[1,null]', 1, 'null'],
    ['[true]', 0, 'true'],
    ['[1,[2]]', 1, '[2]'],
    ['[1,{"a":2}]', 1, '{"a":2}'],
  ]
  for (const [list, index, value] of cases) {
    const error = errorOf(() => tokensOf(list))
    expect([error.code, error.details], list).toEqual([
      'PROMPT_TOKEN_INVALID',
      { key: 'prompt', index, value },
    ])
    expect(error.message).toContain(value)
  }
  const nested = errorOf(() => tokensOf('[[1],[2,-3]]'))
  expect(nested.details).toEqual({ key: 'prompt[1]', index: 1, value: '-3' })
  const mixed = errorOf(() => tokensOf('[[1],"a"]'))
  expect(mixed.details).toEqual({ key: 'prompt[1]', value: '"a"' })
  expect(errorOf(() => reader.read('detokenize', encode('{"tokens":[1,-1]}'))).code).toBe(
    'PROMPT_TOKEN_INVALID',
  )
  // A leading zero is no JSON at all.
  expect(errorOf(() => tokensOf('[01]')).code).toBe('PROMPT_BODY_INVALID')
})

it('a list is read to its end, to where there is no room, or not at all', () => {
  const ids = new Uint32Array(4)
  const read = (text: string) => readIds(encode(text), 1, ids, 0)
  expect([read('[7,8,9]'), [...ids]]).toEqual([7, [3, 7, 8, 9]])
  expect(read('[7,8,9,10]')).toBe(noRoom)
  for (const text of [
    '[',
    '[]',
    '[ ',
    '[1',
    '[1,',
    '[1 ',
    '[1, ',
    '[,1]',
    '[1 2]',
    '[1}',
    '[12345678901]',
    '[x',
    '[1,x]',
  ])
    expect(read(text), text).toBe(noIds)
})

describe('long lists', () => {
  const kernel = new IdRun(true)
  const plain = new IdRun(false)
  const lists = fc.array(
    fc.oneof(
      { weight: 20, arbitrary: fc.nat({ max: 9_999_999 }).map(String) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 4_294_967_295 }).map(String) },
      { weight: 20, arbitrary: fc.nat({ max: 12 }).map(String) },
    ),
    { minLength: 40, maxLength: 60 },
  )
  const room = new Uint32Array(60_000)
  const read = (bytes: Uint8Array, run: IdRun) => {
    room.fill(7)
    const end = readIds(bytes, 1, room, 0, run)
    return { end, ids: end < 0 ? undefined : [...room.subarray(1, 1 + room[0]!)] }
  }

  it('are read alike with and without the kernel, which runs here', () => {
    expect([kernel.usesWebAssembly, plain.usesWebAssembly]).toEqual([true, false])
    fc.assert(
      fc.property(
        lists,
        fc.constantFrom(',', ', ', ',  ', ' , ', '\n,'),
        fc.constantFrom(']', ' ]}', ',]', ']x', ',x]', ''),
        fc.nat({ max: 30 }),
        (list, comma, end, copies) => {
          const text = `[${Array.from({ length: 1 + copies * copies }, () => list.join(comma)).join(comma)}${end}`
          const found = read(encode(text), kernel)
          expect(found).toEqual(read(encode(text), plain))
          if (end === ']') expect(found.ids).toEqual(JSON.parse(text))
        },
      ),
      { seed: 6, numRuns: 60 },
    )
  })

  it.each(['01', '-1', '1.5', '1e3', '"1"', '4294967296', '00', '1 2', ''])(
    'are refused wherever %s stands',
    (fault) => {
      for (let at = 0; at < 80; at++) {
        const list = Array.from({ length: 80 }, (_, index) => (index === at ? fault : String(index * 1234)))
        for (const run of [kernel, plain]) expect(read(encode(`[${list.join(',')}]`), run).end).toBe(noIds)
      }
    },
  )

  it('need room for each', () => {
    const bytes = encode(JSON.stringify(Array.from({ length: 100 }, (_, index) => index * 100)))
    for (const run of [kernel, plain])
      for (let words = 1; words <= 102; words++) {
        const end = readIds(bytes, 1, new Uint32Array(words), 0, run)
        expect(end, String(words)).toBe(words > 100 ? bytes.length : noRoom)
      }
  })

  it('a run ends before whatever is no number with a comma, and says where', () => {
    const ids = new Uint32Array(10)
    const cases: [text: string, count: number, end: number][] = [
      ['1,22, 333,4,  5,                ', 4, 13],
      ['1234567,12345678,             ', 1, 8],
      ['1,2,3]                        ', 2, 4],
      ['1,2', 0, 0],
      ['1,\u00fe,                       ', 1, 2],
      ['', 0, 0],
    ]
    // What was looked at before does not count.
    for (const [text, count, end] of cases) {
      kernel.read(encode('9,'.repeat(100)), 0, new Uint32Array(200), 0)
      expect([kernel.read(encode(text), 0, ids, 0), kernel.end], text).toEqual([count, end])
    }
  })
})
