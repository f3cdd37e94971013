import { expect, test } from 'vitest'
import { lint } from './support/oxlint.js'

const RULE = 'no-allocation-in-kernel'

const VALID = [
  'export const TABLE = new Float64Array([1, 2, ...[3]])',
  'export function kernel({ load }: { readonly load: Float64Array }, costs: Float64Array): void {\n' +
    '  const { length } = load\n  for (let row = 0; row < length; row++) costs[row] = load[row]! > 1 ? 1 : Math.fround(2)\n}',
  'export const kernel = (costs: Float64Array) => costs.fill(0)',
  'export function kernel(a: Uint32Array, b: Uint32Array) { a.set(b); a.copyWithin(0, 1); return a.length }',
  'export function kernel(x: `a${string}` | 1n, y: [number], z: { a: number }) { return x === y[0] || z }',
  'export function kernel(value: unknown) { return value as readonly number[] }',
  'export function first() { return 1 }\nexport function second() { return first() }',
]

const INVALID: ReadonlyArray<readonly [body: string, what: string]> = [
  ['new Float64Array(8)', '`new`'],
  ['const a = { b: 1 }', 'an object literal'],
  ['const a = [1]', 'an array literal'],
  ['const [a] = x', 'an array pattern'],
  ['f(...x)', 'a spread'],
  ['const { a, ...rest } = x', 'a rest element'],
  ['for (const a of x) f(a)', '`for...of`'],
  ['for (const a in x) f(a)', '`for...in`'],
  ['f(`a`)', 'a template literal'],
  ['throw x', '`throw`'],
  ['class A {}', 'a class'],
  ['f(/a/)', 'a regular expression'],
  ['f(1n)', 'a BigInt literal'],
  ['BigInt(x)', '`BigInt()`'],
  ['BigInt.asUintN(64, x)', '`BigInt.asUintN()`'],
  ['Array(8)', '`Array()`'],
  ['Array.from(x)', '`Array.from()`'],
  ['Object.keys(x)', '`Object.keys()`'],
  ['f(() => 1)', 'a function inside a function'],
  ['function g() {}', 'a function inside a function'],
  ...[
    'map',
    'filter',
    'slice',
    'forEach',
    'sort',
    'push',
    'reduce',
    'subarray',
    'entries',
    'concat',
    'find',
  ].map((method): [string, string] => [`x.${method}(f)`, `the array method \`${method}\``]),
  ['x?.map(f)', 'the array method `map`'],
]

test('what a kernel may do', () => {
  const sources = Object.fromEntries(VALID.map((source, index) => [`valid-${index}.ts`, source]))
  for (const [file, messages] of lint(RULE, sources)) expect(messages, sources[file]).toEqual([])
})

test('what a kernel must not do', () => {
  const wrapped = INVALID.flatMap(([body]) => [
    `export function kernel(x, f) {\n  ${body}\n}`,
    `export const kernel = (x, f) => {\n  if (x) {\n    ${body}\n  }\n}`,
  ])
  const sources = Object.fromEntries(wrapped.map((source, index) => [`invalid-${index}.ts`, source]))
  const reports = lint(RULE, sources)
  for (const [index, source] of wrapped.entries()) {
    const [, what] = INVALID[index >> 1]!
    expect(reports.get(`invalid-${index}.ts`), source).toEqual([`A kernel must not use ${what}.`])
  }
})

test('parameters and the kind of function count too', () => {
  const reports = lint(RULE, {
    'rest.ts': 'export function kernel(...x) {}',
    'generator.ts': 'export function* kernel() {}',
    'async.ts': 'export const kernel = async () => 1',
    'default.ts': 'export function kernel(x = []) {}',
    'method.ts': 'export class Kernel {\n  run() {\n    return []\n  }\n}',
  })
  expect(Object.fromEntries(reports)).toEqual({
    'rest.ts': ['A kernel must not use a rest element.'],
    'generator.ts': ['A kernel must not use an async function or a generator.'],
    'async.ts': ['A kernel must not use an async function or a generator.'],
    'default.ts': ['A kernel must not use an array literal.'],
    'method.ts': ['A kernel must not use an array literal.'],
  })
})
