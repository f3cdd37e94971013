import { BlockHasher } from '@router/kv-index'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { noIds, noRoom, readIds } from '../../src/body/id-list.js'
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
