import { TestMemory } from '@router/conformance'
import { WyRand, instantiateKernel, portableExp } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { moduleHex } from './kernel-module.js'

interface Exponentials {
  readonly exponentials: (params: number, costs: number, count: number, weights: number, out: number) => void
}

const capacity = 1001
const memory = new TestMemory({ pages: 2 })
const kernel = instantiateKernel<Exponentials>(moduleHex, memory.webAssemblyMemory)!
const params = memory.place(new Float64Array(2))
const costs = memory.place(new Float64Array(capacity))
const weights = memory.place(new Float64Array(capacity))
const sum = memory.place(new Float64Array(1))

/** Compares all weights and their sum with the SDK; what lies behind them stays. */
function check(values: readonly number[], scale = 1, shift = 0): void {
  for (let from = 0; from < values.length; from += capacity - 1) {
    const chunk = values.slice(from, from + capacity - 1)
    params.set([scale, shift])
    costs.fill(-1).set(chunk)
    weights.fill(-7)
    const { byteOffset } = costs
    kernel.exponentials(params.byteOffset, byteOffset, chunk.length, weights.byteOffset, sum.byteOffset)
    const expected = chunk.map((cost) => portableExp(cost * scale - shift))
    const wrong = expected.findIndex((weight, row) => !Object.is(weight, weights[row]))
    if (wrong >= 0)
      expect({ x: chunk[wrong], weight: weights[wrong] }).toEqual({
        x: chunk[wrong],
        weight: expected[wrong],
      })
    expect(sum[0]).toBe(expected.reduce((total, weight) => total + weight, 0))
    expect(weights[chunk.length]).toBe(-7)
  }
}

/** The doubles around a value, `each` to both sides. */
function around(value: number, each: number): number[] {
  const bits = new BigInt64Array(Float64Array.of(value).buffer)[0]!
  const neighbours = BigInt64Array.from({ length: 2 * each + 1 }, (_, index) => bits + BigInt(index - each))
  return [...new Float64Array(neighbours.buffer)]
}

describe('weights of the SIMD kernel have the bits of portableExp', () => {
  it('100,000 values from -750 to 0', () => {
    const random = new WyRand(1n)
    check(Array.from({ length: 100_000 }, () => -750 * random.unit()))
  })

  it('small values, where the argument is not reduced', () => {
    const random = new WyRand(2n)
    check(Array.from({ length: 20_000 }, () => -random.unit() * 0.36))
    check(Array.from({ length: 5000 }, () => -(2 ** -(random.unit() * 60))))
  })

  it.each([
    ['half of ln 2, where the reduction starts', -Math.LN2 / 2],
    ['the first double that is reduced', -0.346_573_591_232_299_8],
    ['three halves of ln 2', -1.5 * Math.LN2],
    ['2^-28, where 1 + x is the result', -(2 ** -28)],
    ['the smallest normal result', -1022 * Math.LN2],
    ['where the scale is applied in two steps', -1021 * Math.LN2],
    ['where the scale is applied in two steps, rounded', -1021.5 * Math.LN2],
    ['where results vanish', -745.133_219_101_941_1],
    ['-1', -1],
  ])('the doubles around %s', (_name, value) => check(around(value, 500)))

  it('every step of the reduction, at its borders', () => {
    const borders = Array.from({ length: 1080 }, (_, step) => -(step + 0.5) * Math.LN2)
    check(borders.flatMap((border) => around(border, 2)))
  })

  it('subnormal results', () => {
    const random = new WyRand(3n)
    check(Array.from({ length: 10_000 }, () => -708 - random.unit() * 38))
  })

  it('0, -0 and values far below', () => {
    check([0, -0, -5e-324, -746, -1e5, -1e300, -Number.MAX_VALUE])
  })

  it('odd and even numbers of rows, scaled and shifted', () => {
    const random = new WyRand(4n)
    for (let count = 1; count <= 33; count++) {
      const values = Array.from({ length: count }, () => 10 + random.unit() * 90)
      const scale = -1 / (90 * 0.7)
      check(values, scale, 10 * scale)
    }
  })
})
