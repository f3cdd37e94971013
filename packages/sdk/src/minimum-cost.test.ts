import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BigintStream } from '../test/support/bigint-stream.js'
import { permutationOf, scatter } from '../test/support/canonical.js'
import { minimumCostPicker, pickMinimumCost } from './minimum-cost.js'
import { WyRand } from './wyrand.js'

/** The reservoir as its definition reads, over costs in canonical order. */
function naiveReservoir(costs: readonly number[], random: BigintStream): number {
  let best = Infinity
  let ties = 0
  let winner = -1
  costs.forEach((cost, row) => {
    if (cost < best) {
      best = cost
      ties = 1
      winner = row
    } else if (cost === best) {
      ties++
      if (random.below(BigInt(ties)) === 0n) winner = row
    }
  })
  return winner
}

// Few different values, so that ties and late improvements are common; lengths cover the blocks of four and every tail.
const fewValues = fc.constantFrom(-1e300, -2.5, -1, -0, 0, 5e-324, 1, 1.5, 1e300)
const costLists = fc.oneof(
  fc.array(fewValues, { minLength: 1, maxLength: 9 }),
  fc.array(fewValues, { minLength: 10, maxLength: 70 }),
  fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 40 }),
)
const seeds = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('pickMinimumCost', () => {
  it('equals a naive reservoir, row and draws', () => {
    fc.assert(
      fc.property(costLists, seeds, (costs, seed) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        for (let pick = 0; pick < 3; pick++) {
          expect(pickMinimumCost(Float64Array.from(costs), costs.length, undefined, random)).toBe(
            naiveReservoir(costs, model),
          )
        }
        expect(random.next()).toBe(model.next())
      }),
      { seed: 1, numRuns: 2000 },
    )
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('finds every placement of equal minima among %d rows', (count) => {
    for (let mask = 1; mask < 2 ** count; mask++) {
      const costs = Array.from({ length: count }, (_, row) => ((mask >> row) & 1 ? 1 : 2 + row))
      const random = new WyRand(BigInt(mask))
      const model = new BigintStream(BigInt(mask))
      const row = pickMinimumCost(Float64Array.from(costs), count, undefined, random)
      expect([mask, row, random.next()]).toEqual([mask, naiveReservoir(costs, model), model.next()])
    }
  })

  it('picks the same worker whatever the order of rows', () => {
    const cases = costLists.chain((costs) => permutationOf(costs.length).map((rows) => ({ costs, rows })))
    fc.assert(
      fc.property(cases, seeds, ({ costs, rows }, seed) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        const row = pickMinimumCost(scatter(costs, rows), costs.length, rows, random)
        expect(row).toBe(rows[naiveReservoir(costs, model)])
        expect(random.next()).toBe(model.next())
      }),
      { seed: 2, numRuns: 1000 },
    )
  })

  it('never reads past count', () => {
    const costs = Float64Array.from([3, 2, 2, 4, 5, -1, 2, 2])
    for (let count = 1; count <= 5; count++) {
      const random = new WyRand(9n)
      const model = new BigintStream(9n)
      expect(pickMinimumCost(costs, count, undefined, random)).toBe(
        naiveReservoir(Array.from(costs.subarray(0, count)), model),
      )
      expect(random.next()).toBe(model.next())
    }
  })

  it('draws nothing for a single minimum, but for ties that are beaten later', () => {
    const drawsFor = (costs: number[]): number => {
      const random = new WyRand(1n)
      pickMinimumCost(Float64Array.from(costs), costs.length, undefined, random)
      const model = new BigintStream(1n)
      const next = random.next()
      let draws = 0
      while (model.next() !== next) draws++
      return draws
    }
    expect(drawsFor([7])).toBe(0)
    expect(drawsFor([9, 8, 7, 6, 5, 4])).toBe(0)
    expect(drawsFor([1, 2, 2, 2, 2, 2])).toBe(0)
    expect(drawsFor([2, 2, 1, 3])).toBe(1)
    expect(drawsFor([3, 3, 3, 2, 2, 1])).toBe(3)
    expect(drawsFor([-0, 0])).toBe(1)
  })

  it('is uniform over the ties', () => {
    const random = new WyRand(42n)
    const costs = Float64Array.from([1, 0, 2, 0, 0, 3, 0])
    const times = new Map<number, number>()
    for (let pick = 0; pick < 8000; pick++) {
      const row = pickMinimumCost(costs, costs.length, undefined, random)
      times.set(row, (times.get(row) ?? 0) + 1)
    }
    expect([...times.keys()].sort()).toEqual([1, 3, 4, 6])
    // Four standard deviations around 2,000.
    for (const count of times.values()) expect(Math.abs(count - 2000)).toBeLessThan(160)
  })

  it.each([
    [
      [1, 1, 1],
      [0, 2, 0, 0, 2, 1, 0, 0, 0, 1, 0, 1],
    ],
    [
      [2, 1, 1, 3, 1],
      [1, 4, 1, 1, 4, 2, 1, 1, 1, 2, 1, 2],
    ],
    [
      [3, 2, 2, 1, 1, 1],
      [4, 3, 4, 4, 3, 3, 3, 4, 4, 4, 4, 5],
    ],
  ])('gives the published picks of seed 42 for %j', (costs, picks) => {
    const random = new WyRand(42n)
    const column = Float64Array.from(costs)
    expect(picks.map(() => pickMinimumCost(column, costs.length, undefined, random))).toEqual(picks)
  })
})

describe('minimumCostPicker', () => {
  it('declares no inputs and reads count and order from the view', () => {
    const picker = minimumCostPicker(new WyRand(1n))
    expect(picker.inputs).toEqual([])
    const rows = { count: 3, canonicalRows: Uint32Array.from([2, 0, 1]) } as never
    expect(picker.pick(undefined as never, rows, Float64Array.from([5, 4, 3, 0]))).toBe(2)
  })
})
