import { describe, expect, test } from 'vitest'
import { dataFolder, readVectors, vectorFiles } from '../src/data.js'
import { printReports } from '../src/runner/print.js'
import { type FileReport, runVectors } from '../src/runner/run.js'

const reports = runVectors([dataFolder])
const report = (name: string): FileReport => reports.find((candidate) => candidate.name === name)!

function printed(ofReports: readonly FileReport[]): string {
  const lines: string[] = []
  printReports(ofReports, (line) => lines.push(line))
  return lines.join('\n')
}

const covered = [
  'rng.jsonl',
  'mix-rendezvous.jsonl',
  'softmax.jsonl',
  'selection.jsonl',
  'default-cost.jsonl',
  'kv-capacity-aware.jsonl',
  'classic.jsonl',
  'parity-costs.jsonl',
  'parity-matrix-affinity-t0.7.jsonl',
  'parity-matrix-affinity-t0.jsonl',
  'parity-matrix-decode.jsonl',
  'parity-matrix-t0.7.jsonl',
  'parity-matrix-t0.jsonl',
  'parity-sequences.jsonl',
  'rust-selection.jsonl',
  'rust-accounting.jsonl',
  'rust-index.jsonl',
]

const coveredDocuments = ['hashing.json', 'kv-events.json']

describe('the shipped code over the carried files', () => {
  test.each(covered)('%s passes line by line', (name) => {
    const { passed, failed, notCovered } = report(name)
    expect(failed, printed([report(name)])).toBe(0)
    expect(notCovered).toEqual([])
    expect(passed).toBe(readVectors(name.replace('.jsonl', '')).length)
  })

  test.each(coveredDocuments)('%s passes as one case', (name) => {
    expect(report(name), printed([report(name)])).toMatchObject({ passed: 1, failed: 0, notCovered: [] })
  })

  test('rust-policies.jsonl passes where its policy is shipped, and says what waits', () => {
    const { passed, failed, notCovered } = report('rust-policies.jsonl')
    expect(failed, printed([report('rust-policies.jsonl')])).toBe(0)
    expect(passed).toBe(116)
    expect(notCovered.reduce((sum, { count }) => sum + count, 0)).toBe(595)
    expect(notCovered).toContainEqual({
      about: 'ramjet',
      needs: '@router/policy-ramjet',
      count: 36,
      unit: 'lines',
    })
  })

  test('rust-replay.jsonl passes where workers are vLLM-like, and says what waits', () => {
    const { passed, failed, notCovered } = report('rust-replay.jsonl')
    expect(failed, printed([report('rust-replay.jsonl')])).toBe(0)
    expect(passed).toBe(29)
    expect(notCovered.map(({ about, needs, count }) => [about, needs, count]).toSorted()).toEqual([
      ['rust-replay: an engine like sglang', '@router/replay', 12],
      ['rust-replay: an engine like trtllm', '@router/replay', 2],
      ['rust-replay: prefill and decode pools', '@router/replay', 11],
    ])
  })

  test('the published digests of the parity files follow from our picks', () => {
    expect(report('golden digests of the parity files')).toMatchObject({ passed: 4, failed: 0 })
  })

  test('every other file is listed as not covered, with its lines', () => {
    // Service-sessions has a test of its own: it is played.
    const partly = ['rust-policies.jsonl', 'rust-replay.jsonl', 'service-sessions.jsonl']
    const evaluated = [...covered, ...coveredDocuments, ...partly]
    const others = vectorFiles().filter((name) => !evaluated.includes(name))
    for (const name of others) {
      const { passed, failed, notCovered } = report(name)
      expect({ passed, failed }, printed([report(name)])).toEqual({ passed: 0, failed: 0 })
      const lines = name.endsWith('.jsonl') ? readVectors(name.replace('.jsonl', '')).length : 1
      expect(notCovered.map(({ count }) => count)).toEqual([lines])
    }
    expect(others).toHaveLength(13)
  })

  test('the last line is the sum', () => {
    const lines = printed(reports).split('\n')
    const sum = (pattern: RegExp): number =>
      lines.slice(0, -1).reduce((total, line) => total + Number(pattern.exec(line)?.[1] ?? 0), 0)
    const passed = sum(/^\S.*: (\d+) passed, \d+ failed$/)
    const failed = sum(/^\S.*: \d+ passed, (\d+) failed$/)
    expect(lines.at(-1)).toBe(`total: ${passed} passed, ${failed} failed`)
    expect(passed).toBeGreaterThan(1300)
  })
})
