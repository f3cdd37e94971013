import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { permutationOf, scatter } from '../test/support/canonical.js'
import { ScriptedStream, drawOfUnit } from '../test/support/scripted-stream.js'
import {
  pickByProbability,
  pickByTarget,
  pickSoftmax,
  softmaxPicker,
  softmaxWeights,
  utilityWeights,
} from './softmax.js'
import { WyRand } from './wyrand.js'

const maximum = Number.MAX_VALUE

function probabilities(costs: readonly number[], temperature: number): number[] {
  const weights = new Float64Array(costs.length)
  const sum = softmaxWeights(Float64Array.from(costs), costs.length, undefined, temperature, weights)
  return Array.from(weights, (weight) => weight / sum)
}

function pick(costs: readonly number[], temperature: number, uniform: number): number {
  const weights = new Float64Array(costs.length)
  const random = new ScriptedStream([drawOfUnit(uniform)])
  return pickSoftmax(Float64Array.from(costs), costs.length, undefined, temperature, weights, random)
}

const costLists = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 12 })
const temperatures = fc.constantFrom(1e-3, 0.1, 0.7, 1, 3)

describe('softmaxWeights', () => {
  it.each([
    [[0, 1, 2], 1, [0.506480391055654, 0.3071958857184984, 0.1863237232258476]],
    [[10, 12, 20], 0.7, [0.5022277997734808, 0.377412787480932, 0.12035941274558734]],
    [[5, 5, 5], 0.7, [1 / 3, 1 / 3, 1 / 3]],
    [[0, 0, 5], 0.5, [0.4683105308334812, 0.4683105308334812, 0.06337893833303762]],
    [[-maximum, maximum], 1, [0.7310585786300049, 0.2689414213699951]],
    [[7], 0.2, [1]],
  ])('gives the known probabilities of %j at %d', (costs, temperature, expected) => {
    probabilities(costs, temperature).forEach((value, row) => expect(value).toBeCloseTo(expected[row]!, 14))
  })

  it('gives the best row weight 1 and the worst exp(-1 / temperature)', () => {
    const weights = new Float64Array(3)
    softmaxWeights(Float64Array.from([30, 10, 20]), 3, undefined, 0.5, weights)
    expect(weights[1]).toBeCloseTo(1, 14)
    expect(weights[0]).toBeCloseTo(Math.exp(-2), 14)
  })

  it('equals the published formula bit for bit', () => {
    const huge = fc.double({ min: -maximum, max: maximum, noNaN: true })
    const anyCosts = fc.array(fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), huge), {
      minLength: 2,
      maxLength: 9,
    })
    fc.assert(
      fc.property(anyCosts, temperatures, (costs, temperature) => {
        const lo = Math.min(...costs)
        const hi = Math.max(...costs)
        const mag = hi - lo < Infinity ? 1 : Math.max(Math.abs(lo), Math.abs(hi))
        const k = -1 / ((hi / mag - lo / mag) * temperature)
        const expected = costs.map((cost) => (lo === hi ? 1 : Math.exp((cost / mag) * k - (lo / mag) * k)))
        fc.pre(!expected.some(Number.isNaN))
        const weights = new Float64Array(costs.length)
        const sum = softmaxWeights(Float64Array.from(costs), costs.length, undefined, temperature, weights)
        expect(Array.from(weights)).toEqual(expected)
        expect(sum).toBe(expected.reduce((total, weight) => total + weight, 0))
      }),
      { seed: 4, numRuns: 1000 },
    )
  })

  it('depends on the spread alone: scaling and shifting costs by powers of two changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 2, maxLength: 9 }), (costs) => {
        const expected = probabilities(costs, 0.7)
        probabilities(
          costs.map((cost) => cost * 8 - 4096),
          0.7,
        ).forEach((value, row) => expect(value).toBeCloseTo(expected[row]!, 12))
      }),
      { seed: 1, numRuns: 300 },
    )
  })

  it('is a distribution in which a lower cost is never less likely, at any finite costs', () => {
    const anyCosts = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), {
      minLength: 1,
      maxLength: 12,
    })
    const anyTemperature = fc.double({ min: 5e-324, max: 1e300, noNaN: true })
    fc.assert(
      fc.property(
        fc.oneof(costLists, anyCosts),
        fc.oneof(temperatures, anyTemperature),
        (costs, temperature) => {
          const all = probabilities(costs, temperature)
          let total = 0
          for (const value of all) total += value
          expect(total).toBeCloseTo(1, 9)
          costs.forEach((cost, row) =>
            costs.forEach((other, otherRow) => {
              if (cost < other) expect(all[row]).toBeGreaterThanOrEqual(all[otherRow]!)
            }),
          )
        },
      ),
      { seed: 2, numRuns: 1000 },
    )
  })

  it.each([
    [[0, 5e-324], 1e-9],
    [[1, 1 + 2 ** -52], 1e-300],
    [[-1e300, 1e300, -1e300], 5e-324],
  ])('gives all weight to the lowest costs where the scale overflows: %j at %d', (costs, temperature) => {
    const lowest = Math.min(...costs)
    const share = 1 / costs.filter((cost) => cost === lowest).length
    expect(probabilities(costs, temperature)).toEqual(costs.map((cost) => (cost === lowest ? share : 0)))
  })

  it('reads and writes the first count rows only', () => {
    const weights = Float64Array.from([9, 9, 9, 9])
    softmaxWeights(Float64Array.from([1, 1, -5, 7]), 2, undefined, 1, weights)
    expect(Array.from(weights)).toEqual([1, 1, 9, 9])
  })
})

describe('pickSoftmax', () => {
  it.each([
    [
      [0, 1, 2],
      1,
      [
        [0, 0],
        [0.25, 0],
        [0.5, 0],
        [0.6, 1],
        [0.75, 1],
        [0.95, 2],
        [1 - 2 ** -53, 2],
      ],
    ],
    [
      [5, 5, 5],
      0.7,
      [
        [0, 0],
        [0.25, 0],
        [0.5, 1],
        [0.6, 1],
        [0.75, 2],
        [0.95, 2],
      ],
    ],
    [
      [-maximum, maximum],
      1,
      [
        [0, 0],
        [0.6, 0],
        [0.75, 1],
      ],
    ],
    [
      [1, 3],
      0.1,
      [
        [0.95, 0],
        [1 - 2 ** -53, 1],
      ],
    ],
  ] as const)('picks the known rows of %j at %d', (costs, temperature, picks) => {
    for (const [uniform, row] of picks)
      expect([uniform, pick(costs, temperature, uniform)]).toEqual([uniform, row])
  })

  it('takes a row whose cumulative probability equals the draw', () => {
    expect(pick([4, 4], 1, 0.5)).toBe(0)
    expect(pick([4, 4], 1, 0.5 + 2 ** -53)).toBe(1)
    expect(pick([4, 4, 4, 4], 1, 0.75)).toBe(2)
  })

  it('takes one draw per call, ties and single rows included', () => {
    for (const costs of [[1], [1, 1], [3, 2, 1]]) {
      const random = new ScriptedStream([0n, 0n])
      pickSoftmax(Float64Array.from(costs), costs.length, undefined, 1, new Float64Array(3), random)
      expect(random.draws).toBe(1)
    }
  })

  it('picks the same worker whatever the order of rows', () => {
    const cases = costLists.chain((costs) => permutationOf(costs.length).map((rows) => ({ costs, rows })))
    fc.assert(
      fc.property(
        cases,
        temperatures,
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        ({ costs, rows }, temperature, seed) => {
          const count = costs.length
          const weights = new Float64Array(count)
          const canonical = pickSoftmax(
            Float64Array.from(costs),
            count,
            undefined,
            temperature,
            weights,
            new WyRand(seed),
          )
          const row = pickSoftmax(scatter(costs, rows), count, rows, temperature, weights, new WyRand(seed))
          expect(row).toBe(rows[canonical])
        },
      ),
      { seed: 3, numRuns: 500 },
    )
  })
})

describe('pickByProbability', () => {
  it('falls to the last row in canonical order when rounding leaves none', () => {
    const weights = Float64Array.from([0.5, 0.25, 0.125])
    expect(pickByProbability(weights, 3, undefined, 1, 0.9)).toBe(2)
    expect(pickByProbability(weights, 3, Uint32Array.from([2, 0, 1]), 1, 0.9)).toBe(1)
  })
})

describe('softmaxPicker', () => {
  const view = (count: number) => ({ count, canonicalRows: undefined }) as never
  const context = { pinnedWorker: undefined } as never

  it('samples like pickSoftmax, also after the fleet has grown', () => {
    const picker = softmaxPicker(new WyRand(5n), 0.7)
    const random = new WyRand(5n)
    for (const count of [2, 9, 3]) {
      const costs = Float64Array.from({ length: count }, (_, row) => -row)
      for (let pick = 0; pick < 10; pick++) {
        const expected = pickSoftmax(costs, count, undefined, 0.7, new Float64Array(count), random)
        expect(picker.pick(context, view(count), costs)).toBe(expected)
      }
    }
  })

  it('returns a pinned row without a draw', () => {
    const random = new WyRand(5n)
    const pinned = { pinnedWorker: { workerId: 3n, dpRank: 1 } } as never
    expect(softmaxPicker(random, 0.7).pick(pinned, view(1), Float64Array.from([2]))).toBe(0)
    expect(random.state).toBe(5n)
  })

  it('is the minimum-cost picker at temperature 0', () => {
    const random = new WyRand(5n)
    expect(softmaxPicker(random, 0).pick(context, view(3), Float64Array.from([3, 1, 2]))).toBe(1)
    expect(random.state).toBe(5n)
  })

  it.each([-0.1, Number.NaN, Infinity])('refuses temperature %d', (temperature) => {
    expect(() => softmaxPicker(new WyRand(1n), temperature)).toThrow(RangeError)
  })
})

describe('utility sampling', () => {
  function pickUtility(utilities: readonly number[], temperature: number, uniform: number): number {
    const weights = new Float64Array(utilities.length)
    const sum = utilityWeights(
      Float64Array.from(utilities),
      utilities.length,
      undefined,
      temperature,
      weights,
    )
    return pickByTarget(weights, utilities.length, undefined, uniform * sum)
  }

  it('weighs by the distance to the best utility, absolutely', () => {
    const weights = new Float64Array(4)
    const sum = utilityWeights(Float64Array.from([0, 1, 2, 99]), 3, undefined, 1, weights)
    expect(Array.from(weights.subarray(0, 3))).toEqual([Math.exp(-2), Math.exp(-1), 1])
    expect(weights[3]).toBe(0)
    expect(sum).toBe(Math.exp(-2) + Math.exp(-1) + 1)
    utilityWeights(Float64Array.from([0, 10, 20]), 3, undefined, 10, weights)
    expect(Array.from(weights.subarray(0, 3))).toEqual([Math.exp(-2), Math.exp(-1), 1])
  })

  it.each([
    [0, 0],
    [0.4, 2],
    [0.773381802821399, 2],
    [0.09, 0],
    [0.3, 1],
  ])('picks the known row of u = %d', (uniform, row) => {
    expect(pickUtility([0, 1, 2], 1, uniform)).toBe(row)
  })

  it('passes on at a target that equals the cumulative weight, unlike the normalised softmax', () => {
    const weights = Float64Array.from([1, 1, 0])
    expect(pickByTarget(weights, 2, undefined, 1)).toBe(1)
    expect(pickByTarget(weights, 2, undefined, 2)).toBe(1)
    expect(pickByTarget(weights, 3, Uint32Array.from([2, 1, 0]), 0)).toBe(1)
    expect(pickByTarget(weights, 3, Uint32Array.from([2, 1, 0]), 3)).toBe(0)
  })

  it('sums in canonical order', () => {
    const weights = new Float64Array(3)
    const sum = utilityWeights(Float64Array.from([3, 1, 2]), 3, Uint32Array.from([1, 2, 0]), 1, weights)
    expect(Array.from(weights)).toEqual([1, Math.exp(-2), Math.exp(-1)])
    expect(sum).toBe(Math.exp(-2) + Math.exp(-1) + 1)
  })

  it('does not overflow', () => {
    expect(pickUtility([maximum, -maximum, maximum], 1e-9, 0.6)).toBe(2)
  })
})
