import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
import { leavesOf, withLeaf } from './altered-line.js'
import { faultOf, runFile } from './support.js'

type Path = readonly (string | number)[]
type Line = Readonly<Record<string, unknown>>

const lines = readVectors('rust-accounting') as unknown as Line[]
const failures = (line: unknown): number => runLines('mine', [{ number: 1, value: line as Line }]).failed

const otherOutcome: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  add: { ok: 'duplicate_request', duplicate_request: 'worker_not_found', worker_not_found: 'ok' },
  free: { applied: 'no_change', no_change: 'applied' },
  prefillComplete: { applied: 'no_change', no_change: 'applied' },
  output: { ok: 'request_not_found', request_not_found: 'ok' },
  removeWorker: { ok: 'worker_not_found', worker_not_found: 'ok' },
}

/** Copies with one expected value replaced by another that the shape allows. */
function alterations(line: Line): { path: Path; line: unknown }[] {
  const steps = line['steps'] as readonly { op: string }[]
  return leavesOf(line)
    .filter((path) => path[2] === 'expect')
    .flatMap((path) => {
      const words = otherOutcome[steps[path[1] as number]!.op]
      if (path.length === 3 && words === undefined) return []
      const change = (leaf: unknown): unknown =>
        typeof leaf === 'number' ? leaf + 1 : leaf === null ? 0 : words![leaf as string]
      return [{ path, line: withLeaf(line, path, change) }]
    })
}

describe('S8: rust-accounting.jsonl', { timeout: 60_000 }, () => {
  test('every outcome and projection', () => {
    const report = runLines(
      'rust-accounting',
      lines.map((value, index) => ({ number: index + 1, value })),
    )
    expect(report).toMatchObject({ passed: lines.length, failed: 0 })
  })

  test('one altered outcome or projection fails the line', () => {
    let count = 0
    for (const line of lines.filter((_, index) => index % 6 === 0 || index > 59)) {
      expect(failures(line), 'the line itself passes').toBe(0)
      for (const { path, line: altered } of alterations(line)) {
        expect(failures(altered), `${String(line['id'])} ${path.join('.')}`).toBe(1)
        count++
      }
    }
    expect(count).toBeGreaterThan(500)
  })

  test('a rank that the line leaves out, or names in addition, fails it', () => {
    const [line] = lines
    const probe = (line!['steps'] as { op: string }[]).findIndex(({ op }) => op === 'probe')
    const change = (ranks: object): unknown => withLeaf(line, ['steps', probe, 'expect'], () => ranks)
    expect(failures(change({}))).toBe(1)
    const { expect: ranks } = (line!['steps'] as { expect: Record<string, object> }[])[probe]!
    expect(failures(change(ranks))).toBe(0)
    expect(failures(change({ ...ranks, '77.0': Object.values(ranks)[0] }))).toBe(1)
  })

  test('a remaining time of 0 is left out or written, but not null', () => {
    const probes = (value: number | null | undefined): unknown => ({
      blockSize: 16,
      expirySecs: null,
      workers: [{ worker: '1', startRank: 0, ranks: 1 }],
      steps: [
        {
          op: 'probe',
          path: [],
          expect: {
            '1.0': {
              activeBlocks: 0,
              activePrefillTokens: 0,
              activeRequests: 0,
              additionalBlocks: 0,
              ...(value === undefined ? {} : { modeledRemainingMs: value }),
            },
          },
        },
      ],
    })
    expect([undefined, 0, null, 1].map((value) => failures(probes(value)))).toEqual([0, 0, 1, 1])
  })

  test.each<[string, Path, (leaf: never) => unknown]>([
    ['expirySecs', ['expirySecs'], (leaf: number | null) => (leaf === null ? 1 : 1e9)],
    ['ranks', ['workers', 0, 'ranks'], (leaf: number) => leaf + 1],
    ['path', ['steps', 0, 'path', 0], (leaf: number) => leaf + 1],
    ['prefillTokens', ['steps', 0, 'prefillTokens'], (leaf: number) => leaf + 1],
    ['op', ['steps', 0, 'id'], () => 'another'],
  ])('a given value is used: %s', (_name, path, change) => {
    const results = lines.map((line) => {
      const leaf = path.reduce<unknown>(
        (value, key) => (value as Record<string, unknown> | undefined)?.[key],
        line,
      )
      return leaf === undefined ? 0 : failures(withLeaf(line, path, change as (leaf: unknown) => unknown))
    })
    expect(Math.max(...results)).toBe(1)
  })
})

describe('hostile lines of rust-accounting', () => {
  const base = {
    blockSize: 16,
    expirySecs: null as unknown,
    workers: [{ worker: '1', startRank: 0, ranks: 1 }] as unknown[],
    steps: [{ op: 'sweep' }] as unknown[],
  }
  const add = { op: 'add', id: 'r', rank: '1.0', path: [1], prefillTokens: 1, expect: 'ok' }

  test('an unknown field at any level', () => {
    const probe = lines.find((line) => (line['steps'] as { op: string }[]).some(({ op }) => op === 'probe'))!
    const objects = new Set<string>([''])
    for (const path of leavesOf(probe)) {
      for (let depth = 1; depth < path.length; depth++) {
        if (typeof path[depth] === 'string') objects.add(JSON.stringify(path.slice(0, depth)))
      }
    }
    expect(objects.size).toBeGreaterThan(20)
    for (const place of objects) {
      const path = place === '' ? [] : (JSON.parse(place) as Path)
      const altered = withLeaf(probe, path, (object) => ({ ...(object as object), extra: 1 }))
      expect(failures(altered), place).toBe(1)
    }
  })

  test.each<[string, unknown, RegExp]>([
    ['no steps', { ...base, steps: [] }, /^steps/],
    ['no such step', { ...base, steps: [{ op: 'nope' }] }, /^steps\.0\.op/],
    ['an outcome of another step', { ...base, steps: [{ ...add, expect: 'applied' }] }, /^steps\.0\.expect/],
    ['a negative count', { ...base, steps: [{ ...add, prefillTokens: -1 }] }, /^steps\.0\.prefillTokens/],
    ['half a token', { ...base, steps: [{ ...add, prefillTokens: 0.5 }] }, /^steps\.0\.prefillTokens/],
    ['a hash that is no integer', { ...base, steps: [{ ...add, path: [1e300] }] }, /^steps\.0\.path/],
    [
      'no hashes at all',
      { ...base, steps: [{ ...add, path: undefined }] },
      /^field 'steps\.0\.path' is missing/,
    ],
    [
      'a fraction beyond 1',
      { ...base, steps: [{ op: 'output', id: 'r', fraction: 1.5 }] },
      /^steps\.0\.fraction/,
    ],
    ['a clock that goes back', { ...base, steps: [{ op: 'advance', ms: -1 }] }, /^steps\.0\.ms/],
    ['an endless wait', { ...base, steps: [{ op: 'advance', ms: 1e300 }] }, /^steps\.0\.ms/],
    ['an expiry of 0', { ...base, expirySecs: 0 }, /^expirySecs/],
    ['a worker twice', { ...base, workers: [base.workers[0], base.workers[0]] }, /each worker once/],
    [
      'a worker without ranks',
      { ...base, workers: [{ worker: '1', startRank: 0, ranks: 0 }] },
      /^workers\.0\.ranks/,
    ],
    ['4,097 ranks', { ...base, workers: [{ worker: '1', startRank: 0, ranks: 4097 }] }, /^workers\.0\.ranks/],
    [
      'ranks beyond u32',
      { ...base, workers: [{ worker: '1', startRank: 4294967290, ranks: 9 }] },
      /within u32/,
    ],
    [
      'more ranks than any case',
      {
        ...base,
        steps: Array.from({ length: 17 }, (_, id) => ({
          op: 'upsertWorker',
          worker: `${id + 2}`,
          startRank: 0,
          ranks: 4096,
        })),
      },
      /at most 65536 ranks/,
    ],
  ])('%s', (_name, line, fault) => {
    const report = runFile('rust-accounting.jsonl', JSON.stringify(line))
    expect(report).toMatchObject({ passed: 0, failed: 1 })
    expect(faultOf(report)).toMatch(fault)
  })

  test('the shape they all start from passes', () => {
    expect(failures({ ...base, steps: [add] })).toBe(0)
  })
})
