import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { preferredTaintMultiplier, requestBlocks, requestBlocksForDivision, roundHalfAway } from './blocks.js'

describe('requestBlocks', () => {
  it.each([
    [0, 16, 0],
    [1, 16, 1],
    [16, 16, 1],
    [17, 16, 2],
    [2048, 16, 128],
    [100, 17, 6],
    [1, 1, 1],
  ])('of %d tokens in blocks of %d are %d', (tokens, blockSize, expected) => {
    expect(requestBlocks(tokens, blockSize)).toBe(expected)
  })

  it('are the integer ceiling', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 40 }), fc.integer({ min: 1, max: 4096 }), (tokens, blockSize) => {
        const exact = (BigInt(tokens) + BigInt(blockSize) - 1n) / BigInt(blockSize)
        expect(requestBlocks(tokens, blockSize)).toBe(Number(exact))
      }),
      { seed: 1, numRuns: 1000 },
    )
  })
})

describe('requestBlocksForDivision', () => {
  it('is at least 1 and else the true count', () => {
    expect([0, 1, 2, 128].map(requestBlocksForDivision)).toEqual([1, 1, 2, 128])
  })
})

describe('roundHalfAway', () => {
  it.each([
    [0, 0],
    [-0, -0],
    [0.4, 0],
    [-0.4, -0],
    [0.49999999999999994, 0],
    [-0.49999999999999994, -0],
    [0.5, 1],
    [-0.5, -1],
    [1.5, 2],
    [-1.5, -2],
    [2.5, 3],
    [-2.5, -3],
    [4503599627370495.5, 4503599627370496],
    [-4503599627370495.5, -4503599627370496],
    [4503599627370497, 4503599627370497],
    [-4503599627370497, -4503599627370497],
    [Number.MAX_VALUE, Number.MAX_VALUE],
    [Infinity, Infinity],
    [Number.NaN, Number.NaN],
  ])('of %d is %d', (value, expected) => {
    expect(roundHalfAway(value)).toBe(expected)
  })
})

describe('preferredTaintMultiplier', () => {
  it.each([
    [Math.fround(0.85), 0.501039929091078],
    [Math.fround(-0.25), 1.2775173987844324],
    [1, 0.4669214877224426],
    [Math.fround(0.1) + Math.fround(0.2) + Math.fround(0.3), 0.584470144156691],
    [5, 0.3679128445729999],
    [-5, 2.718035031260192],
  ])('of the weight sum %d is the known value', (sum, expected) => {
    const error = Math.abs(preferredTaintMultiplier(sum) - expected)
    expect(error).toBeLessThanOrEqual(1e-15 * Math.max(1, expected))
  })

  it('is exactly 1 when nothing matches or weights cancel', () => {
    expect(preferredTaintMultiplier(0)).toBe(1)
    expect(preferredTaintMultiplier(-0)).toBe(1)
  })

  it('stays within [1/e, e] and never grows with the weight', () => {
    const sums = fc.double({ noNaN: true })
    fc.assert(
      fc.property(sums, fc.double({ min: 0, max: 10, noNaN: true }), (sum, more) => {
        const multiplier = preferredTaintMultiplier(sum)
        expect(multiplier).toBeGreaterThanOrEqual(Math.exp(-1))
        expect(multiplier).toBeLessThanOrEqual(Math.E)
        expect(preferredTaintMultiplier(sum + more)).toBeLessThanOrEqual(multiplier)
      }),
      { seed: 2, numRuns: 500 },
    )
  })
})
