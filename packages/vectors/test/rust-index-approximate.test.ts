import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { Checks, type Mismatch } from '../src/runner/checks.js'
import { ShapeError } from '../src/runner/family.js'
import { RunState } from '../src/runner/run-state.js'
import { rustIndexFamily } from '../src/runner/rust-index.js'
import { altered, leavesOf, withLeaf } from './altered-line.js'

type Step = Readonly<Record<string, unknown>>
type Line = Readonly<Record<string, unknown>> & { readonly steps: readonly Step[] }

const lines = (readVectors('rust-index') as Line[]).filter(({ kind }) => kind !== 'events')
const lru = lines.filter(({ kind }) => kind === 'approximate-lru')
const ttl = lines.filter(({ kind }) => kind === 'approximate-ttl')

function mismatches(line: unknown): readonly Mismatch[] {
  const checks = new Checks()
  rustIndexFamily.evaluate(line as Line, checks, new RunState())
  return checks.mismatches
}

/** Another value of what is expected or given. */
function other(leaf: unknown): unknown {
  if (leaf === 'lru') return 'ttl'
  return leaf === 'ttl' || leaf === 'ignored' ? 'lru' : altered(leaf)
}

/** Copies of a line with one step replaced. */
function withStep(line: Line, at: number, step: unknown): Line {
  return { ...line, steps: line.steps.map((own, index) => (index === at ? (step as Step) : own)) }
}

describe('I7: approximate kinds of rust-index', () => {
  test.each(lines.map((line) => [line['id'], line]))('%s passes', (_, line) => {
    expect(mismatches(line)).toEqual([])
  })

  test('there are as many as are carried', () => expect([lru.length, ttl.length]).toEqual([6, 6]))

  test('one altered expectation fails its line', () => {
    let count = 0
    for (const line of lines) {
      for (const path of leavesOf(line)) {
        if (path[2] !== 'expect') continue
        const changed = withLeaf(line, path, other)
        expect(mismatches(changed).length, JSON.stringify(path)).toBeGreaterThan(0)
        count++
      }
    }
    expect(count).toBeGreaterThan(300)
  })

  test('an expectation of more or less fails its line', () => {
    let count = 0
    for (const line of lines) {
      for (const [at, step] of line.steps.entries()) {
        const { op, expect: expected } = step as { op: string; expect?: Record<string, unknown> }
        if (expected === undefined || op === 'stats') continue
        const changes =
          op === 'query'
            ? [{ ...expected, '99.0': 1 }, ...Object.keys(expected).map((rank) => without(expected, rank))]
            : [
                { ...expected, evicted: [...((expected['evicted'] ?? []) as unknown[]), [7]] },
                ...('evicted' in expected ? [without(expected, 'evicted')] : []),
              ]
        for (const changed of changes) {
          const copy = withStep(line, at, { ...step, expect: changed })
          expect(mismatches(copy), JSON.stringify(copy.steps[at])).not.toEqual([])
          count++
        }
      }
    }
    expect(count).toBeGreaterThan(200)
  })

  test('the order of evictions matters', () => {
    const turned = lru.flatMap((line) =>
      line.steps.flatMap((step, at) => {
        const evicted = (step['expect'] as { evicted?: unknown[] } | undefined)?.evicted ?? []
        const reversed = { ...(step['expect'] as object), evicted: evicted.toReversed() }
        return evicted.length < 2 ? [] : [withStep(line, at, { ...step, expect: reversed })]
      }),
    )
    expect(turned.length).toBeGreaterThan(5)
    for (const line of turned) expect(mismatches(line)).not.toEqual([])
  })

  test.each([
    ['setCapacity', 'capacity', (value: number | null) => (value === null ? 9 : null)],
    ['setCapacity', 'incarnation', (value: number) => value + 7],
    ['acquire', 'privateBlocks', (value: number) => value + 2],
    ['acquire', 'attempt', (value: number) => value + 1000],
    ['materialize', 'from', () => 0],
    ['materialize', 'privateBlocks', (value: number) => value + 2],
    ['release', 'attempt', (value: number) => value + 1000],
    ['route', 'path', () => []],
    ['advance', 'ms', (value: number) => value / 4],
  ])('what is given is used: %s %s', (op, field, change) => {
    const failed = lines.filter((line) => {
      return line.steps.some((step, at) => {
        if (step['op'] !== op) return false
        return mismatches(withStep(line, at, { ...step, [field]: change(step[field] as never) })).length > 0
      })
    })
    expect(failed.length).toBeGreaterThan(0)
  })

  test.each([1, 999, 100_000])('what is given is used: ttlMs %i', (ttlMs) => {
    expect(ttl.some((line) => mismatches({ ...line, ttlMs }).length > 0)).toBe(true)
  })

  test('an alphabet names the blocks by their contents', () => {
    const alphabet = [0, 1, 2, 3].map((token) => ({ tokens: Array.from({ length: 16 }, () => token) }))
    for (const line of lines) expect(mismatches({ ...line, alphabet })).toEqual([])
    const twins = alphabet.map(() => alphabet[0])
    expect(mismatches({ ...lru[0]!, alphabet: twins })).not.toEqual([])
  })
})

describe('lines that are not of the shape', () => {
  const [line] = lru
  const first = (op: string): number => line!.steps.findIndex((step) => step['op'] === op)
  const changed = (op: string, change: object): unknown => {
    const at = first(op)
    return withStep(line!, at, { ...line!.steps[at], ...change })
  }

  test.each([
    ['an unknown field', { ...line!, extra: 1 }, /unknown field 'extra'/],
    ['an unknown field of a step', changed('acquire', { extra: 1 }), /unknown field 'steps\.\d+\.extra'/],
    ['an unknown field of what is expected', changed('stats', { expect: { extra: 1 } }), /extra|missing/],
    ['an unknown step', changed('release', { op: 'free' }), /steps\.\d+/],
    ['an unknown mode', changed('acquire', { expect: { mode: 'fifo' } }), /mode/],
    ['no steps', { ...line!, steps: [] }, /steps/],
    ['a lifetime of 0', { ...ttl[0]!, ttlMs: 0 }, /ttlMs/],
    ['no lifetime', without(ttl[0]!, 'ttlMs'), /'ttlMs' is missing/],
    ['a lifetime where none belongs', { ...line!, ttlMs: 1000 }, /unknown field 'ttlMs'/],
    ['a clock that runs backwards', withStep(ttl[0]!, 0, { op: 'advance', ms: -1 }), /ms/],
    ['a negative capacity', changed('setCapacity', { capacity: -1 }), /capacity/],
    ['half a block', changed('acquire', { privateBlocks: 0.5 }), /privateBlocks/],
    ['an attempt beyond integers', changed('acquire', { attempt: 2 ** 60 }), /attempt/],
    ['a rank that is none', changed('acquire', { rank: 'x' }), /rank/],
    ['a block beyond u64', changed('acquire', { path: [1n << 64n] }), /path/],
    ['a negative block', changed('acquire', { path: [-1] }), /path/],
    ['new blocks beyond the path', changed('materialize', { from: 99 }), /from/],
    ['an evicted block without a name', changed('release', { expect: { evicted: [[]] } }), /evicted/],
    ['contents of another length', { ...line!, alphabet: [{ tokens: [1] }] }, /expected 16 tokens/],
    [
      'blocks beyond the alphabet',
      { ...line!, alphabet: [{ tokens: Array.from({ length: 16 }, () => 1) }] },
      /expected indexes below 1/,
    ],
  ])('%s', (_, broken, message) => {
    expect(() => mismatches(broken)).toThrowError(ShapeError)
    expect(() => mismatches(broken)).toThrowError(message)
  })

  test('an attempt that is live twice', () => {
    const at = first('acquire')
    const twice = { ...line!, steps: [...line!.steps.slice(0, at + 1), line!.steps[at]] }
    expect(() => mismatches(twice)).toThrowError(ShapeError)
    expect(() => mismatches(twice)).toThrowError(/not released/)
  })
})

function without(object: object, key: string): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
}
