import { TestMemory } from '@router/conformance'
import { WyRand, pickMinimumCost, pickSoftmax } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawsBetween } from '../../test/column-fleet.js'
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
    const row = simd.pickMinimum(column, costs.length, random)
    const expected = reservoir(costs, own)
    const actual = { row, state: random.state }
    expect(actual, costs.join()).toEqual({ row: expected, state: own.state })
    expect(actual, costs.join()).toEqual({
      row: pickMinimumCost(column, costs.length, undefined, sdk),
      state: sdk.state,
    })
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
    const title = `${temperature}: ${costs.join()}`
    expect({ row: picked, state: random.state }, title).toEqual({ row, state: sdk.state })
    expect(drawsBetween(seed, random.state), title).toBe(1)
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
