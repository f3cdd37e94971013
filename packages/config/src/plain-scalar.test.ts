import { expect, test } from 'vitest'
import { readPlainScalar } from './plain-scalar.js'

test.each([
  ['0', 0n],
  ['-0', 0n],
  ['12', 12n],
  ['+5', 5n],
  ['-7', -7n],
  ['0x10', 16n],
  ['-0x10', -16n],
  ['0xfF', 255n],
  ['0o17', 15n],
  ['0b101', 5n],
  ['18446744073709551615', 2n ** 64n - 1n],
  ['-9223372036854775808', -(2n ** 63n)],
])('%s is an integer', (text, value) => {
  expect(readPlainScalar(text)).toEqual({ kind: 'integer', value })
})

test.each([
  ['1e3', 1000],
  ['1E-2', 0.01],
  ['1.', 1],
  ['.5', 0.5],
  ['1.0', 1],
  ['-0.0', -0],
  ['+1.5', 1.5],
  ['010.5', 10.5],
  ['.inf', Infinity],
  ['-.INF', -Infinity],
  ['.nan', Number.NaN],
])('%s is a float', (text, value) => {
  expect(readPlainScalar(text)).toEqual({ kind: 'float', value })
})

test.each([
  '010',
  '-07',
  '00',
  '1_000',
  '0X10',
  '0x',
  '1e',
  '.',
  'inf',
  'nan',
  '1e999',
  '+',
  '- 1',
  '1 000',
  'yes',
  'on',
  'TRue',
  'nULL',
  '+-5',
  '0x-1',
])('%s is a text', (text) => {
  expect(readPlainScalar(text)).toEqual({ kind: 'text' })
})

test.each(['18446744073709551616', '-9223372036854775809', '0x10000000000000000'])(
  '%s fits no integer',
  (text) => {
    expect(readPlainScalar(text)).toEqual({ kind: 'too-large' })
  },
)

test('nulls and booleans have three spellings each', () => {
  for (const text of ['', '~', 'null', 'Null', 'NULL'])
    expect(readPlainScalar(text)).toEqual({ kind: 'null' })
  for (const text of ['true', 'True', 'TRUE'])
    expect(readPlainScalar(text)).toEqual({ kind: 'boolean', value: true })
  for (const text of ['false', 'False', 'FALSE'])
    expect(readPlainScalar(text)).toEqual({ kind: 'boolean', value: false })
})
