import { type HandMadeRow, handMadeContext, handMadeView } from '@router/conformance'
import { type RouterDefaults, routerDefaults, sharedHitsFrom } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { combinations } from '../test/column-fleet.js'
import { type FormulaRequest, formulaCosts } from '../test/formula.js'
import { CostTerms } from './cost-terms.js'
import type { DefaultCandidates } from './inputs.js'
import { minimumActivePrefill, scoreRows } from './kernel.js'

// Device blocks of 7.5 and 3.5 end half-way into a block; estimates differ from device blocks, one lies above the prompt.
const rows: readonly HandMadeRow[] = [
  row(1n, { device: 7.5, host: 2, disk: 1, blocks: 4, tokens: 72 }, [380, 9, 3], 0.7),
  row(2n, { device: 3.5, host: 0, disk: 5, blocks: 11.25, tokens: 4000 }, [19, 40, 0], Math.E),
  row(3n, { device: 0, host: 0, disk: 0, blocks: 0, tokens: 0 }, [1000, 0, 17], 1),
  row(4n, { device: 200, host: 3, disk: 2, blocks: 150, tokens: 48 }, undefined, 1 / Math.E),
  row(5n, undefined, [57, 3, 2], 1.3),
  row(6n, undefined, undefined, 0.5),
]

function row(
  workerId: bigint,
  cache: { device: number; host: number; disk: number; blocks: number; tokens: number } | undefined,
  load: readonly [number, number, number] | undefined,
  taintMultiplier: number,
): HandMadeRow {
  return {
    workerId,
    dpRank: 0,
    cache:
      cache === undefined
        ? 'unknown'
        : {
            deviceOverlapBlocks: cache.device,
            hostOverlapBlocks: cache.host,
            diskOverlapBlocks: cache.disk,
            estimateBlocks: cache.blocks,
            estimateTokens: cache.tokens,
          },
    load:
      load === undefined
        ? 'unknown'
        : { activePrefillTokens: load[0], decodeCostBlocks: load[1], activeRequests: load[2] },
    taintMultiplier,
  }
}

/** Cheap and warm: whatever reads past the last row moves a minimum or a cost. */
const leftOvers = [row(9n, { device: 999, host: 9, disk: 9, blocks: 999, tokens: 0 }, [-500, -500, 0], 0)]

const views = new Map<string, DefaultCandidates>()

/** The rows as a request sees them; made once a kind of request. */
function viewOf(request: FormulaRequest, withCache: boolean): DefaultCandidates {
  const { sharedHits, appliesTaints: taintApplies, hasTierMatches } = request
  const key = String([sharedHits, taintApplies, hasTierMatches, withCache])
  const known = views.get(key)
  if (known !== undefined) return known
  const view = handMadeView(rows, {
    groups: withCache ? ['load', 'preferredTaint', 'cache'] : ['load', 'preferredTaint'],
    hasTierMatches,
    taintApplies,
    ...(sharedHits === undefined ? {} : { sharedHits: sharedHitsFrom(sharedHits) }),
    leftOvers,
  }) as unknown as DefaultCandidates
  views.set(key, view)
  return view
}

function kernelCosts(weights: RouterDefaults, request: FormulaRequest, first: number, withCache: boolean) {
  const view = viewOf(request, withCache)
  const terms = new CostTerms({ ...request, routerDefaults, reservesRuntimeInputs: false }, weights)
  const { promptTokens, blockSize, tracks: tracksPrefillTokens } = request
  terms.prepare(handMadeContext(view as never, { promptTokens, blockSize, tracksPrefillTokens }), view)
  const costs = new Float64Array(rows.length + 2).fill(NaN)
  // NaN: without decay the minimum must not matter.
  scoreRows(terms, view, terms.usesDecay ? minimumActivePrefill(view) : NaN, first, costs)
  return { costs: [...costs], usesCache: terms.usesCache }
}

const requests = combinations<FormulaRequest>({
  role: ['prefill', 'aggregated', 'encode', 'decode'],
  conditionalDisaggregation: [false, true],
  promptTokens: [0, 1, 190],
  blockSize: [16, 17],
  tracks: [false, true],
  hasTierMatches: [false, true],
  sharedHits: [
    undefined,
    [
      [1, 3],
      [4, 9],
    ],
  ],
  appliesTaints: [false, true],
})
const weightSets = combinations<Partial<RouterDefaults>>({
  overlap_score_credit: [0, 1.5],
  overlap_score_credit_decay: [0, 0.6],
  decode_active_request_weight: [0, 0.7],
  shared_cache_multiplier: [0.5],
  prefill_load_scale: [1.1],
  prefix_affinity_weight: [0, 0.25],
})

describe('scoreRows', () => {
  it.each(
    combinations<{ role: string; tracks: boolean }>({
      role: ['prefill', 'aggregated', 'encode', 'decode'],
      tracks: [true, false],
    }),
  )('is the formula, bit for bit: role $role, tracking $tracks', ({ role, tracks }) => {
    for (const request of requests) {
      if (request.role !== role || request.tracks !== tracks) continue
      for (const set of weightSets) {
        const weights = { ...routerDefaults, ...set }
        const { costs } = kernelCosts(weights, request, 0, true)
        const expected = [...formulaCosts(weights, request, rows), NaN, NaN]
        if (expected.every((cost, index) => Object.is(cost, costs[index]))) continue
        expect(costs, JSON.stringify({ request, set })).toEqual(expected)
      }
    }
  })

  it('does not need the cache group where the parameters do not use it, and ignores it where it is reserved', () => {
    const request: FormulaRequest = { ...requests[0]!, promptTokens: 190, tracks: true, hasTierMatches: true }
    const loadOnly = { ...routerDefaults, overlap_score_credit: 0 }
    const bare = kernelCosts(loadOnly, request, 0, false)
    expect(bare.usesCache).toBe(false)
    expect(bare.costs).toEqual(kernelCosts(loadOnly, request, 0, true).costs)
    const decode: FormulaRequest = { ...request, role: 'decode' }
    expect(kernelCosts(routerDefaults, decode, 0, false).costs).toEqual(
      kernelCosts(routerDefaults, decode, 0, true).costs,
    )
  })

  it('scores from `first` on and leaves the rows before it alone', () => {
    const request = requests.find(({ role, tracks }) => role === 'prefill' && tracks)!
    const all = kernelCosts(routerDefaults, request, 0, true).costs
    for (let first = 0; first <= rows.length; first++) {
      const { costs } = kernelCosts(routerDefaults, request, first, true)
      expect(costs).toEqual(all.map((cost, index) => (index < first ? NaN : cost)))
    }
  })

  it('is the formula with weights of any size, overflows included', () => {
    const weight = fc.oneof(
      fc.constantFrom(0, 1, 1e300, Number.MAX_VALUE),
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    )
    const weightsArbitrary = fc.record({
      overlap_score_credit: weight,
      overlap_score_credit_decay: weight,
      prefill_load_scale: weight,
      decode_active_request_weight: weight,
      host_cache_hit_weight: weight,
      disk_cache_hit_weight: weight,
      shared_cache_multiplier: weight,
      prefix_affinity_weight: weight,
    })
    const property = fc.property(weightsArbitrary, fc.constantFrom(...requests), (drawn, request) => {
      const weights = { ...routerDefaults, ...drawn }
      const expected = formulaCosts(weights, request, rows)
      expect(kernelCosts(weights, request, 0, true).costs.slice(0, rows.length)).toEqual(expected)
    })
    fc.assert(property, { numRuns: 500, seed: 20_250 })
  })
})

describe('minimumActivePrefill', () => {
  const minimumOf = (candidates: readonly HandMadeRow[]): number =>
    minimumActivePrefill(handMadeView(candidates, { leftOvers }) as unknown as DefaultCandidates)

  it('is the smallest, wherever it stands, and never one of a left-over', () => {
    expect(minimumOf([rows[0]!, rows[1]!, rows[2]!])).toBe(19)
    expect(minimumOf([rows[1]!, rows[0]!])).toBe(19)
    expect(minimumOf([rows[2]!])).toBe(1000)
  })

  it('counts a row without a projection as 0', () => expect(minimumOf(rows)).toBe(0))
})
