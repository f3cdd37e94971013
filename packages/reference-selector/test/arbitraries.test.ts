import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReferenceSelector, usesCache } from '../src/index.js'
import type { DefaultOptions } from '../src/index.js'
import { type RandomCase, caseArbitrary, optionsArbitrary, sequenceArbitrary } from '../src/parity/index.js'

/** What a random case exercises, by name. */
function featuresOf({ options, snapshot }: RandomCase<DefaultOptions>): string[] {
  const { request, constraints } = snapshot
  const { parameters, role } = options
  const outcome = new ReferenceSelector(options).select(snapshot)
  const kept = outcome.eligible.map((rank) =>
    snapshot.rows.find((row) => row.workerId === rank.workerId && row.dpRank === rank.dpRank),
  )
  const cache = usesCache(options)
  const prefills = new Set(kept.map((row) => row?.load?.activePrefillTokens ?? 0))
  const cachedTokens = Math.max(...kept.map((row) => row?.estimateTokens ?? 0))
  const features: Record<string, boolean> = {
    [`error ${outcome.error?.code}`]: true,
    [`role ${role}, tracks ${request.tracksPrefillTokens}, cache ${cache}`]: kept.length > 1,
    'no kept row': kept.length === 0,
    'more than 32 rows': kept.length > 32,
    'decay over different loads': parameters.overlap_score_credit_decay > 0 && prefills.size > 1 && cache,
    'shared hits in use':
      cache && (request.sharedHits?.length ?? 0) > 0 && parameters.shared_cache_multiplier > 0,
    'estimates only': cache && !request.hasTierMatches,
    'affinity charged': parameters.prefix_affinity_weight > 0 && cache,
    'affinity without credit': parameters.prefix_affinity_weight > 0 && parameters.overlap_score_credit === 0,
    'estimate above the prompt': cachedTokens > request.promptTokens,
    'unknown load': kept.some((row) => row?.load === null),
    'all loads known': kept.length > 3 && kept.every((row) => (row?.load ?? null) !== null),
    'unknown cache': kept.some((row) => row?.cacheUnknown === true),
    'all caches known': kept.length > 3 && kept.every((row) => row?.cacheUnknown !== true),
    'empty prompt': request.promptTokens === 0 && kept.length > 1,
    'block size not a power of two': !Number.isInteger(Math.log2(request.blockSize)),
    'tie, temperature 0': outcome.tieSet.length > 1 && parameters.router_temperature === 0,
    'tie, temperature above 0': outcome.tieSet.length > 1 && parameters.router_temperature > 0,
    'equal costs, temperature above 0':
      outcome.tieSet.length === kept.length && kept.length > 1 && parameters.router_temperature > 0,
    'a taint that repels': outcome.taintMultipliers?.some((multiplier) => multiplier > 1) ?? false,
    'a taint that attracts': outcome.taintMultipliers?.some((multiplier) => multiplier < 1) ?? false,
    'pin honoured': constraints.pinnedWorker !== null && outcome.result !== undefined,
    'affinity narrows': outcome.rejected.length > 0 && constraints.affinityTarget !== null && kept.length > 0,
    'enormous cost': outcome.costs.some((cost) => cost > 1e200),
    query: !request.tracked,
    'foreign facts': snapshot.rows.some(({ workerId }) => workerId === 78n),
  }
  return Object.keys(features).filter((name) => features[name])
}

describe('random cases', () => {
  const cases = fc.sample(caseArbitrary(optionsArbitrary()), { numRuns: 1500, seed: 20_250 })
  const counts = new Map<string, number>()
  for (const feature of cases.flatMap(featuresOf)) counts.set(feature, (counts.get(feature) ?? 0) + 1)

  const codes = [
    'ROUTER_NO_ENDPOINTS',
    'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
    'ROUTER_PINNED_WORKER_OVERLOADED',
    'ROUTER_PINNED_WORKER_NOT_ALLOWED',
    'ROUTER_NON_FINITE_COST',
  ]
  const paths = ['aggregated', 'prefill', 'decode', 'encode'].flatMap((role) =>
    [true, false].flatMap((tracks) =>
      [true, false].map((cache) => `role ${role}, tracks ${tracks}, cache ${cache}`),
    ),
  )
  it.each([
    ...codes.map((code) => `error ${code}`),
    ...paths,
    'no kept row',
    'more than 32 rows',
    'decay over different loads',
    'shared hits in use',
    'estimates only',
    'affinity charged',
    'affinity without credit',
    'estimate above the prompt',
    'unknown load',
    'all loads known',
    'unknown cache',
    'all caches known',
    'empty prompt',
    'block size not a power of two',
    'tie, temperature 0',
    'tie, temperature above 0',
    'equal costs, temperature above 0',
    'a taint that repels',
    'a taint that attracts',
    'pin honoured',
    'affinity narrows',
    'enormous cost',
    'query',
    'foreign facts',
  ])('reach: %s', (feature) => {
    expect(counts.get(feature) ?? 0).toBeGreaterThan(1)
  })
})

describe('random sequences', () => {
  it('grow and shrink, and leave cheap rows behind', () => {
    const sequences = fc.sample(sequenceArbitrary(optionsArbitrary()), { numRuns: 200, seed: 20_250 })
    const shrinks = sequences.filter(({ options, snapshots }) => {
      const selector = new ReferenceSelector(options)
      const steps = snapshots.map((snapshot) => selector.select(snapshot).costs)
      return steps.some((costs, step) => {
        const before = step === 0 ? [] : steps[step - 1]!
        return costs.length > 0 && costs.length < before.length && Math.min(...before) < Math.min(...costs)
      })
    })
    expect(shrinks.length).toBeGreaterThan(50)
  })
})
