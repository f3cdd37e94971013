import type { HandMadeRow } from '@router/conformance'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { build } from './built-policy.js'

const settings = { numRuns: 400, seed: 20_250 }

const rowArbitrary = fc.record({
  dpRank: fc.nat(3),
  workerId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  load: fc.oneof(
    { weight: 6, arbitrary: fc.record({ decodeCostBlocks: fc.nat(200), activeRequests: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.constant('unknown' as const) },
  ),
  totalKvBlocks: fc.constantFrom(0, 50, 100, 150),
  taintMultiplier: fc.double({ min: Math.exp(-1), max: Math.E, noNaN: true }),
})
const rowsArbitrary: fc.Arbitrary<HandMadeRow[]> = fc.uniqueArray(rowArbitrary, {
  minLength: 1,
  maxLength: 12,
  selector: ({ workerId, dpRank }) => `${workerId}.${dpRank}`,
})
const parametersArbitrary = fc.record({
  capacity_fraction: fc.constantFrom(null, 0, 0.5, 0.9, 1, 1.5),
  count_priority: fc.boolean(),
  decode_active_request_weight: fc.constantFrom(0, 1, 7.5, 32),
  capacity_blocks: fc.constantFrom(null, 80),
})

const nameOf = ({ workerId, dpRank = 0 }: HandMadeRow): string => `${workerId}.${dpRank}`
const blocksOf = ({ load }: HandMadeRow): number => (load === 'unknown' ? 0 : (load?.decodeCostBlocks ?? 0))

describe('properties', () => {
  it('a row that fits beats every row that does not', () => {
    const property = fc.property(rowsArbitrary, parametersArbitrary, (rows, parameters) => {
      const { capacity_fraction: fraction, capacity_blocks: configured } = parameters
      const fits = (row: HandMadeRow): boolean => {
        const capacity = row.totalKvBlocks! > 0 ? row.totalKvBlocks! : configured
        return fraction === null || capacity === null || blocksOf(row) <= fraction * capacity
      }
      const { pick } = build(parameters).run(rows)
      expect(fits(rows.find((row) => nameOf(row) === pick)!)).toBe(rows.some(fits))
    })
    fc.assert(property, settings)
  })

  it('permuted rows give the same pick', () => {
    const permuted = rowsArbitrary.chain((rows) =>
      fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length })),
    )
    const property = fc.property(permuted, parametersArbitrary, ([rows, others], parameters) => {
      const left = build(parameters)
      const right = build(parameters)
      for (let selection = 0; selection < 3; selection++)
        expect(right.run(others).pick).toBe(left.run(rows).pick)
    })
    fc.assert(property, settings)
  })

  it('more load never helps a row', () => {
    const drawn = fc.tuple(rowsArbitrary, parametersArbitrary, fc.nat(11), fc.nat(60), fc.nat(3))
    const property = fc.property(drawn, ([rows, parameters, at, blocks, requests]) => {
      const index = at % rows.length
      const row = rows[index]!
      const load = row.load === 'unknown' ? {} : row.load!
      const heavier: HandMadeRow = {
        ...row,
        load: {
          decodeCostBlocks: (load.decodeCostBlocks ?? 0) + blocks,
          activeRequests: (load.activeRequests ?? 0) + requests,
        },
      }
      const isTied = (candidates: HandMadeRow[]): boolean =>
        build(parameters).explain(candidates).names.includes(nameOf(row))
      if (isTied(rows.with(index, heavier))) expect(isTied(rows)).toBe(true)
    })
    fc.assert(property, settings)
  })

  it('costs are finite and the pick is explained', () => {
    const property = fc.property(rowsArbitrary, parametersArbitrary, (rows, parameters) => {
      const { pick, costs } = build(parameters).run(rows)
      expect(costs.every(Number.isFinite)).toBe(true)
      expect(build(parameters).explain(rows).names).toContain(pick)
    })
    fc.assert(property, settings)
  })

  it('a configured capacity never overrides an advertised one', () => {
    const advertised = rowsArbitrary.map((rows) => rows.map((row) => ({ ...row, totalKvBlocks: 100 })))
    const property = fc.property(advertised, fc.integer({ min: 1, max: 1000 }), (rows, capacity_blocks) => {
      expect(build({ capacity_blocks }).run(rows)).toEqual(build().run(rows))
    })
    fc.assert(property, settings)
  })
})
