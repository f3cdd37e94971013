import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationMs, nanosecondsOf, polynomialTiming, timingOf } from '../src/index.js'
import { play, timingTable } from './support/timeline.js'

describe('P1: timing', () => {
  const { prefillMs, decodeMs } = polynomialTiming

  it.each([
    [160, 18.942],
    [1000, 32.106],
    [3096, 67.545],
    [8192, 169.137],
  ])('prefill of %d tokens', (tokens, ms) => {
    expect(prefillMs(1, tokens, 0)).toBeCloseTo(ms, 3)
    expect(prefillMs(2, tokens / 2 + 7, 7)).toBe(prefillMs(1, tokens, 0))
  })

  it.each([
    [0, 5.74],
    [0.25, 17.634],
    [0.5, 26.31],
    [1, 34.01],
    [2, 34.01],
  ])('decode with %d of the pool', (used, ms) => {
    expect(decodeMs(1, used * 1024, 1024)).toBeCloseTo(ms, 3)
  })

  it('nothing to do takes no time; a pool of nothing is full', () => {
    expect([prefillMs(0, 5, 0), prefillMs(3, 5, 5), prefillMs(3, 5, 6), decodeMs(0, 5, 10)]).toEqual([
      0, 0, 0, 0,
    ])
    expect(decodeMs(1, 0, 0)).toBeCloseTo(34.01, 10)
  })

  it('the golden durations at speed 1,000', () => {
    expect(durationMs(prefillMs(1, 8, 0), 1000)).toBe(0.016623)
    expect(durationMs(prefillMs(1, 8, 4), 1000)).toBe(0.016562)
  })

  it('a ratio of 0 leaves it as it is', () => {
    expect(durationMs(16.622914, 0)).toBe(durationMs(16.622914, 1))
    expect(durationMs(16.622914, 2)).toBe(0.008311457 * 1000)
  })

  it('halves go to even, decided on the exact product', () => {
    const seed = { seed: 20_261_129, numRuns: 20_000 }
    fc.assert(
      fc.property(fc.double({ min: 0, max: 4e5, noNaN: true }), (seconds) => {
        expect(nanosecondsOf(seconds)).toBe(exactNanoseconds(seconds))
      }),
      seed,
    )
    // Multiples of 2^-10 s are whole half nanoseconds now and then.
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1 << 30 }), (units) => {
        expect(nanosecondsOf(units / 1024)).toBe(exactNanoseconds(units / 1024))
      }),
      seed,
    )
    expect([0.5e-9, 1.5e-9, 2.5e-9].map(nanosecondsOf)).toEqual(
      [0.5e-9, 1.5e-9, 2.5e-9].map(exactNanoseconds),
    )
    expect([1 / 1024, 3 / 1024].map(nanosecondsOf)).toEqual([976562, 2929688])
  })

  it('other models: per pass, or asked for; nothing for an empty batch', () => {
    const fixed = timingOf({ type: 'fixed', prefill_ms: 10, decode_ms: 3 })
    expect([fixed.prefillMs(0, 0, 0), fixed.prefillMs(4, 8, 8), fixed.decodeMs(0, 0, 9)]).toEqual([0, 10, 0])
    expect(fixed.decodeMs(7, 100, 9)).toBe(3)
    const asked: number[][] = []
    const external = timingOf({
      type: 'external',
      prefillMs: (...values) => asked.push(values),
      decodeMs: (...values) => asked.push(values),
    })
    external.prefillMs(2, 9, 4)
    external.decodeMs(2, 7, 100)
    external.prefillMs(0, 0, 0)
    external.decodeMs(0, 0, 100)
    expect(asked).toEqual([
      [2, 5, 4],
      [2, 3],
    ])
  })
})

describe('a table of times', () => {
  it('is linear in the new tokens of the pass, bilinear in what decodes, beyond its ends too', () => {
    const { prefillMs, decodeMs } = timingOf(timingTable)
    expect([100, 200, 300, 500, 20].map((tokens) => prefillMs(1, tokens + 7, 7))).toEqual([
      20, 25, 30, 40, 16,
    ])
    expect(prefillMs(4, 50, 0)).toBe(25)
    expect([prefillMs(0, 0, 0), decodeMs(0, 0, 9)]).toEqual([0, 0])
    // One request of 0 or 100 tokens, ten of 100, ten of 50, twenty of 100.
    expect(decodeMs(1, 0, 9)).toBe(5)
    expect(decodeMs(1, 100, 9)).toBeCloseTo(6 + 1.3, 12)
    expect(decodeMs(10, 1000, 9)).toBe(19)
    expect(decodeMs(10, 500, 9)).toBe((5.5 + 14.5) / 2)
    expect(decodeMs(20, 2000, 9)).toBe(32)
    // The mean is whole.
    expect(decodeMs(10, 509, 9)).toBeCloseTo(5.5 + 9 * 0.509, 12)
  })

  it('never falls below nothing', () => {
    const falling = timingOf({
      ...timingTable,
      prefill_ttft_ms: [20, 10],
      decode_itl: [
        [9, 8],
        [1, 0],
      ],
    })
    expect([falling.prefillMs(1, 600, 0), falling.decodeMs(1, 5000, 9)]).toEqual([0, 0])
  })

  it('goes through all its points, on the line of the two that are next', () => {
    const ms = fc.double({ min: 0, max: 100, noNaN: true })
    const axis = fc.uniqueArray(fc.nat(500), { minLength: 2, maxLength: 9 })
    fc.assert(
      fc.property(
        axis,
        fc.array(ms, { minLength: 9, maxLength: 9 }),
        fc.nat(600),
        (unsorted, times, tokens) => {
          const points = unsorted.toSorted((a, b) => a - b)
          const table = {
            ...timingTable,
            prefill_isl: points,
            prefill_ttft_ms: times.slice(0, points.length),
          }
          const { prefillMs } = timingOf(table)
          for (const [index, point] of points.entries())
            expect(prefillMs(1, point, 0)).toBeCloseTo(times[index]!, 9)
          const after = points.findIndex((point) => point > tokens)
          const end = Math.max(1, after === -1 ? points.length - 1 : after)
          const share = (tokens - points[end - 1]!) / (points[end]! - points[end - 1]!)
          const expected = times[end - 1]! * (1 - share) + times[end]! * share
          expect(prefillMs(1, tokens, 0)).toBeCloseTo(Math.max(0, expected), 6)
        },
      ),
      { seed: 20_261_129, numRuns: 500 },
    )
  })

  it('times the passes of an engine, divided by its speed', () => {
    const [first, second] = play({ timing_model: timingTable, speedup_ratio: 2 }, [
      { atMs: 0, promptTokens: 200, outputTokens: 2 },
    ])
    // 5 + 5 x .2 for 200 tokens, 1 more for each 100 of the mean and .8 for both.
    expect([first!.endMs, second!.endMs - 12.5]).toEqual([
      12.5,
      expect.closeTo((5 + 0.201 * 5 + 2.01 + 0.201 * 2.01 * 8) / 2, 9),
    ])
  })
})

/** By whole numbers: a double is its mantissa times a power of two. */
function exactNanoseconds(seconds: number): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, seconds)
  const bits = view.getBigUint64(0)
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const mantissa = (bits & 0xf_ffff_ffff_ffffn) | (exponent === 0 ? 0n : 1n << 52n)
  const shift = 1075 - Math.max(exponent, 1)
  const scaled = mantissa * 1_000_000_000n
  if (shift <= 0) return Number(scaled << BigInt(-shift))
  const whole = scaled >> BigInt(shift)
  const rest = scaled - (whole << BigInt(shift))
  const half = 1n << BigInt(shift - 1)
  return Number(rest > half || (rest === half && whole % 2n === 1n) ? whole + 1n : whole)
}
