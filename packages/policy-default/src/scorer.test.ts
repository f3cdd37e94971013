import { type HandMadeRow, TestMemory, handMadeContext, handMadeView } from '@router/conformance'
import { WyRand, requestBlocks, routerDefaults, sharedHitsFrom } from '@router/sdk'
import { describe, expect, it, vi } from 'vitest'
import {
  ColumnFleet,
  type FleetFlags,
  type TermsOptions,
  combinations,
  termsOf,
} from '../test/column-fleet.js'
import { CostTerms } from './cost-terms.js'
import type { DefaultCandidates } from './inputs.js'
import { minimumActivePrefill, scoreRows } from './kernel.js'
import { defaultCostScorer } from './scorer.js'
import { SimdKernel } from './simd/loader.js'

const capacity = 35
const contextOf = (options: TermsOptions) => {
  const { promptTokens = 1000, blockSize = 16, tracks: tracksPrefillTokens = true } = options
  const facts = { promptTokens, blockSize, tracksPrefillTokens }
  return handMadeContext(handMadeView([]), {
    ...facts,
    requestBlocks: requestBlocks(promptTokens, blockSize),
  })
}
const scorerOf = ({ role = 'aggregated', weights = {} }: TermsOptions, simd: SimdKernel | undefined) => {
  const scope = { role, conditionalDisaggregation: true, routerDefaults, reservesRuntimeInputs: false }
  return defaultCostScorer(new CostTerms(scope, { ...routerDefaults, ...weights }), simd)
}

interface Case extends TermsOptions, FleetFlags {
  readonly hasUnknown: boolean
}
const cases = combinations<Case>({
  role: ['prefill', 'aggregated'],
  tracks: [true, false],
  promptTokens: [0, 777, 1024],
  blockSize: [16, 17],
  hasTierMatches: [true, false],
  appliesTaints: [true, false],
  hasUnknown: [true, false],
  weights: [
    {},
    { overlap_score_credit: 1.5, overlap_score_credit_decay: 0.6 },
    { overlap_score_credit: 0.1, decode_active_request_weight: 0.7, prefill_load_scale: 1.3 },
    { prefix_affinity_weight: 0.25, host_cache_hit_weight: 0.9, disk_cache_hit_weight: 0.1 },
    { overlap_score_credit: 0, prefix_affinity_weight: 4 },
    { overlap_score_credit: 0 },
  ],
})

describe.each([
  ['SIMD kernel', true],
  ['plain loops over one buffer', false],
])('the scorer on the %s', (_name, webAssembly) => {
  const memory = new TestMemory({ webAssembly })
  const simd = SimdKernel.over(memory)
  const fleet = new ColumnFleet(memory, capacity)

  it('writes what the general loop writes, bit for bit, whatever the request', () => {
    const random = new WyRand(1n)
    for (const one of cases) {
      for (const poison of [NaN, -1e300]) {
        const count = 1 + random.below(33)
        fleet.fill(count, random, 'ordinary', one.hasUnknown, poison)
        const candidates = fleet.candidates(count, one)
        const terms = termsOf(candidates, one)
        const { costs } = fleet.doubles
        const expected = costs.slice()
        scoreRows(terms, candidates, terms.usesDecay ? minimumActivePrefill(candidates) : NaN, 0, expected)
        scorerOf(one, simd).score(contextOf(one), candidates, costs)
        const differs = expected.findIndex((cost, row) => !Object.is(cost, costs[row]))
        if (differs >= 0)
          expect([...costs], JSON.stringify({ ...one, count, differs })).toEqual([...expected])
      }
    }
  })

  it('subtracts credit of shared hits', () => {
    const options = { weights: { shared_cache_multiplier: 0.5, prefill_load_scale: 1 }, promptTokens: 160 }
    const idle: HandMadeRow = { workerId: 1n, cache: { deviceOverlapBlocks: 2, estimateTokens: 32 } }
    const view = handMadeView([idle], {
      sharedHits: sharedHitsFrom([[0, 6]]),
    }) as unknown as DefaultCandidates
    const costs = new Float64Array(1)
    scorerOf(options, simd).score(contextOf(options), view, costs)
    expect(costs[0]).toBe(10 - 2 - 0.5 * 4)
  })
})

describe('the scorer with a SIMD kernel', () => {
  const memory = new TestMemory()
  const simd = SimdKernel.over(memory)!
  const fleet = new ColumnFleet(memory, capacity)
  const outside = new ColumnFleet(new TestMemory(), capacity)
  const score = vi.spyOn(simd, 'score')
  const scorer = scorerOf({}, simd)
  const costsOf = (candidates: DefaultCandidates, costs: Float64Array): number[] => {
    costs.fill(NaN)
    scorer.score(contextOf({}), candidates, costs)
    return [...costs.subarray(0, candidates.count)]
  }

  it('runs it on columns in its memory, and the plain loops on views from elsewhere, turn by turn', () => {
    for (let round = 0; round < 4; round++) {
      fleet.fill(7, new WyRand(5n), 'ordinary', false, NaN)
      outside.fill(7, new WyRand(5n), 'ordinary', false, NaN)
      const rows = Array.from({ length: 7 }, (_, row): HandMadeRow => handMadeRow(fleet, row))
      score.mockClear()
      const inside = costsOf(fleet.candidates(7), fleet.doubles.costs)
      expect(score).toHaveBeenCalledTimes(1)
      expect(costsOf(outside.candidates(7), outside.doubles.costs)).toEqual(inside)
      const separate = handMadeView(rows, { hasTierMatches: true }) as unknown as DefaultCandidates
      expect(costsOf(separate, new Float64Array(7))).toEqual(inside)
      expect(score).toHaveBeenCalledTimes(1)
    }
  })
})

function handMadeRow({ doubles }: ColumnFleet, row: number): HandMadeRow {
  const { active, decode, requests, device, host, disk, estimateBlocks, estimateTokens } = doubles
  return {
    workerId: BigInt(row),
    load: {
      activePrefillTokens: active[row]!,
      decodeCostBlocks: decode[row]!,
      activeRequests: requests[row]!,
    },
    cache: {
      deviceOverlapBlocks: device[row]!,
      hostOverlapBlocks: host[row]!,
      diskOverlapBlocks: disk[row]!,
      estimateBlocks: estimateBlocks[row]!,
      estimateTokens: estimateTokens[row]!,
    },
  }
}
