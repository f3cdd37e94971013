import { describe, expect, it } from 'vitest'
import type { Launch } from '../src/harness/contest-run.js'
import { measureVariant } from '../src/harness/variant-figures.js'
import { groups } from '../src/selection/groups/index.js'
import { renderReport } from '../src/selection/print-report.js'
import { runSelectionBench } from '../src/selection/selection-bench.js'

const effort = { warmUpMs: 1, timedMs: 1, countedMs: 1, rounds: 1 }
const launch: Launch = async (_contest, variant) => measureVariant(variant, effort)
const options = { effort, launch, isIsolated: false, onStep: () => {} }

describe('runSelectionBench', () => {
  it('measures every variant of every size', async () => {
    const sizes = [2, 8]
    const report = await runSelectionBench({ ...options, workers: sizes })
    const expected = groups.flatMap(({ contest }) => sizes.flatMap((size) => contest(size).variants))
    expect(report.rows).toHaveLength(expected.length)
    for (const row of report.rows) {
      expect(row).toEqual({
        group: expect.any(String),
        workers: expect.any(Number),
        ranks: row.group === 'host' || row.group === 'custom' ? 1 : 2,
        temperature: expect.any(Number),
        variant: expect.any(String),
        p50Ns: expect.any(Number),
        p99Ns: expect.any(Number),
        bytesPerSelection: expect.any(Number),
      })
      expect(row.p50Ns).toBeGreaterThan(0)
      expect(row.p99Ns).toBeGreaterThanOrEqual(row.p50Ns)
      expect(row.bytesPerSelection).toBeGreaterThanOrEqual(0)
    }
    const comparisons = groups.flatMap(({ contest }) => sizes.flatMap((size) => contest(size).comparisons))
    expect(report.ratios).toHaveLength(comparisons.length)
    for (const { ratio, lowerQuartile, upperQuartile } of report.ratios) {
      expect(lowerQuartile).toBeGreaterThan(0)
      expect(ratio).toBeGreaterThanOrEqual(lowerQuartile)
      expect(ratio).toBeLessThanOrEqual(upperQuartile)
    }
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
    const text = renderReport(report)
    for (const { title } of groups) expect(text).toContain(title)
    expect(text).toContain('function floor(')
    expect(text).toContain('Not for publication')
  })

  it('takes the rows that the filter names, and says which figures it did not measure', async () => {
    const report = await runSelectionBench({ ...options, workers: [64], filter: 'one-overloaded' })
    expect(report.rows.map(({ variant }) => variant)).toEqual([
      'holes/one-overloaded',
      'holes/one-overloaded-js',
    ])
    expect(report.ratios).toEqual([])
    expect(report.reach.every(({ reached, isReached }) => reached === null && !isReached)).toBe(true)
    expect(renderReport(report)).toContain(
      `${report.reach.length} of ${report.reach.length} figures were not measured`,
    )
  })

  it('compares with the figures to reach', async () => {
    const report = await runSelectionBench({
      ...options,
      workers: [64],
      launch: async (_contest, { name }) => ({
        p50Ns: name === 'policy' ? 400 : 900,
        p99Ns: 1000,
        bytes: name === 'policy' ? 0.01 : 2,
      }),
    })
    const reached = report.reach.filter(({ workers }) => workers === 64)
    expect(reached.map(({ what, reached: figure, isReached }) => [what, figure, isReached])).toEqual([
      ['default policy, tracked, T 0', 0.4, true],
      ['default policy, tracked, T 0.7', 0.4, true],
      ['without WebAssembly, T 0', 0.9, false],
      ['decay 0.6 against none', 2.25, false],
      ['one overloaded worker against none', 1, true],
      ['bytes a warm selection, T 0', 0.01, true],
      ['bytes a warm selection, T 0.7', 0.01, true],
      ['bytes a warm selection without WebAssembly, T 0', 2, false],
      ['bytes a warm selection without WebAssembly, T 0.7', 2, true],
      ['capacity and prefix hashes in the contract, against the A/A noise', 1, true],
    ])
  })

  it('runs the variants of a size in turns', async () => {
    const order: string[] = []
    await runSelectionBench({
      ...options,
      effort: { ...effort, rounds: 2 },
      workers: [8],
      filter: 'stacked',
      launch: async (_contest, { name }) => {
        order.push(name)
        return { p50Ns: 1, p99Ns: 1, bytes: 0 }
      },
    })
    const turn = ['stacked/s1', 'stacked/s2', 'stacked/s4']
    expect(order).toEqual([...turn, ...turn])
  })
})
