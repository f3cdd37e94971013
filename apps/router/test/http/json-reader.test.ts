import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Read,
  count,
  double,
  flag,
  hash,
  i64Words,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  optional,
  required,
  text,
  u32,
  u32List,
  workerId,
} from '../../src/http/json-fields.js'
import { JsonReader } from '../../src/http/json-reader.js'
import { type JsonValue, writeJson } from '../../src/http/json-writer.js'

const read = <T>(json: string | Uint8Array, what: Read<T>): T =>
  new JsonReader(typeof json === 'string' ? Buffer.from(json) : json).document(what)

function codeOf(json: string | Uint8Array, what: Read<unknown>): string {
  try {
    return `read ${String(read(json, what))}`
  } catch (error) {
    return (error as { code: string }).code
  }
}

const skip: Read<void> = (reader) => reader.skip()

describe('integers', () => {
  it('A2: survive both ways, to the last of their 64 bits', () => {
    for (const id of [0n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
      expect(read(`${id}`, workerId)).toBe(id)
      expect(read(`"${id}"`, workerId)).toBe(id)
      expect(writeJson({ id })).toBe(`{"id":${id}}`)
    }
    const hashes = [-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n]
    const words = read(writeJson(hashes), i64Words)
    expect(new BigInt64Array(words.buffer)).toEqual(BigInt64Array.from(hashes))
  })

  it.each([
    ['1.0', u32],
    ['1e3', u32],
    ['-1', u32],
    ['4294967296', u32],
    ['-0', u32],
    ['"1"', u32],
    ['true', u32],
    ['null', u32],
    ['[]', u32],
    ['18446744073709551616', workerId],
    ['-1', workerId],
    ['1.0', workerId],
    ['"1.0"', workerId],
    ['"+1"', workerId],
    ['""', workerId],
    ['9223372036854775808', i64Words],
    ['[9223372036854775808]', i64Words],
    ['["1"]', i64Words],
    [`${'9'.repeat(5000)}`, hash],
    ['9007199254740992', count],
  ] as const)('%s is none that is asked for', (json, what) => {
    expect(codeOf(json, what as Read<unknown>)).toBe('invalid_body')
  })

  it.each([
    ['[]', []],
    ['[0]', [0]],
    ['[1,2,3]', [1, 2, 3]],
    ['[1, 2, 4294967295]', [1, 2, 4294967295]],
    [' [ 1 ,\n 2\t] ', [1, 2]],
  ])('%j is a list of tokens', (json, tokens) => {
    expect([...read(json, u32List)]).toEqual(tokens)
  })

  it.each([
    ['[1.5]', 'invalid_body'],
    ['[-1]', 'invalid_body'],
    ['[4294967296]', 'invalid_body'],
    ['[12345678901]', 'invalid_body'],
    ['[1,"2"]', 'invalid_body'],
    ['[1,null]', 'invalid_body'],
    ['[[1]]', 'invalid_body'],
    ['"x"', 'invalid_body'],
    ['{}', 'invalid_body'],
    ['[01]', 'invalid_json'],
    ['[1,]', 'invalid_json'],
    ['[,1]', 'invalid_json'],
    ['[1 2]', 'invalid_json'],
    ['[1', 'invalid_json'],
    ['[', 'invalid_json'],
    ['[1]]', 'invalid_json'],
    ['[1e]', 'invalid_json'],
    ['[+1]', 'invalid_json'],
  ])('%s is no list of tokens: %s', (json, code) => {
    expect(codeOf(json, u32List)).toBe(code)
  })

  it('lists of any length are read, one after the other', () => {
    const long = Array.from({ length: 70_000 }, (_, index) => index * 61_000)
    expect([...read(JSON.stringify(long), u32List)]).toEqual(long)
    expect([...read('[7]', u32List)]).toEqual([7])
  })
})

describe('any JSON', () => {
  it('is skipped when JSON.parse takes it, and refused when it does not', () => {
    const letters = fc.stringMatching(/^[ {}[\],:"\\a-eu0-9.+\-\n]{0,12}$/)
    fc.assert(
      fc.property(fc.oneof(fc.json(), letters), (json) => {
        let isJson = true
        try {
          JSON.parse(json)
        } catch {
          isJson = false
        }
        // Half a character is no text.
        if (/\\u[dD][89a-fA-F]/.test(json)) return
        expect(codeOf(json, skip)).toBe(isJson ? 'read undefined' : 'invalid_json')
      }),
      { numRuns: 3000, seed: 7 },
    )
  })

  it('that this project writes is what JSON.stringify writes, and is read again', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(writeJson(value as JsonValue)).toBe(JSON.stringify(value))
        expect(codeOf(writeJson(value as JsonValue), skip)).toBe('read undefined')
      }),
      { numRuns: 300, seed: 7 },
    )
    expect(writeJson({ a: undefined, b: new Map([[1, 2n]]), c: Number.NaN })).toBe('{"b":{"1":2},"c":null}')
  })

  it.each([
    ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['a control character in a string', '"a\u0001"'],
    ['an escape that there is not', String.raw`"\q"`],
    ['half a character', String.raw`"\ud800"`],
    ['an end within an escape', '"\\'],
    ['a byte order mark', '\uFEFF1'],
    ['nothing', ''],
    ['a word that is none', 'nope'],
    ['an alias bomb of lists', '['.repeat(100_000)],
    ['an alias bomb of objects', '{"a":'.repeat(100_000)],
  ])('%s is none', (_what, json) => {
    expect(codeOf(json, skip)).toBe('invalid_json')
  })

  it('text with escapes and characters of every length is read', () => {
    for (const value of ['', 'a"\\/\b\n', 'é€😀', '\u0000'])
      expect(read(JSON.stringify(value), text)).toBe(value)
    expect(read(String.raw`"\ud83d\ude00"`, text)).toBe('😀')
  })
})

describe('objects', () => {
  interface Body {
    readonly id: bigint
    readonly name?: string
    readonly on?: boolean
    readonly kind?: 'a' | 'b'
    readonly share?: number
    readonly ranks?: ReadonlyMap<number, readonly string[]>
  }
  const rank = (key: string) => (/^\d$/.test(key) ? Number(key) : undefined)
  const body = objectOf<Body>({
    id: required(workerId),
    name: optional(text),
    on: optional(flag),
    kind: optional(oneOf('a', 'b')),
    share: optional(double),
    ranks: optional(mapOf(rank, 'a digit', listOf(text))),
  })

  it('are read field by field; null is absent, and unknown keys are counted at every level', () => {
    const json =
      '{"x":{"y":[1,{"z":null}]},"id":7,"name":null,"kind":"b","share":2,"ranks":{"0":["a"],"1":[]}}'
    const reader = new JsonReader(Buffer.from(json))
    expect(reader.document(body)).toEqual({
      id: 7n,
      kind: 'b',
      share: 2,
      ranks: new Map([
        [0, ['a']],
        [1, []],
      ]),
    })
    expect(reader.unknownKeys).toBe(1)
  })

  it.each([
    '{}',
    '{"id":null}',
    '7',
    '[]',
    'null',
    '{"id":1,"id":1}',
    '{"id":1,"on":"yes"}',
    '{"id":1,"kind":"c"}',
    '{"id":1,"name":5}',
    '{"id":1,"ranks":{"x":[]}}',
    '{"id":1,"ranks":[]}',
    '{"id":1,"share":"1"}',
  ])('%s is none of these', (json) => {
    expect(codeOf(json, body)).toBe('invalid_body')
  })

  it.each(['{"id" 1}', '{"id":1,}', '{id:1}', '{"id":1}{}', '{"id":1'])('%s is no JSON', (json) => {
    expect(codeOf(json, body)).toBe('invalid_json')
  })

  it.each(['nul', '{"name":tru', '{"name":1.}', '{"on":"x', '{"ranks":-}'])(
    '%s is no JSON, whatever was asked for',
    (json) => {
      expect(codeOf(json, body)).toBe('invalid_json')
    },
  )

  it('name the place of what is wrong', () => {
    const nested = objectOf<{ a: unknown }>({ a: required(listOf(body)) })
    expect(() => read('{"a":[{"id":1},{"id":2,"kind":"c"}]}', nested)).toThrow(
      /^a\.1\.kind: expected one of a, b/,
    )
  })

  it('with the names of prototypes are harmless', () => {
    const maps = objectOf<{ m: ReadonlyMap<string, string> }>({
      m: required(mapOf((key) => key, 'text', text)),
    })
    const { m } = read('{"__proto__":{"id":1},"constructor":1,"m":{"__proto__":"x"}}', maps)
    expect([...m]).toEqual([['__proto__', 'x']])
    expect(({} as { id?: unknown }).id).toBeUndefined()
    expect(writeJson(m)).toBe('{"__proto__":"x"}')
  })
})
