import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { acceptsNull, leafNames, mergePatch, valueAt } from './merge-patch.js'

const dropNulls = (target: object, change: object) =>
  mergePatch(target as never, change as never, () => undefined)

describe('mergePatch', () => {
  // The cases of RFC 7396, appendix A, whose target and patch are objects.
  it.each<[object, object, object]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, change, expected) => {
    expect(dropNulls(target, change)).toEqual(expected)
  })

  it('asks what null means, by path, and keeps what it is told', () => {
    const asked: string[] = []
    const merged = mergePatch({ a: { b: 1 } }, { a: { b: null, c: null }, d: null }, (path) => {
      asked.push(path.join('/'))
      return path.length === 1 ? null : path[1] === 'b' ? 7 : undefined
    })
    expect(asked).toEqual(['a/b', 'a/c', 'd'])
    expect(merged).toEqual({ a: { b: 7 }, d: null })
  })

  it('never touches prototypes', () => {
    const change = JSON.parse('{"__proto__": {"polluted": true}}') as object
    const merged = dropNulls({}, change)
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect(Object.keys(merged)).toEqual(['__proto__'])
    expect('polluted' in {}).toBe(false)
    expect(dropNulls({}, { toString: { a: 1 } })).toEqual({ toString: { a: 1 } })
  })
})

describe('leafNames', () => {
  it('are dotted; arrays, null and empty mappings are leaves', () => {
    const change = { a: 1, b: { c: { d: null } }, e: {}, f: [{ g: 1 }] }
    expect(leafNames(change)).toEqual(['a', 'b.c.d', 'e', 'f'])
    expect(leafNames({})).toEqual([])
  })
})

describe('valueAt', () => {
  it('follows own names only', () => {
    const root = { a: { b: 0 }, list: [1] }
    expect([valueAt(root, ['a', 'b']), valueAt(root, []), valueAt(root, ['a', 'x', 'y'])]).toEqual([
      0,
      root,
      undefined,
    ])
    expect([valueAt(root, ['toString']), valueAt(root, ['list', '0']), valueAt(null, ['a'])]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('acceptsNull', () => {
  const schema = z.strictObject({
    number: z.number().default(1),
    nullable: z.number().nullable().default(1),
    either: z.union([z.string(), z.null()]).default('a'),
    needed: z.number(),
    nested: z.strictObject({ a: z.number().optional(), b: z.number().nullish() }).optional(),
    map: z.record(z.string(), z.number()).default({}),
    shapes: z.union([z.strictObject({ a: z.number() }), z.strictObject({ b: z.number() })]).optional(),
  })
  const accepts = (...path: string[]): boolean => acceptsNull(schema, { needed: 1 }, path)

  it('is decided by the schema at the path', () => {
    expect([accepts('number'), accepts('nullable'), accepts('either')]).toEqual([false, true, true])
    expect([accepts('nested', 'a'), accepts('nested', 'b'), accepts('nested')]).toEqual([false, true, false])
    expect([accepts('map', 'x'), accepts('map')]).toEqual([false, false])
    expect(accepts('shapes', 'a')).toBe(false)
  })

  it('does not mind faults elsewhere, and leaves an unknown name to the schema', () => {
    expect(acceptsNull(schema, {}, ['nullable'])).toBe(true)
    expect(accepts('unknown')).toBe(true)
    expect(accepts('nested', 'unknown')).toBe(true)
  })
})
