import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
import { altered, leavesOf, withLeaf } from './altered-line.js'

type Line = Readonly<Record<string, unknown>>

/** Where the expected values of a line stand; everything else is given. */
const expectedKeys: Readonly<Record<string, readonly string[]>> = {
  rng: ['values', 'drawsUsed', 'indexes', 'uniforms', 'picks', 'drawsPerPick'],
  'mix-rendezvous': ['output', 'weights'],
  softmax: ['probabilities', 'weights', 'target', 'row'],
  selection: ['expect', 'total'],
  'default-cost': ['expect'],
  'kv-capacity-aware': ['expect'],
  'parity-costs': ['costs'],
  'parity-matrix-t0': ['minimumRows', 'picks'],
  'parity-matrix-t0.7': ['picks'],
  'parity-matrix-affinity-t0': ['picks'],
  'parity-matrix-affinity-t0.7': ['picks'],
  'parity-matrix-decode': ['picks'],
  'parity-sequences': ['picks'],
  'rust-selection': ['expect', 'expectHonouringOverrides'],
  'rust-policies': ['valid'],
}

const cheap = new Set([
  'rng',
  'mix-rendezvous',
  'softmax',
  'selection',
  'default-cost',
  'kv-capacity-aware',
  'rust-policies',
])

function failedAfter(name: string, line: unknown): number {
  return runLines(name, [{ number: 1, value: line as Line }]).failed
}

/** Lines that differ in their kind or in what they expect; of the dear files a few. */
function samples(name: string): Line[] {
  const lines = (readVectors(name) as Line[]).filter(({ kind, policy }) => {
    return name !== 'rust-policies' || (kind === 'parameters' && policy === 'dynamo-default-cost-fn')
  })
  if (cheap.has(name)) return lines
  const seen = new Map<string, Line>()
  for (const line of lines) {
    const expected = typeof line['expect'] === 'object' ? Object.keys(line['expect']!).join() : ''
    const key = `${String(line['kind'])} ${expected} ${'overrides' in line} ${String(line['role'])}`
    if (!seen.has(key)) seen.set(key, line)
  }
  return [...seen.values()]
}

function alterations(name: string, line: Line): { path: (string | number)[]; line: unknown }[] {
  const paths = leavesOf(line).filter(([key, second]) => {
    return expectedKeys[name]!.includes(String(key)) && second !== 'tolerance'
  })
  const step = cheap.has(name) ? 1 : Math.ceil(paths.length / 12)
  return paths
    .filter((_, index) => index % step === 0)
    .map((path) => ({
      path,
      line: withLeaf(line, path, (leaf) => altered(leaf, toleranceOf(name, line, path))),
    }))
}

function toleranceOf(name: string, line: Line, path: readonly (string | number)[]): number {
  const own = line['tolerance'] ?? (line['expect'] as Line | undefined)?.['tolerance'] ?? 0
  const isExact = name === 'rust-selection' && path.includes('result')
  return isExact ? 0 : Number(own)
}

// Generous: many evaluations in one test, on machines that do other work.
describe('one altered value fails its line', { timeout: 60_000 }, () => {
  test.each(Object.keys(expectedKeys))('%s', (name) => {
    let count = 0
    for (const line of samples(name)) {
      for (const alteration of alterations(name, line)) {
        const message = `${JSON.stringify(alteration.path)} of ${JSON.stringify(alteration.line)}`
        expect(failedAfter(name, alteration.line), message).toBe(1)
        count++
      }
      expect(failedAfter(name, line), 'the line itself passes').toBe(0)
    }
    expect(count).toBeGreaterThan(5)
  })
})

describe('a value that is given is used', { timeout: 60_000 }, () => {
  test.each([
    ['rng', ['seed']],
    ['mix-rendezvous', ['input']],
    ['softmax', ['temperature']],
    ['default-cost', ['rows', 0, 'load', 'decodeCostBlocks']],
    ['kv-capacity-aware', ['rows', 0, 'totalKvBlocks']],
    ['parity-costs', ['mode']],
    ['parity-matrix-t0.7', ['mode']],
    ['rust-selection', ['seed']],
  ])('%s %j', (name, path) => {
    const failures = (readVectors(name) as Line[]).slice(0, 20).map((line) => {
      try {
        return failedAfter(
          name,
          withLeaf(line, path, (leaf) => (leaf === null ? 0 : altered(leaf))),
        )
      } catch {
        return 0
      }
    })
    expect(Math.max(...failures)).toBe(1)
  })
})
