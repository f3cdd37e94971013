import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { type FileReport, runLines } from '../src/runner/run.js'
import { classicTypes } from '../src/shapes/classic.js'
import { leavesOf, withLeaf } from './altered-line.js'
import { carried, faultOf, runFile } from './support.js'

type Line = Readonly<Record<string, unknown>>
type Path = (string | number)[]

const types: readonly unknown[] = classicTypes
const files = ['classic', 'rust-policies']
const linesOf = (name: string): Line[] =>
  (readVectors(name) as Line[]).filter(({ policy, kind }) => kind === undefined && types.includes(policy))
const all = files.flatMap((name) => linesOf(name).map((line) => [name, line] as const))

const run = (name: string, line: unknown): FileReport => runLines(name, [{ number: 1, value: line as Line }])
const fails = (name: string, line: unknown): number => run(name, line).failed

interface Step {
  readonly rows?: readonly { readonly workerId: string; readonly dpRank: number }[]
  readonly draws?: readonly { readonly n: number; readonly value: number }[]
}

/** The step to which a value belongs, and where it stands in it. */
function stepAt(line: Line, path: Path): [Step, Path] {
  return path[0] === 'steps' ? [(line['steps'] as Step[])[path[1] as number]!, path.slice(2)] : [line, path]
}

const words: Readonly<Record<string, string>> = {
  'target-required': 'target-not-eligible',
  'target-not-eligible': 'target-required',
  cpu: 'accelerator',
  accelerator: 'full-hit',
  'full-hit': 'cpu',
  ROUTER_POLICY_FAILED: 'ROUTER_NO_ENDPOINTS',
}

/** Another value that the shape accepts, where there is one. */
function another(leaf: unknown, rows: NonNullable<Step['rows']>): unknown {
  if (typeof leaf === 'boolean') return !leaf
  if (leaf === null) return 0
  if (typeof leaf === 'number') return leaf + 1
  const word = words[leaf as string]
  if (word !== undefined) return word
  const names = rows.map(({ workerId, dpRank }) => `${workerId}.${dpRank}`)
  return names.find((name) => name !== leaf) ?? '123456.0'
}

describe('lines of the classic policies', () => {
  test('are all found', () => {
    expect(files.map((name) => linesOf(name).length)).toEqual([17, 94])
    expect(new Set(all.map(([, line]) => line['policy'])).size).toBe(types.length)
  })

  test('every expected value counts', () => {
    let count = 0
    for (const [name, line] of all) {
      for (const path of leavesOf(line)) {
        const [step, [field]] = stepAt(line, path)
        if (field !== 'expect') continue
        const rows = step.rows ?? (line['rows'] as NonNullable<Step['rows']>)
        const altered = withLeaf(line, path, (leaf) => another(leaf, rows))
        expect(fails(name, altered), `${path.join('.')} of ${JSON.stringify(altered)}`).toBe(1)
        count++
      }
    }
    expect(count).toBeGreaterThan(300)
  })

  test('every draw counts, and there must be no other', () => {
    let count = 0
    for (const [name, line] of all) {
      const steps = (line['steps'] as Step[] | undefined) ?? [line as Step]
      if (line['seed'] !== undefined) continue
      for (const [index, { draws = [] }] of steps.entries()) {
        const withDraws = (other: unknown): unknown =>
          'steps' in line
            ? { ...line, steps: steps.map((step, at) => (at === index ? { ...step, draws: other } : step)) }
            : { ...line, draws: other }
        // Whoever names no draws says that any pick of the tie set will do.
        if (!('steps' in line) && line['draws'] === undefined) continue
        expect(fails(name, withDraws([...draws, { n: 2, value: 0 }]))).toBe(1)
        if (draws.length === 0) continue
        expect(fails(name, withDraws(draws.slice(1)))).toBe(1)
        expect(fails(name, withDraws([{ n: draws[0]!.n + 1, value: 0 }, ...draws.slice(1)]))).toBe(1)
        count++
      }
    }
    expect(count).toBeGreaterThan(50)
  })

  test.each([
    ['the seed of a line', 'N11', ['seed'], '43'],
    ['reservations', 'N4', ['rows', 1, 'reservations'], 0],
    ['the device', 'N6', ['rows', 0, 'deviceKind'], 'accelerator'],
    ['cache hits', 'N8', ['rows', 1, 'cacheHits'], 1],
    ['required hits', 'N8', ['requiredCacheHits'], 3],
    ['a target', 'N9', ['steps', 0, 'target', 'workerId'], '10'],
    ['a query', 'N9', ['steps', 2, 'queryOnly'], false],
  ] as const)('%s is used', (_what, id, path, value) => {
    const line = linesOf('classic').find((candidate) => candidate['id'] === id)!
    expect(fails('classic', line)).toBe(0)
    expect(
      fails(
        'classic',
        withLeaf(line, path, () => value),
      ),
    ).toBe(1)
  })

  test('the ratio is used, from the line or from the router', () => {
    const { params: _params, ...line } = linesOf('classic').find(({ id }) => id === 'N6')!
    expect(fails('classic', { ...line, params: { cuda_to_cpu_ratio: 10 } })).toBe(1)
    expect(fails('classic', { ...line, router: { encoder_cuda_to_cpu_ratio: 10 } })).toBe(1)
    const both = { params: { cuda_to_cpu_ratio: 8 }, router: { encoder_cuda_to_cpu_ratio: 10 } }
    expect(fails('classic', { ...line, ...both })).toBe(0)
  })
})

describe('the shape', () => {
  const line = JSON.parse(carried('classic.jsonl').split('\n')[0]!) as Line

  test.each([
    ['an unknown field', { ...line, extra: 1 }, /unknown field 'extra'/],
    ['nothing expected', { ...line, steps: [{}] }, /'steps.0.expect' is missing/],
    ['no rows', { ...line, rows: undefined }, /rows: expected rows|'rows' is missing/],
    [
      'a draw that is too large',
      { ...line, steps: [{ expect: '10.0', draws: [{ n: 1, value: 1 }] }] },
      /value below n/,
    ],
    [
      'two targets',
      { ...line, steps: [{ expect: '10.0', target: { workerId: '1' }, affinityTarget: { workerId: '2' } }] },
      /expected the target of the same step/,
    ],
    ['parameters that the policy refuses', { ...line, params: { seed: 1 } }, /^params: /],
    [
      'ranks far apart',
      { ...line, rows: [0, 70_000].map((dpRank) => ({ workerId: '1', dpRank })), steps: [{ expect: '1.0' }] },
      /at most 65536 ranks/,
    ],
  ] as const)('%s is a fault', (_what, altered, fault) => {
    expect(faultOf(runFile('classic.jsonl', JSON.stringify(altered)))).toMatch(fault)
  })

  test('lines are known by their fields, under any name', () => {
    expect(runFile('mine.jsonl', carried('classic.jsonl'))).toMatchObject({ passed: 17, failed: 0 })
  })

  test('ranks of a worker may have gaps, and kinds that differ', () => {
    const rows = [
      { workerId: '1', dpRank: 3, deviceKind: 'cpu', reservations: 1 },
      { workerId: '1', dpRank: 7, reservations: 0 },
      { workerId: '2', dpRank: 0, reservations: 8 },
    ]
    const expected = { pick: '1.7', group: 'cpu', allowedCpu: 1 }
    const mixed = (reservations: number) => ({
      policy: 'dynamo-device-aware-weighted',
      rows: rows.with(0, { ...rows[0]!, reservations }),
      draws: [],
      expect: reservations === 0 ? expected : { pick: '2.0', group: 'accelerator', allowedCpu: 1 },
    })
    expect(fails('classic', mixed(1))).toBe(0)
    const tied = { ...mixed(0), draws: [{ n: 2, value: 0 }] }
    expect(fails('classic', tied)).toBe(0)
  })
})
