import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { caught } from '../test/support/caught.js'
import { testPolicy } from '../test/support/policies.js'
import { type ParameterIssue, validateParameters } from './catalog-checks.js'
import { acceptedNames, pathOfLooseObject } from './parameter-schema.js'
import { nonNegative, u64 } from './parameters.js'

const schema = z.strictObject({
  weight: nonNegative().default(1),
  seed: u64().optional(),
  adaptive: z.strictObject({ interval_ms: z.int().min(1), load_scale: z.number() }).optional(),
  tiers: z.array(z.strictObject({ size: z.int() })).default([]),
})
const policy = testPolicy('tuned', { parameters: schema })

function issuesOf(configured: unknown): readonly ParameterIssue[] {
  return caught(() => validateParameters(policy, 'mine', configured)).details.issues as ParameterIssue[]
}

describe('validateParameters', () => {
  it('gives the output of the schema', () => {
    expect(validateParameters(policy, 'mine', { seed: '7' })).toEqual({ weight: 1, seed: 7n, tiers: [] })
    expect(validateParameters(policy, 'mine', {})).toEqual({ weight: 1, tiers: [] })
  })

  it('names instance, type, key, path, value and what is accepted', () => {
    const error = caught(() =>
      validateParameters(policy, 'mine', { weight: -1, adaptive: { interval_ms: 0.5, scale: 2 } }),
    )
    expect(error.code).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect(error.details).toMatchObject({ type: 'tuned', instance: 'mine' })
    for (const part of [
      'mine',
      'tuned',
      'weight',
      '-1',
      '>=0',
      'adaptive.interval_ms',
      '0.5',
      'adaptive.load_scale',
    ]) {
      expect(error.message).toContain(part)
    }
    expect(error.message).not.toContain('got undefined')
    expect(error.message).toContain(
      "adaptive.scale: unknown parameter 'scale', got 2, accepted: interval_ms, load_scale",
    )
  })

  it.each([
    [{ colour: 'red' }, [{ path: ['colour'], value: 'red', accepted: 'weight, seed, adaptive, tiers' }]],
    [
      { a: 1, b: undefined },
      [
        { path: ['a'], value: 1 },
        { path: ['b'], value: undefined },
      ],
    ],
    [{ weight: Number.NaN }, [{ path: ['weight'], value: Number.NaN }]],
    [{ weight: Infinity }, [{ path: ['weight'], value: Infinity }]],
    [{ weight: '1' }, [{ path: ['weight'], value: '1' }]],
    [{ weight: null }, [{ path: ['weight'], value: null }]],
    [{ seed: -1 }, [{ path: ['seed'], value: -1 }]],
    [{ tiers: [{ size: 1 }, { size: 1, x: 2 }] }, [{ path: ['tiers', 1, 'x'], value: 2, accepted: 'size' }]],
    [null, [{ path: [], value: null }]],
    [[], [{ path: [], value: [] }]],
    ['weight', [{ path: [], value: 'weight' }]],
  ])('refuses %j', (configured, issues) => {
    expect(issuesOf(configured)).toMatchObject(issues)
    expect(issuesOf(configured)).toHaveLength(issues.length)
  })

  it('prints values in a way that fits a line', () => {
    const shown = (weight: unknown): string =>
      caught(() => validateParameters(policy, 'mine', { weight })).message
    expect(shown('x'.repeat(500)).length).toBeLessThan(250)
    expect(shown({ a: 1 })).toContain('got a mapping')
    expect(shown([1])).toContain('got a list')
    expect(shown(-7n)).toContain('got -7')
    expect(caught(() => validateParameters(policy, 'mine', 7)).message).toContain('<parameters>')
  })

  it('takes an integer above 2^53 - 1 as the nearest double where a number is wanted, at any depth', () => {
    const nested = testPolicy('nested', {
      parameters: z.strictObject({
        weights: z.strictObject({ a: z.number().max(1e300) }),
        list: z.array(z.number()),
        seed: u64(),
      }),
    })
    const big = 9_007_199_254_740_993n
    expect(validateParameters(nested, 'mine', { weights: { a: big }, list: [1, big], seed: big })).toEqual({
      weights: { a: 9_007_199_254_740_992 },
      list: [1, 9_007_199_254_740_992],
      seed: big,
    })
    const counted = testPolicy('counted', { parameters: z.strictObject({ blocks: z.int().min(1) }) })
    const error = caught(() => validateParameters(counted, 'mine', { blocks: big }))
    expect(error.details.issues).toMatchObject([{ path: ['blocks'], value: big }])
  })

  it('blames the policy for a schema that throws or is asynchronous', () => {
    const throwing = testPolicy('throws', { parameters: z.strictObject({}).transform(() => JSON.parse('{')) })
    const asynchronous = testPolicy('waits', { parameters: z.strictObject({}).refine(async () => true) })
    for (const faulty of [throwing, asynchronous]) {
      const error = caught(() => validateParameters(faulty, 'mine', {}))
      expect([error.code, error.details.instance]).toEqual(['ROUTER_POLICY_DEFINITION_INVALID', 'mine'])
    }
  })

  it('says <none> where a policy has no parameters', () => {
    const error = caught(() => validateParameters(testPolicy('plain'), 'mine', { weight: 1 }))
    expect(error.details.issues).toMatchObject([{ path: ['weight'], value: 1, accepted: '<none>' }])
    expect(validateParameters(testPolicy('plain'), 'mine', {})).toEqual({})
  })
})

describe('acceptedNames', () => {
  const leaf = z.strictObject({ a: z.number(), b: z.number() })
  it.each([
    ['optional', leaf.optional(), []],
    ['nullable', leaf.nullable(), []],
    ['default', leaf.default({ a: 1, b: 2 }), []],
    ['prefault', leaf.prefault({ a: 1, b: 2 }), []],
    ['nonoptional', leaf.optional().nonoptional(), []],
    ['catch', leaf.catch({ a: 1, b: 2 }), []],
    ['readonly', leaf.readonly(), []],
    ['refine', leaf.refine(() => true), []],
    ['transform', leaf.transform(Object.keys), []],
    ['preprocess', z.preprocess((value) => value, leaf), []],
    ['lazy', z.lazy(() => leaf), []],
    ['array', z.array(leaf), [3]],
    ['record', z.record(z.string(), leaf), ['any']],
    ['tuple', z.tuple([z.string(), leaf]), [1]],
    ['object', z.strictObject({ x: leaf.optional() }), ['x']],
  ] as const)('looks through %s', (_kind, wrapped, path) => {
    expect(acceptedNames(wrapped, path)).toEqual(['a', 'b'])
    expect(pathOfLooseObject(wrapped)).toBeUndefined()
  })

  it('joins the alternatives of a union', () => {
    expect(acceptedNames(z.union([leaf, z.strictObject({ b: z.number(), c: z.number() })]), [])).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  it('is empty where no object stands', () => {
    expect(acceptedNames(leaf, ['a'])).toEqual([])
    expect(acceptedNames(leaf, ['nothing'])).toEqual([])
    expect(acceptedNames(z.tuple([leaf]), [1])).toEqual([])
    expect(acceptedNames(z.number(), [])).toEqual([])
  })
})

describe('pathOfLooseObject', () => {
  const loose = z.object({ a: z.number() })
  it.each([
    ['plain objects', loose, []],
    ['loose objects', z.looseObject({}), []],
    ['nested ones', z.strictObject({ x: z.strictObject({ y: loose.optional() }) }), ['x', 'y']],
    ['elements', z.strictObject({ list: z.array(loose) }), ['list', '*']],
    ['alternatives', z.strictObject({ x: z.union([z.number(), loose]) }), ['x']],
  ])('finds %s', (_what, given, path) => {
    expect(pathOfLooseObject(given)).toEqual(path)
  })

  it('ends on a schema that contains itself', () => {
    const tree: z.ZodType = z.lazy(() => z.strictObject({ left: tree.optional(), right: tree.optional() }))
    expect(pathOfLooseObject(tree)).toBeUndefined()
  })
})
