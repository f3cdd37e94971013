import { describe, expect, it } from 'vitest'
import { bytesPerCall, checkAllocationMethod } from '../src/harness/allocation.js'
import { median, percentile, quantile } from '../src/harness/statistics.js'
import { batchSize, shortestBatchUs, timeBatches, warmUp } from '../src/harness/timing.js'

describe('statistics', () => {
  it('takes the middle of odd and even counts', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(median([])).toBeNaN()
  })

  it('takes the nearest rank', () => {
    const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1)
    expect([0, 0.5, 0.99, 1].map((fraction) => percentile(hundred, fraction))).toEqual([1, 50, 99, 100])
    expect(quantile([9, 1, 5, 7, 3], 0.25)).toBe(3)
    expect(quantile([], 0.5)).toBeNaN()
  })
})

describe('timing', () => {
  const spin = (microseconds: number) => () => {
    const end = performance.now() + microseconds / 1000
    while (performance.now() < end);
    return 1
  }

  it('batches calls that are too short for the clock, and no others', () => {
    const short = spin(2)
    warmUp(short, 1)
    expect(batchSize(short)).toBeGreaterThanOrEqual(4)
    expect(batchSize(spin(2 * shortestBatchUs))).toBe(1)
  })

  it('divides by the calls of a batch', () => {
    const { p50Ns, p99Ns } = timeBatches(spin(50), 4, 5)
    expect(p50Ns).toBeGreaterThanOrEqual(50_000)
    expect(p50Ns).toBeLessThan(5_000_000)
    expect(p99Ns).toBeGreaterThanOrEqual(p50Ns)
  })
})

describe('bytes per call', () => {
  it('are right on loops of known allocation', () => {
    for (const { what, expectedBytes, measuredBytes } of checkAllocationMethod()) {
      const difference = Math.abs(measuredBytes - expectedBytes)
      expect(difference, what).toBeLessThan(2 + expectedBytes / 100)
    }
  })

  it('count what one call leaves behind, however few calls fit', () => {
    const kept: number[][] = []
    const bytes = bytesPerCall(() => kept.push(Array.from({ length: 10_000 }, (_, index) => index)), 1)
    expect(bytes).toBeGreaterThan(80_000)
    expect(bytes).toBeLessThan(400_000)
  })
})
