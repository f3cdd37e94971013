import { PrefixIndex } from '@router/kv-index'
import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { Checks } from '../src/runner/checks.js'
import { parseLine } from '../src/runner/family.js'
import { runLines } from '../src/runner/run.js'
import { type IndexFactory, evaluateIndexEvents } from '../src/runner/rust-index-events.js'
import { indexEventsLine } from '../src/shapes/rust-index.js'
import { leavesOf, withLeaf } from './altered-line.js'
import { faultOf, runFile } from './support.js'

type Line = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

const lines = (readVectors('rust-index') as Line[]).filter(({ kind }) => kind === 'events')
const failures = (line: unknown): number => runLines('mine', [{ number: 1, value: line as Line }]).failed

function mismatchesOf(line: Line, create: IndexFactory): number {
  const checks = new Checks()
  evaluateIndexEvents(parseLine(indexEventsLine, line), checks, create)
  return checks.mismatches.length
}

/** Where the expected values stand, but for those beside which the line accepts others. */
function expectedLeaves(line: Line): Path[] {
  return leavesOf(line).filter((path) => path[2] === 'expect' && typeof path.at(-1) !== 'number')
}

/** A copy with one expected value replaced by another that the shape allows. */
function alteredAt(line: Line, path: Path): unknown {
  const { op } = (line['steps'] as readonly { op: string }[])[path[1] as number]!
  return withLeaf(line, path, (leaf) => {
    if (typeof leaf === 'number') return leaf + 1
    if (leaf !== 'ok') return 'ok'
    return op === 'store' ? 'parent_not_found' : 'block_not_found'
  })
}

describe('I7: events of rust-index', { timeout: 60_000 }, () => {
  test('the shipped index passes every line', () => {
    expect(lines).toHaveLength(64)
    for (const line of lines) expect(failures(line), String(line['id'])).toBe(0)
  })

  test.each<[string, IndexFactory]>([
    ['never removes', (options) => Object.assign(new PrefixIndex(options), { remove: () => 'ok' as const })],
    ['keeps ranks', (options) => Object.assign(new PrefixIndex(options), { removeRank: () => undefined })],
    ['finds nothing', (options) => Object.assign(new PrefixIndex(options), { lookup: () => undefined })],
    ['stores nothing', (options) => Object.assign(new PrefixIndex(options), { store: () => 'ok' as const })],
  ])('an index that %s fails many', (_, create) => {
    expect(lines.filter((line) => mismatchesOf(line, create) > 0).length).toBeGreaterThan(10)
  })

  test('one altered outcome, size or match fails the line', () => {
    let count = 0
    for (const line of lines) {
      for (const path of expectedLeaves(line)) {
        expect(failures(alteredAt(line, path)), `${String(line['id'])} ${path.join('.')}`).toBe(1)
        count++
      }
    }
    expect(count).toBeGreaterThan(2500)
  })
})

describe('what a step may expect', () => {
  const store = { op: 'store', rank: '1.0', parent: [], blocks: [1, 2], expect: 'ok' }
  const line = (...steps: readonly object[]): Line => ({
    kind: 'events',
    blockSize: 16,
    steps: [store, ...steps],
  })
  const query = (expected: object | undefined, path = [1, 2, 3]): object => ({
    op: 'query',
    path,
    expect: expected,
  })

  test('a rank that is left out, or named in addition, fails the line', () => {
    expect(failures(line(query({ device: { '1.0': 2 } })))).toBe(0)
    expect(failures(line(query({ device: {} })))).toBe(1)
    expect(failures(line(query({ device: { '1.0': 2, '2.0': 1 } })))).toBe(1)
    expect(failures(line(query({ device: { '1.0': 2, '2.0': 0 } })))).toBe(0)
  })

  test('a lower tier that adds something must be named', () => {
    const external = { ...store, tier: 'external', blocks: [1, 2, 3] }
    const found = { device: { '1.0': 2 }, external: { '1.0': 1 } }
    const sums = { effectiveBlocks: { '1.0': 2.25 }, cachedTokens: { '1.0': 36 } }
    expect(failures(line(external, query({ ...found, ...sums })))).toBe(0)
    expect(failures(line(external, query({ device: found.device })))).toBe(1)
    expect(failures(line(external, query({ ...found, ...sums, cachedTokens: {} })))).toBe(1)
    expect(failures(line(external, query({ ...found, ...sums, effectiveBlocks: { '1.0': 2.5 } })))).toBe(1)
  })

  test('half a token is rounded away from zero', () => {
    const odd: Line = { ...line({ ...store, tier: 'disk', blocks: [1, 2, 3] }), blockSize: 2 }
    const step = query({ device: { '1.0': 2 }, disk: { '1.0': 1 }, cachedTokens: { '1.0': 5 } })
    expect(failures({ ...odd, steps: [...(odd['steps'] as object[]), step] })).toBe(0)
  })

  test('ranges are inclusive, and lists name what is acceptable', () => {
    const ranges = [
      [[2, 2], 0],
      [[0, 2], 0],
      [[2, 7], 0],
      [[0, 1], 1],
      [[3, 7], 1],
    ] as const
    for (const [range, failed] of ranges) {
      expect(failures(line(query({ device: { '1.0': range } }))), String(range)).toBe(failed)
      expect(failures(line({ op: 'size', expect: range })), String(range)).toBe(failed)
    }
    expect(failures(line({ ...store, expect: ['ok', 'duplicate_store'] }))).toBe(0)
    expect(failures(line({ ...store, expect: ['ok', 'parent_not_found'] }))).toBe(1)
  })

  test('nothing is compared where nothing is expected', () => {
    const silent = { op: 'store', rank: '1.0', parent: [9], blocks: [1] }
    const removal = { op: 'remove', rank: '1.0', paths: [[9]] }
    expect(failures(line(silent, removal, query(undefined), { op: 'size' }))).toBe(0)
  })

  test('a rank that comes after others left has nothing of theirs', () => {
    const steps = [
      { op: 'removeWorker', worker: '1' },
      { ...store, rank: '2.0', blocks: [1] },
      query({ device: { '2.0': 1 } }),
      { op: 'removeRank', rank: '2.0' },
      { op: 'clear', rank: '3.0' },
      query({ device: {} }),
      { op: 'size', expect: 0 },
    ]
    expect(failures(line(...steps))).toBe(0)
  })

  test('a u64 as a local hash, and a worker beyond 2^53', () => {
    const text = `{"kind":"events","blockSize":4,"steps":[
      {"op":"store","rank":"18446744073709551615.3","parent":[],"blocks":[18446744073709551615]},
      {"op":"query","path":[18446744073709551615],"expect":{"device":{"18446744073709551615.3":1}}},
      {"op":"query","path":[18446744073709551614],"expect":{"device":{}}}]}`
    expect(runFile('mine.jsonl', text.replaceAll('\n', ''))).toMatchObject({ passed: 1, failed: 0 })
  })
})

describe('lines that are no lines', () => {
  const line = (step: object, more: object = {}): string =>
    JSON.stringify({ kind: 'events', blockSize: 4, steps: [step], ...more })
  const store = { op: 'store', rank: '1.0', parent: [], blocks: [1] }
  const alphabet = [{ tokens: [1, 2, 3, 4] }]

  test.each<[string, string, RegExp]>([
    ['an unknown field', line({ ...store, extra: 1 }), /^unknown field 'steps.0.extra'/],
    ['an unknown outer field', line(store, { extra: 1 }), /^unknown field 'extra'/],
    ['an unknown operation', line({ op: 'forget', rank: '1.0' }), /^steps.0.op/],
    ['no steps', line(store, { steps: [] }), /^steps/],
    ['block size 0', line(store, { blockSize: 0 }), /^blockSize/],
    ['half a block size', line(store, { blockSize: 1.5 }), /^blockSize/],
    ['a rank that is none', line({ ...store, rank: '1' }), /^steps.0.rank/],
    ['a tier that is none', line({ ...store, tier: 'gpu' }), /^steps.0.tier/],
    ['a negative hash', line({ ...store, blocks: [-1] }), /^steps.0.blocks.0/],
    ['a fraction as a hash', line({ ...store, parent: [0.5] }), /^steps.0.parent.0/],
    ['a hash beyond u64', line(store).replace('[1]', '[18446744073709551616]'), /^steps.0.blocks.0/],
    ['an outcome of removals', line({ ...store, expect: 'block_not_found' }), /^steps.0.expect/],
    ['no acceptable outcome', line({ ...store, expect: [] }), /^steps.0.expect/],
    ['a removal of nothing named', line({ op: 'remove', rank: '1.0', paths: [[]] }), /^steps.0.paths.0/],
    ['a range upside down', line({ op: 'size', expect: [2, 1] }), /^steps.0.expect/],
    [
      'a match of nobody',
      line({ op: 'query', path: [], expect: { device: { x: 1 } } }),
      /^steps.0.expect.device/,
    ],
    [
      'no device',
      line({ op: 'query', path: [1], expect: { disk: {} } }),
      /'steps.0.expect.device' is missing/,
    ],
    ['its own parent without blocks', line({ ...store, blocks: [], selfParent: true }), /^steps.0.blocks/],
    ['an index past the alphabet', line(store, { alphabet }), /^steps.0: expected indexes below 1/],
    [
      'content of another length',
      line({ ...store, blocks: [0] }, { alphabet: [{ tokens: [1] }] }),
      /^alphabet.0.tokens/,
    ],
    [
      'a token that is none',
      line(store, { alphabet: [{ tokens: [1, 2, 3, 4_294_967_296] }] }),
      /^alphabet.0.tokens.3/,
    ],
    [
      'too many ranks',
      line(store, { steps: Array.from({ length: 32_769 }, (_, id) => ({ op: 'clear', rank: `${id}.0` })) }),
      /at most 32768 ranks/,
    ],
  ])('%s', (_, text, fault) => {
    const report = runFile('rust-index.jsonl', text)
    expect(report).toMatchObject({ passed: 0, failed: 1, notCovered: [] })
    expect(faultOf(report)).toMatch(fault)
  })
})
