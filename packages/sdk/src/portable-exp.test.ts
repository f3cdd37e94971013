import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { portableExp } from './portable-exp.js'

/** exp of a double as a fraction of bigints, 2^200 times: a Taylor series after halving the argument. */
function exactExp(x: number): bigint {
  const scale = 260n
  const one = 1n << scale
  const halvings = 12n
  const argument = (BigInt(Math.round(x * 2 ** 40)) << (scale - 40n)) >> halvings
  let term = one
  let sum = one
  for (let n = 1n; n < 60n; n++) {
    term = (term * argument) / (n << scale)
    sum += term
  }
  for (let step = 0n; step < halvings; step++) sum = (sum * sum) >> scale
  return sum >> (scale - 200n)
}

describe('portableExp', () => {
  it.each([
    [0, 1],
    [-0, 1],
    [1, Math.E],
    [-1, 0.36787944117144233],
    [5e-324, 1],
    [-5e-324, 1],
    [709.782712893384, 1.7976931348622732e308],
    [709.7827128933841, Infinity],
    [710, Infinity],
    [Infinity, Infinity],
    [-745.1332191019411, 5e-324],
    [-745.1332191019412, 0],
    [-746, 0],
    [-Infinity, 0],
    [-708.3964185322641, 2.2250738585072626e-308],
    [Number.NaN, Number.NaN],
  ])('of %d is %d', (x, expected) => {
    expect(portableExp(x)).toBe(expected)
  })

  it('is within one unit in the last place of the exact value', () => {
    // Arguments with 40 fractional bits, so that the exact side knows the very same number.
    const arguments_ = fc.integer({ min: -(2 ** 45), max: 2 ** 45 }).map((bits) => bits / 2 ** 40)
    fc.assert(
      fc.property(arguments_, (x) => {
        const exact = exactExp(x)
        const value = portableExp(x)
        const unit = 2 ** (Math.floor(Math.log2(value)) - 52)
        const scaled = BigInt(value * 2 ** 150) << 50n
        const error = scaled > exact ? scaled - exact : exact - scaled
        expect(error <= BigInt(unit * 2 ** 150) << 50n).toBe(true)
      }),
      { seed: 1, numRuns: 1000 },
    )
  })

  it('never falls where its argument grows', () => {
    const pairs = fc.tuple(
      fc.double({ min: -750, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    )
    fc.assert(
      fc.property(pairs, ([x, more]) => {
        expect(portableExp(x + more)).toBeGreaterThanOrEqual(portableExp(x))
      }),
      { seed: 2, numRuns: 1000 },
    )
  })

  it('has the bits of V8', () => {
    const anywhere = fc.oneof(
      fc.double({ min: -760, max: 720, noNaN: true }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      fc.double({ min: -746, max: -700, noNaN: true }),
      fc.integer({ min: -1100, max: 1024 }).map((k) => k * Math.LN2),
    )
    fc.assert(
      fc.property(anywhere, (x) => {
        expect(portableExp(x)).toBe(Math.exp(x))
      }),
      { seed: 3, numRuns: 3000 },
    )
  })
})
