import { BlockHasher } from '@router/kv-index'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { scanObject } from '../../src/body/scan-object.js'
import { anyCharacter } from '../support/characters.js'
import { encode, errorOf } from './support.js'

const text = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.subarray(start, end)).toString()

it('finds keys and values by their ranges, with white space around and escapes within', () => {
  const bytes = encode(' {"model" : "m", "n":[1, {"a":"}"}],\n"str\\u0065am\\"": true } ')
  const scan = scanObject(bytes)
  expect([scan.start, scan.end]).toEqual([1, bytes.length - 1])
  expect(
    scan.entries.map(({ key, keyStart, keyEnd, valueStart, valueEnd }) => [
      key,
      text(bytes, keyStart, keyEnd),
      text(bytes, valueStart, valueEnd),
    ]),
  ).toEqual([
    ['model', '"model"', '"m"'],
    ['n', '"n"', '[1, {"a":"}"}]'],
    ['stream"', '"str\\u0065am\\""', 'true'],
  ])
  expect(scan.find('absent')).toBeUndefined()
})

it('of a key that is there twice the last entry counts, as for JSON.parse', () => {
  const bytes = encode('{"a":1,"b":2,"\\u0061":3,"__proto__":4}')
  const scan = scanObject(bytes)
  expect(scan.entries.map(({ key }) => key)).toEqual(['a', 'b', 'a', '__proto__'])
  const { valueStart, valueEnd } = scan.find('a')!
  expect(text(bytes, valueStart, valueEnd)).toBe('3')
})

it('an object within another, by the range of its value', () => {
  const bytes = encode('{"x":0,"stream_options" : {"include_usage": false}}')
  const outer = scanObject(bytes).find('stream_options')!
  const inner = scanObject(bytes, outer.valueStart, outer.valueEnd)
  const { keyStart, valueStart, valueEnd } = inner.find('include_usage')!
  expect([inner.start, inner.end]).toEqual([outer.valueStart, outer.valueEnd])
  expect(text(bytes, keyStart, valueEnd)).toBe('"include_usage": false')
  expect(text(bytes, valueStart, valueEnd)).toBe('false')
})

it('the bytes between the ranges are the structure alone, so that splices touch nothing else', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue({ maxDepth: 2 })), (object) => {
      const json = JSON.stringify(object)
      const bytes = encode(json)
      const scan = scanObject(bytes)
      const parts = scan.entries.map(
        (entry) =>
          `${text(bytes, entry.keyStart, entry.keyEnd)}:${text(bytes, entry.valueStart, entry.valueEnd)}`,
      )
      expect(`{${parts.join(',')}}`).toBe(Buffer.from(bytes).toString())
      expect(new Set(scan.entries.map(({ key }) => key))).toEqual(
        new Set(Object.keys(JSON.parse(json) as object)),
      )
    }),
    { seed: 5, numRuns: 60 },
  )
})

it('what is no object, or no JSON, is refused with the place', () => {
  expect(errorOf(() => scanObject(encode('  [1]'))).details).toMatchObject({ offset: 2, found: '"["' })
  expect(errorOf(() => scanObject(encode('{"a":1,"b"}'))).details).toMatchObject({
    offset: 10,
    expected: '":"',
  })
  expect(errorOf(() => scanObject(encode(''))).code).toBe('PROMPT_BODY_INVALID')
})

it('a body that was scanned is read as one that was not, whatever was scanned or read meanwhile', () => {
  const reader = new BodyReader(new BlockHasher())
  const bodies = [
    encode('{"model":"m","prompt":[1,2,3]}'),
    encode('{"prompt":[7],"model":"other"}'),
    // Half a character: what is read are other bytes.
    Uint8Array.of(...encode('{"model":"m'), 0xc3, ...encode('","prompt":[4,5]}')),
  ]
  const alone = bodies.map((body) => new BodyReader(new BlockHasher()).read('completions', body))
  for (const [at, body] of bodies.entries()) {
    const scan = reader.scan(body)
    expect(scan.entries).toEqual(scanObject(body).entries)
    expect(reader.read('completions', body, { scan })).toEqual(alone[at])
    // The tape is not that of the scan any more.
    const [other] = bodies
    const stale = reader.scan(body)
    reader.scan(other!)
    expect(reader.read('completions', body, { scan: stale })).toEqual(alone[at])
    const used = reader.scan(body)
    reader.read('completions', other!)
    expect(reader.read('completions', body, { scan: used })).toEqual(alone[at])
  }
})
