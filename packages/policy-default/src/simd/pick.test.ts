import { TestMemory } from '@router/conformance'
import {
  WyRand,
  instantiateKernel,
  pickByProbability,
  pickMinimumCost,
  pickSoftmax,
  portableExp,
} from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawsBetween } from '../../test/column-fleet.js'
import { moduleHex } from './kernel-module.js'
import { SimdKernel } from './loader.js'

const capacity = 4100
const memory = new TestMemory({ pages: 4 })
const simd = SimdKernel.over(memory)!
memory.reserveRows(capacity)
memory.releaseColumns()
const totals = memory.place(new Float64Array(capacity + 1)).subarray(1)

/** Puts costs into the memory, behind them left-overs: NaN in the first test, cheaper than everything in the second. */
function withLeftOvers(costs: readonly number[], check: (column: Float64Array) => void): void {
  for (const leftOver of [NaN, -1e300]) {
    totals.fill(leftOver)
    totals.set(costs)
    expect(simd.canRead(totals)).toBe(true)
    check(totals)
  }
}

/** The reservoir as it is written down: a strictly lower cost resets the ties, an equal one replaces with chance 1 / ties. */
function reservoir(costs: readonly number[], random: WyRand): number {
  let best = Infinity
  let chosen = -1
  let ties = 0
  costs.forEach((cost, row) => {
    if (cost > best) return
    ties = cost < best ? 1 : ties + 1
    if (ties === 1 || random.below(ties) === 0) chosen = row
    best = cost
  })
  return chosen
}

function checkMinimum(costs: readonly number[], seed: bigint): void {
  withLeftOvers(costs, (column) => {
    const [random, sdk, own] = [new WyRand(seed), new WyRand(seed), new WyRand(seed)]
    const actual = [simd.pickMinimum(column, costs.length, random), random.state]
    const expected = [reservoir(costs, own), own.state]
    const ofSdk = [pickMinimumCost(column, costs.length, undefined, sdk), sdk.state]
    if (String(actual) === String(expected) && String(ofSdk) === String(expected)) return
    expect({ actual, ofSdk }, costs.join()).toEqual({ actual: expected, ofSdk: expected })
  })
}

describe('SimdKernel.pickMinimum picks and draws as the reservoir', () => {
  const seeds = [42n, 7n, 123_456_789n]
  const counts = Array.from({ length: 40 }, (_, index) => index + 1)

  it('all rows tie: one draw a row but the first', () => {
    for (const count of counts) {
      const costs = Array.from({ length: count }, () => 5)
      for (const seed of seeds) checkMinimum(costs, seed)
      withLeftOvers(costs, (column) => {
        const random = new WyRand(42n)
        simd.pickMinimum(column, count, random)
        expect(drawsBetween(42n, random.state)).toBe(count - 1)
      })
    }
  })

  it('a minimum in every place, alone and tied, draws for the ties only', () => {
    for (const count of counts) {
      for (let at = 0; at < count; at++) {
        const costs = Array.from({ length: count }, (_, row) => (row === at ? 1 : 9 - row / 100))
        checkMinimum(costs, 42n)
        checkMinimum(costs.with((at * 7) % count, 1), 42n)
      }
    }
  })

  it('ties among costs that are beaten later draw too, in every phase of a group of four', () => {
    for (const count of counts) {
      for (let fall = 0; fall < count; fall++) {
        // A prefix that ties, then one step down, and ties again.
        checkMinimum(
          Array.from({ length: count }, (_, row) => (row < fall ? 2 : 1)),
          7n,
        )
        // Falling costs in steps of three rows.
        checkMinimum(
          Array.from({ length: count }, (_, row) => (row <= fall ? -Math.floor(row / 3) : 50)),
          7n,
        )
      }
    }
  })

  it('random costs with few and many ties', () => {
    const value = fc.oneof(fc.nat(2), fc.nat(1000), fc.constantFrom(0, -0, 1e308, -1e308, 5e-324))
    const property = fc.property(
      fc.array(value, { minLength: 1, maxLength: 40 }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      checkMinimum,
    )
    fc.assert(property, { numRuns: 1500, seed: 20_250 })
  })

  it('a large fleet', () => {
    const random = new WyRand(11n)
    for (let round = 0; round < 6; round++)
      checkMinimum(
        Array.from({ length: 4001 + round }, () => random.below(60)),
        BigInt(round),
      )
  })
})

/** What the SIMD picker does; a `-1` leaves the row to the SDK's picker, as the policy does. */
function checkSoftmax(costs: readonly number[], temperature: number, seed: bigint): number {
  let picked = NaN
  withLeftOvers(costs, (column) => {
    const [random, sdk] = [new WyRand(seed), new WyRand(seed)]
    picked = simd.pickSoftmax(costs.length, temperature, random)
    if (picked === -1) {
      expect(random.state).toBe(seed)
      return
    }
    const weights = new Float64Array(costs.length)
    const row = pickSoftmax(column, costs.length, undefined, temperature, weights, sdk)
    if (picked === row && random.state === sdk.state && drawsBetween(seed, random.state) === 1) return
    const title = `${temperature}: ${costs.join()}`
    expect({ row: picked, state: random.state }, title).toEqual({ row, state: sdk.state })
  })
  return picked
}

describe('SimdKernel.pickSoftmax picks and draws as the SDK', () => {
  const temperatures = [1e-9, 1e-3, 0.1, 0.7, 1, 5, 1e6, 1e300]

  it('equal costs: one draw, every row', () => {
    for (let count = 1; count <= 40; count++) {
      for (const cost of [0, -0, 3, -1e308, 1e308]) {
        const costs = Array.from({ length: count }, () => cost)
        for (let seed = 0n; seed < 4n; seed++) checkSoftmax(costs, 0.7, seed)
      }
    }
    const three = new Set(Array.from({ length: 60 }, (_, seed) => checkSoftmax([4, 4, 4], 1, BigInt(seed))))
    expect([...three].toSorted()).toEqual([0, 1, 2])
  })

  it('random costs at every temperature, 1 to 40 rows', () => {
    const random = new WyRand(12n)
    for (let count = 1; count <= 40; count++) {
      for (const temperature of temperatures) {
        for (let round = 0; round < 6; round++) {
          const scale = [1, 1000, 1e-12, 1e15][random.below(4)]!
          const costs = Array.from({ length: count }, () => (random.unit() - 0.25) * scale)
          checkSoftmax(costs, temperature, random.next())
        }
      }
    }
  })

  it('a minimum in every place at a temperature that leaves no chance to the others', () => {
    for (let count = 1; count <= 40; count++)
      for (let at = 0; at < count; at++) {
        const costs = Array.from({ length: count }, (_, row) => (row === at ? 1 : 2 + row))
        expect(checkSoftmax(costs, 1e-9, BigInt(at))).toBe(at)
      }
  })

  it('a large fleet', () => {
    const random = new WyRand(13n)
    for (const temperature of temperatures)
      checkSoftmax(
        Array.from({ length: 4001 }, () => random.unit() * 500),
        temperature,
        random.next(),
      )
  })

  it('leaves a spread beyond the largest double to the plain picker, without a draw', () => {
    expect(checkSoftmax([-Number.MAX_VALUE, Number.MAX_VALUE], 1, 3n)).toBe(-1)
    expect(checkSoftmax([-1e308, 5, 1e308], 0.7, 3n)).toBe(-1)
    expect(checkSoftmax([-8e307, 5, 8e307], 0.7, 3n)).toBeGreaterThanOrEqual(0)
  })

  it('leaves a spread x temperature that vanishes to the plain picker, without a draw', () => {
    // 1 / (spread x temperature) overflows, or its product with the lowest cost does: the weights would be NaN.
    expect(checkSoftmax([0, 1e-310], 0.7, 3n)).toBe(-1)
    expect(checkSoftmax([5, 6], 1e-308, 3n)).toBe(-1)
    expect(checkSoftmax([-5, -4], 1e-308, 3n)).toBe(-1)
    expect(checkSoftmax([5, 6], 1e-300, 3n)).toBe(0)
  })

  it('random costs of any size, random temperatures', () => {
    const cost = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(3))
    const property = fc.property(
      fc.array(cost, { minLength: 1, maxLength: 40 }),
      fc.double({ min: 5e-324, max: 1e300, noNaN: true }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      (costs, temperature, seed) => {
        checkSoftmax(costs, temperature, seed)
      },
    )
    fc.assert(property, { numRuns: 1500, seed: 20_250 })
  })
})

describe('the SIMD picks', () => {
  it('read nothing past the rows: costs at the very end of the memory', () => {
    for (let count = 1; count <= 9; count++) {
      const { buffer } = memory
      const column = new Float64Array(buffer, buffer.byteLength - count * 8, count)
      column.forEach((_, row) => (column[row] = 9 - row))
      expect(simd.canRead(column)).toBe(true)
      expect(simd.pickMinimum(column, count, new WyRand(1n))).toBe(count - 1)
      expect(simd.pickSoftmax(count, 1e-9, new WyRand(1n))).toBe(count - 1)
    }
  })
})

interface PickKernel {
  readonly pickByProbability: (params: number, weights: number, count: number) => number
  readonly exponentials: (params: number, costs: number, count: number, weights: number, out: number) => void
}

const chunkSize = 1000
const kernel = instantiateKernel<PickKernel>(moduleHex, memory.webAssemblyMemory)!
const params = memory.place(new Float64Array(2))
const exponents = memory.place(new Float64Array(chunkSize + 1))
const weights = memory.place(new Float64Array(chunkSize + 1))
const sum = memory.place(new Float64Array(1))

/** Compares all weights and their sum with the SDK; what lies behind them stays. */
function checkWeights(values: readonly number[], scale = 1, shift = 0): void {
  for (let from = 0; from < values.length; from += chunkSize) {
    const chunk = values.slice(from, from + chunkSize)
    params.set([scale, shift])
    exponents.fill(-1).set(chunk)
    weights.fill(-7)
    const { byteOffset } = exponents
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
    checkWeights(Array.from({ length: 100_000 }, () => -750 * random.unit()))
  })

  it('small values, where the argument is not reduced', () => {
    const random = new WyRand(2n)
    checkWeights(Array.from({ length: 20_000 }, () => -random.unit() * 0.36))
    checkWeights(Array.from({ length: 5000 }, () => -(2 ** -(random.unit() * 60))))
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
  ])('the doubles around %s', (_name, value) => checkWeights(around(value, 500)))

  it('every step of the reduction, at its borders', () => {
    const borders = Array.from({ length: 1080 }, (_, step) => -(step + 0.5) * Math.LN2)
    checkWeights(borders.flatMap((border) => around(border, 2)))
  })

  it('subnormal results', () => {
    const random = new WyRand(3n)
    checkWeights(Array.from({ length: 10_000 }, () => -708 - random.unit() * 38))
  })

  it('0, -0 and values far below', () => {
    checkWeights([0, -0, -5e-324, -746, -1e5, -1e300, -Number.MAX_VALUE])
  })

  it('odd and even numbers of rows, scaled and shifted', () => {
    const random = new WyRand(4n)
    for (let count = 1; count <= 33; count++) {
      const values = Array.from({ length: count }, () => 10 + random.unit() * 90)
      const scale = -1 / (90 * 0.7)
      checkWeights(values, scale, 10 * scale)
    }
  })
})

describe('the walk over probabilities is that of the SDK', () => {
  const rowOf = (count: number, total: number, uniform: number): number => {
    params.set([total, uniform])
    return kernel.pickByProbability(params.byteOffset, weights.byteOffset, count)
  }

  it('also where the uniform meets a border exactly', () => {
    for (let count = 1; count <= 16; count++) {
      weights.fill(1, 0, count)
      for (let eighth = 0; eighth < 8; eighth++) {
        const expected = pickByProbability(weights, count, undefined, count, eighth / 8)
        expect(rowOf(count, count, eighth / 8), `${count} rows, ${eighth}/8`).toBe(expected)
      }
    }
    weights.fill(1, 0, 4)
    expect([0, 0.25, 0.5, 0.75].map((uniform) => rowOf(4, 4, uniform))).toEqual([0, 0, 1, 2])
  })

  it('takes the last row when rounding leaves none', () => {
    for (let count = 1; count <= 9; count++) {
      weights.fill(0.1, 0, count).fill(1e300, count, count + 2)
      expect(rowOf(count, 10, 0.999)).toBe(count - 1)
    }
  })
})
