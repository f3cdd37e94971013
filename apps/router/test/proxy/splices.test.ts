import { scanObject } from '@router/prompt'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BodyEdits, spliceBody } from '../../src/proxy/body-splices.js'
import { anyBodies } from './support/bodies.js'

function spliced(text: string, edits: BodyEdits): string {
  const bytes = Buffer.from(text)
  return Buffer.from(spliceBody(bytes, scanObject(bytes), edits).bytes).toString()
}

/** Entries in the order of the bytes, as written. */
function entriesOf(text: string): (readonly [key: string, value: string])[] {
  const bytes = Buffer.from(text)
  return scanObject(bytes).entries.map(({ key, keyStart, valueEnd }) => [
    key,
    bytes.toString('utf8', keyStart, valueEnd),
  ])
}

const edited = ['nvext', 'cache_salt', 'model', 'stream_options']
const seed = 14

describe('A7: splices', () => {
  test('leave everything else as it was, byte for byte and in its order, over 200 bodies', () => {
    const edits = { model: 'ours/m', cacheSalt: 'a"b', dropsNvext: true, asksUsage: true }
    const check = (text: string): void => {
      const after = spliced(text, edits)
      const parsed = JSON.parse(after) as Record<string, unknown>
      const others = (list: ReturnType<typeof entriesOf>) => list.filter(([key]) => !edited.includes(key))
      expect(others(entriesOf(after))).toEqual(others(entriesOf(text)))
      expect(parsed).toMatchObject({ model: 'ours/m', cache_salt: 'a"b' })
      expect(Object.hasOwn(parsed, 'nvext')).toBe(false)
      const before = JSON.parse(text) as Record<string, unknown>
      if (before['stream'] === true) expect(parsed['stream_options']).toMatchObject({ include_usage: true })
      else expect(parsed['stream_options']).toEqual(before['stream_options'])
    }
    fc.assert(fc.property(anyBodies, check), { seed, numRuns: 200 })
  })

  test('are undone by taking their bytes out again', () => {
    const check = (text: string): void => {
      const bytes = Buffer.from(text)
      const { entries } = scanObject(bytes)
      if (entries.some(({ key }) => key === 'cache_salt' || key === 'stream_options')) return
      const after = spliced(text, { cacheSalt: 's' })
      expect(after.replace(/,?"cache_salt":"s"\}$/, '}')).toBe(text)
    }
    fc.assert(fc.property(anyBodies, check), { seed, numRuns: 200 })
  })

  test('without a reason change nothing: the very bytes', () => {
    const bytes = Buffer.from('{"model":"m","stream":false,"stream_options":null}')
    const body = spliceBody(bytes, scanObject(bytes), { dropsNvext: true, asksUsage: true })
    expect(body.bytes).toBe(bytes)
    expect(body.addedUsage).toBe(false)
  })

  test.each([
    ['{"nvext":{}}', '{}'],
    ['{ "nvext" : {} , "a":1}', '{  "a":1}'],
    ['{"a":1 , "nvext":{"x":[1,2]}}', '{"a":1}'],
    ['{"a":1,"nvext":1,"b":2}', '{"a":1,"b":2}'],
    ['{"nvext":1,"nvext":2,"a":1,"nvext":3}', '{"a":1}'],
    ['{"nvext":1,"nvext":2}', '{}'],
    ['{"a":{"nvext":1}}', '{"a":{"nvext":1}}'],
  ])('nvext leaves %s as %s', (before, after) => {
    expect(spliced(before, { dropsNvext: true })).toBe(after)
  })

  test.each([
    ['{"stream":true}', '{"stream":true,"stream_options":{"include_usage":true}}', true],
    [
      '{"stream":true,"stream_options":null}',
      '{"stream":true,"stream_options":{"include_usage":true}}',
      true,
    ],
    ['{"stream":true,"stream_options":{}}', '{"stream":true,"stream_options":{"include_usage":true}}', true],
    [
      '{"stream_options":{"a":1.0},"stream":true}',
      '{"stream_options":{"a":1.0,"include_usage":true},"stream":true}',
      true,
    ],
    [
      '{"stream":true,"stream_options":{"include_usage":false}}',
      '{"stream":true,"stream_options":{"include_usage":true}}',
      true,
    ],
    [
      '{"stream":true,"stream_options":{"include_usage":true}}',
      '{"stream":true,"stream_options":{"include_usage":true}}',
      false,
    ],
    ['{"stream":true,"stream_options":"x"}', '{"stream":true,"stream_options":"x"}', false],
    ['{"stream":true,"stream":false}', '{"stream":true,"stream":false}', false],
    ['{"stream":"true"}', '{"stream":"true"}', false],
  ])('usage is asked for where %s streams', (before, after, added) => {
    const bytes = Buffer.from(before)
    const body = spliceBody(bytes, scanObject(bytes), { asksUsage: true })
    expect([Buffer.from(body.bytes).toString(), body.addedUsage]).toEqual([after, added])
  })

  test('of a key that stands twice the last one is set', () => {
    expect(spliced('{"model":"a","x":1,"model":"b"}', { model: 'c' })).toBe('{"model":"a","x":1,"model":"c"}')
    expect(spliced('{"cache_salt":1}', { cacheSalt: 'é' })).toBe('{"cache_salt":"é"}')
  })
})
