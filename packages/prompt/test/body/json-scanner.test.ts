import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonScanner } from '../../src/body/json-scanner.js'
import { type JsonTape, nodeKinds, nodeLimit } from '../../src/body/json-tape.js'
import { JsonView } from '../../src/body/json-view.js'
import { SpecialBytes } from '../../src/simd/special-bytes.js'
import { anyCharacter } from '../support/characters.js'
import { encode, errorOf } from './support.js'

const scanners = [
  ['WebAssembly', new JsonScanner(new SpecialBytes(true))],
  ['plain', new JsonScanner(new SpecialBytes(false))],
] as const

/** The value that a tape says, read back; strings by `JSON.parse` of their own bytes. */
function valueOf(view: JsonView, node: number): unknown {
  const { bytes, tape } = view
  const kind = tape.kind(node)
  const children: number[] = []
  if (kind === nodeKinds.object || kind === nodeKinds.array) {
    for (let child = node + 1; child < tape.next(node); child = tape.next(child)) children.push(child)
  }
  if (kind === nodeKinds.array) return children.map((child) => valueOf(view, child))
  if (kind === nodeKinds.ids) {
    const at = tape.extra(node)
    return [...tape.ids.subarray(at + 1, at + 1 + tape.ids[at]!)]
  }
  if (kind !== nodeKinds.object)
    return JSON.parse(Buffer.from(bytes.subarray(tape.start(node), tape.end(node))).toString())
  const entries = children
    .filter((_, index) => index % 2 === 0)
    .map((key) => [view.name(key), valueOf(view, key + 1)])
  // As JSON.parse does, "__proto__" is a key like any other.
  return Object.fromEntries(entries)
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Scans and reads back, or the code of the error. */
function scanned(scanner: JsonScanner, bytes: Uint8Array): { readonly value: unknown } | undefined {
  let tape: JsonTape
  try {
    tape = scanner.scan(bytes)
  } catch (error) {
    expect((error as { code: string }).code).toBe('PROMPT_BODY_INVALID')
    return undefined
  }
  return { value: valueOf(new JsonView(bytes, tape), 0) }
}

/** JSON in some of the ways in which it can be written. */
const jsonText = fc
  .tuple(
    fc.json({
      maxDepth: 5,
      stringUnit: fc.oneof(fc.string({ unit: anyCharacter, maxLength: 8 }), fc.constant('\u{1f600}\n"')),
    }),
    fc.constantFrom(undefined, 1, '\t'),
    fc.boolean(),
  )
  .map(([text, space, escapesAll]) => {
    const written = JSON.stringify(JSON.parse(text), undefined, space)
    return escapesAll
      ? written.replaceAll(
          /[\u0080-\uffff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
      : written
  })

const damage = fc.record({
  at: fc.nat(),
  drop: fc.nat({ max: 2 }),
  insert: fc.constantFrom(
    '',
    '"',
    '\\',
    '\\u',
    '\\ud800',
    '\\u00g0',
    '\\/',
    '\\x',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    '[1,2',
    '0',
    '-',
    '-0',
    '01',
    '1.',
    '.5',
    '1e',
    '1e+5',
    'E',
    'true',
    'tru',
    'null',
    'nan',
    ' ',
    '\n',
    '\u0001',
    '\u007f',
    '\u00a0',
    '\ufeff',
    '//',
    "'",
    '4294967296',
  ),
})

describe.each(scanners)('%s', (_, scanner) => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(scanned(scanner, encode(text))).toEqual(parsed(text))
      }),
      { numRuns: 150, seed: 1 },
    )
  })

  it('gives the verdict of JSON.parse on damaged text', () => {
    let refused = 0
    fc.assert(
      fc.property(jsonText, fc.array(damage, { minLength: 1, maxLength: 3 }), (text, damages) => {
        let damaged = text
        for (const { at, drop, insert } of damages) {
          const place = at % (damaged.length + 1)
          damaged = damaged.slice(0, place) + insert + damaged.slice(place + drop)
        }
        const wellFormed = Buffer.from(damaged).toString()
        const expected = parsed(wellFormed)
        if (expected === undefined) refused++
        expect(scanned(scanner, encode(wellFormed))).toEqual(
          wellFormed.startsWith('\ufeff') ? parsed(wellFormed.slice(1)) : expected,
        )
      }),
      { numRuns: 500, seed: 2 },
    )
    expect(refused).toBeGreaterThan(100)
  })

  it('gives the verdict of JSON.parse on every cut and on every byte put in place of another', () => {
    const text =
      '{"a":[12,-3.5e+07,0,[1, 22 ,4294967295]],"b\\u00e9\\n":{"x":null,"y":[true,false,{}]},"\\ud83d\\ude00":"\u00e9\\""}'
    const bytes = encode(text)
    for (let at = 0; at <= bytes.length; at++) {
      const cut = bytes.slice(0, at)
      expect(scanned(scanner, cut) === undefined, `cut at ${at}`).toBe(
        parsed(new TextDecoder().decode(cut)) === undefined,
      )
      for (const byte of Buffer.from('"\\{}[],:019-+.eEtrufnl \n\u0000\u001fx')) {
        const other = bytes.slice()
        if (at === bytes.length || other[at]! >= 0x80) continue
        other[at] = byte
        const decoded = new TextDecoder().decode(other)
        expect(scanned(scanner, other) === undefined, decoded).toBe(parsed(decoded) === undefined)
      }
    }
  })

  it('finds the end of strings wherever the window ends', () => {
    for (let length = 16_370; length < 16_400; length++) {
      for (const tail of ['', '\\"', '\\\\', '\\u00e9', '\\ud83d\\ude00', '\\\\\\"']) {
        const text = `["${'x'.repeat(length)}${tail}","${tail}y"]`
        expect(scanned(scanner, encode(text))).toEqual(parsed(text))
      }
    }
  })
})

const scanner = new JsonScanner()

it('names the byte where it went wrong, what is there and what was expected', () => {
  const cases = [
    ['', 0, 'the end', 'a value'],
    ['{"a":1,}', 7, '"}"', 'a key in double quotes'],
    ['{"a" 1}', 5, '"1"', '":"'],
    ['[1 2]', 3, '"2"', '"," or "]"'],
    ['{"a":1', 6, 'the end', '"," or "}"'],
    ['{} x', 3, '"x"', 'the end'],
    ['["a', 3, 'the end', 'the end of a string'],
    ['["\n"]', 2, 'the byte 0x0a', 'an escape: a control character cannot stand in a string'],
    ['["\\x"]', 3, '"x"', 'one of "\\/bfnrtu behind a backslash'],
    ['["\\u12"]', 6, '"""', 'a hexadecimal digit'],
    ['[-]', 2, '"]"', 'a digit'],
    ['[nul]', 4, '"]"', 'the rest of "null"'],
  ] as const
  for (const [text, offset, found, expected] of cases) {
    const error = errorOf(() => scanner.scan(encode(text)))
    expect([error.code, error.details]).toEqual(['PROMPT_BODY_INVALID', { offset, found, expected }])
  }
})

it('needs no stack for deep nesting, whole or cut', () => {
  const depth = 200_000
  const text = `${'[{"a":'.repeat(depth)}0${'}]'.repeat(depth)}`
  expect(scanner.scan(encode(text)).count).toBe(3 * depth + 1)
  expect(errorOf(() => scanner.scan(encode(text.slice(0, -1)))).details['offset']).toBe(text.length - 1)
  expect(errorOf(() => scanner.scan(encode('[1,'.repeat(depth)))).details['offset']).toBe(3 * depth)
})

it('refuses more than two million values, of which a list of ids is one', () => {
  const list = (values: number, value: string) => encode(`[${`${value},`.repeat(values - 1)}${value}]`)
  expect(scanner.scan(list(nodeLimit - 1, 'null')).count).toBe(nodeLimit)
  const error = errorOf(() => scanner.scan(list(nodeLimit, 'null')))
  expect([error.code, error.details]).toEqual(['PROMPT_BODY_TOO_LARGE', { limit: nodeLimit }])
  expect(scanner.scan(list(nodeLimit + 5, '7')).count).toBe(1)
})

it('keeps at most 2 MiB of a large text for the next', () => {
  scanner.scan(encode(`[${'null,'.repeat(500_000)}[${'1,'.repeat(500_000)}1]]`))
  expect(scanner.tape.heldBytes).toBeGreaterThan(8_000_000)
  scanner.scan(encode('[]'))
  expect(scanner.tape.heldBytes).toBeLessThanOrEqual(2_097_152)
})
