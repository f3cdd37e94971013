import type { HandMadeRow } from '@router/conformance'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { build, buildDefault } from './built-policy.js'

const settings = { numRuns: 300, seed: 20_250 }

const rowArbitrary = fc.record({
  workerId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  dpRank: fc.nat(3),
  cache: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        deviceOverlapBlocks: fc.nat(60),
        hostOverlapBlocks: fc.nat(20),
        diskOverlapBlocks: fc.nat(20),
      }),
    },
    { weight: 1, arbitrary: fc.constant('unknown' as const) },
  ),
  load: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        activePrefillTokens: fc.nat(20_000),
        decodeCostBlocks: fc.nat(200),
        activeRequests: fc.nat(30),
      }),
    },
    { weight: 1, arbitrary: fc.constant('unknown' as const) },
  ),
  taintMultiplier: fc.double({ min: Math.exp(-1), max: Math.E, noNaN: true }),
})
const rowsArbitrary: fc.Arbitrary<HandMadeRow[]> = fc.uniqueArray(rowArbitrary, {
  minLength: 1,
  maxLength: 12,
  selector: ({ workerId, dpRank }) => `${workerId}.${dpRank}`,
})
const parametersArbitrary = fc.record({
  overlap_score_credit: fc.constantFrom(0, 0.5, 1, 1.5),
  overlap_score_credit_decay: fc.constantFrom(0, 0.6),
  decode_active_request_weight: fc.constantFrom(0, 0.7, 32),
  router_temperature: fc.constantFrom(0, 0, 0.7),
})
const factsArbitrary = fc.record({
  promptTokens: fc.nat(1200),
  blockSize: fc.constantFrom(16, 17),
  tracksPrefillTokens: fc.boolean(),
})
const caseArbitrary = fc.tuple(rowsArbitrary, parametersArbitrary, factsArbitrary)

describe('properties', () => {
  it('weight 0 is the default policy, bit for bit', () => {
    const property = fc.property(caseArbitrary, ([rows, parameters, facts]) => {
      const actual = build({ ...parameters, prefix_affinity_weight: 0 }).run(rows, facts)
      expect(actual).toEqual(buildDefault(parameters).run(rows, facts))
    })
    fc.assert(property, settings)
  })

  it('an inherited weight of 4 in the default policy decides the same', () => {
    const property = fc.property(caseArbitrary, ([rows, parameters, facts]) => {
      const router = { prefix_affinity_weight: 4 }
      expect(build(parameters).run(rows, facts)).toEqual(
        buildDefault(parameters, { router }).run(rows, facts),
      )
    })
    fc.assert(property, settings)
  })

  it('permuted rows give the same pick', () => {
    const permuted = caseArbitrary.chain(([rows, parameters, facts]) =>
      fc.tuple(
        fc.constant({ rows, parameters, facts }),
        fc.shuffledSubarray(rows, { minLength: rows.length }),
      ),
    )
    const property = fc.property(permuted, ([{ rows, parameters, facts }, others]) => {
      const left = build(parameters)
      const right = build(parameters)
      for (let selection = 0; selection < 3; selection++) {
        expect(right.run(others, facts).pick).toBe(left.run(rows, facts).pick)
      }
    })
    fc.assert(property, settings)
  })

  it('more load never makes a row cheaper', () => {
    const heavier = fc.record({ tokens: fc.nat(5000), blocks: fc.nat(60), requests: fc.nat(5) })
    const property = fc.property(
      caseArbitrary,
      heavier,
      ([[row], parameters, facts], { tokens, blocks, requests }) => {
        const load = row!.load === 'unknown' ? {} : row!.load!
        const known = { ...row!, load }
        const loaded = {
          ...row!,
          load: {
            activePrefillTokens: (load.activePrefillTokens ?? 0) + tokens,
            decodeCostBlocks: (load.decodeCostBlocks ?? 0) + blocks,
            activeRequests: (load.activeRequests ?? 0) + requests,
          },
        }
        const costOf = (one: HandMadeRow): number => build(parameters).run([one], facts).costs[0]!
        expect(costOf(loaded)).toBeGreaterThanOrEqual(costOf(known))
      },
    )
    fc.assert(property, settings)
  })

  it('a larger device overlap never makes a row dearer', () => {
    const property = fc.property(caseArbitrary, fc.nat(40), ([[row], parameters, facts], blocks) => {
      const cache = row!.cache === 'unknown' ? { deviceOverlapBlocks: 0 } : row!.cache!
      const warmer = { ...cache, deviceOverlapBlocks: cache.deviceOverlapBlocks! + blocks, estimateTokens: 0 }
      const costOf = (one: HandMadeRow): number =>
        build(parameters).run([one], facts, { hasTierMatches: true }).costs[0]!
      const plain = costOf({ ...row!, cache: { ...cache, estimateTokens: 0 } })
      expect(costOf({ ...row!, cache: warmer })).toBeLessThanOrEqual(plain)
    })
    fc.assert(property, settings)
  })

  it('costs are finite', () => {
    const property = fc.property(caseArbitrary, ([rows, parameters, facts]) => {
      expect(build(parameters).run(rows, facts).costs.every(Number.isFinite)).toBe(true)
    })
    fc.assert(property, settings)
  })
})
