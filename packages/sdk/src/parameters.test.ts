import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nonNegative, u64 } from './parameters.js'

const overflown: unknown = JSON.parse('1e400')

describe('nonNegative', () => {
  it.each([0, -0, 5e-324, 0.5, 1, 2 ** 53, Number.MAX_VALUE])('keeps %d as it is', (value) => {
    expect(nonNegative().parse(value)).toBe(value)
  })

  it.each([
    -5e-324,
    -1,
    -Infinity,
    Infinity,
    Number.NaN,
    overflown,
    '1',
    -1n,
    true,
    null,
    undefined,
    [1],
    {},
  ])('refuses %s', (value) => {
    expect(nonNegative().safeParse(value).success).toBe(false)
  })
})

describe('u64', () => {
  it.each([
    [0, 0n],
    [-0, 0n],
    [1.0, 1n],
    [Number.MAX_SAFE_INTEGER, 2n ** 53n - 1n],
    [0n, 0n],
    [2n ** 64n - 1n, 2n ** 64n - 1n],
    ['0', 0n],
    ['007', 7n],
    ['18446744073709551615', 2n ** 64n - 1n],
  ])('reads %s', (value, expected) => {
    expect(u64().parse(value)).toBe(expected)
  })

  it.each([
    -1,
    -1n,
    1.5,
    2 ** 53,
    2 ** 64,
    2n ** 64n,
    '18446744073709551616',
    '99999999999999999999',
    '000000000000000000001',
    '-1',
    '+1',
    '1.0',
    '0x10',
    '1e3',
    ' 1',
    '1 ',
    '',
    '\u0661',
    Number.NaN,
    Infinity,
    -Infinity,
    overflown,
    true,
    null,
    undefined,
    [1],
    {},
  ])('refuses %s, and says what it takes', (value) => {
    const { error } = u64().safeParse(value)
    expect(error?.issues).toHaveLength(1)
    expect(error?.issues[0]?.message).toContain('0 to 2^64 - 1')
  })

  it('has a JSON Schema for editors that does not accept everything', () => {
    const schema = z.toJSONSchema(u64(), { io: 'input', unrepresentable: 'any' })
    const kinds = (schema.anyOf as { type?: string }[]).map(({ type }) => type)
    expect(kinds).toEqual(['integer', 'integer', 'string'])
  })
})
