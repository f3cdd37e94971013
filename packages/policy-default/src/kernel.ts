import { roundHalfAway, sharedHitsBeyond } from '@router/sdk'
import type { ColumnPlaces } from './column-places.js'
import type { CostTerms } from './cost-terms.js'
import type { DefaultCandidates } from './inputs.js'

/** Smallest active prefill over the rows, tokens; a row without a projection counts 0. `O(n)`, allocates nothing. */
export function minimumActivePrefill(candidates: DefaultCandidates): number {
  const { count, load } = candidates
  const { activePrefillTokens, isAvailable } = load
  let minimum = Infinity
  for (let row = 0; row < count; row++) {
    const active = isAvailable[row] === 1 ? activePrefillTokens[row]! : 0
    minimum = active < minimum ? active : minimum
  }
  return minimum
}

/**
 * The formula of the README for a request that uses the cache, tracks prefill and has no shared-cache hits, over rows that are all
 * known; without decay, request, affinity and taint terms. With `addRequestAndAffinity` it is what `scoreRows` writes, bit for bit,
 * faster: one buffer, no tests, and four rows a turn, so that what the engine loads and checks anew each turn is shared by four;
 * `| 0` spares a test for overflow.
 * @param at where the columns lie in `at.doubles`
 */
export function scoreKnownRows(terms: CostTerms, count: number, at: ColumnPlaces): void {
  const { promptTokens, blockSize, credit: c0, scale, hostWeight, diskWeight } = terms
  const doubles = at.doubles
  const active = at.active >> 3
  const decode = at.decode >> 3
  const estimateTokens = at.estimateTokens >> 3
  const deviceBlocks = (terms.hasTierMatches ? at.device : at.estimateBlocks) >> 3
  const host = at.host >> 3
  const disk = at.disk >> 3
  const costs = at.costs >> 3
  const fours = count & ~3
  for (let row = 0; row < fours; row += 4) {
    const cached0 = doubles[(estimateTokens + row) | 0]!
    const device0 = doubles[(deviceBlocks + row) | 0]!
    const credit0 =
      c0 * device0 + hostWeight * doubles[(host + row) | 0]! + diskWeight * doubles[(disk + row) | 0]!
    const uncached0 = promptTokens - cached0
    const raw0 = doubles[(active + row) | 0]! + (uncached0 > 0 ? uncached0 : 0) + cached0
    const prefill0 = raw0 / blockSize - credit0
    doubles[(costs + row) | 0] = scale * (prefill0 > 0 ? prefill0 : 0) + doubles[(decode + row) | 0]!

    const cached1 = doubles[(estimateTokens + row + 1) | 0]!
    const device1 = doubles[(deviceBlocks + row + 1) | 0]!
    const credit1 =
      c0 * device1 + hostWeight * doubles[(host + row + 1) | 0]! + diskWeight * doubles[(disk + row + 1) | 0]!
    const uncached1 = promptTokens - cached1
    const raw1 = doubles[(active + row + 1) | 0]! + (uncached1 > 0 ? uncached1 : 0) + cached1
    const prefill1 = raw1 / blockSize - credit1
    doubles[(costs + row + 1) | 0] = scale * (prefill1 > 0 ? prefill1 : 0) + doubles[(decode + row + 1) | 0]!

    const cached2 = doubles[(estimateTokens + row + 2) | 0]!
    const device2 = doubles[(deviceBlocks + row + 2) | 0]!
    const credit2 =
      c0 * device2 + hostWeight * doubles[(host + row + 2) | 0]! + diskWeight * doubles[(disk + row + 2) | 0]!
    const uncached2 = promptTokens - cached2
    const raw2 = doubles[(active + row + 2) | 0]! + (uncached2 > 0 ? uncached2 : 0) + cached2
    const prefill2 = raw2 / blockSize - credit2
    doubles[(costs + row + 2) | 0] = scale * (prefill2 > 0 ? prefill2 : 0) + doubles[(decode + row + 2) | 0]!

    const cached3 = doubles[(estimateTokens + row + 3) | 0]!
    const device3 = doubles[(deviceBlocks + row + 3) | 0]!
    const credit3 =
      c0 * device3 + hostWeight * doubles[(host + row + 3) | 0]! + diskWeight * doubles[(disk + row + 3) | 0]!
    const uncached3 = promptTokens - cached3
    const raw3 = doubles[(active + row + 3) | 0]! + (uncached3 > 0 ? uncached3 : 0) + cached3
    const prefill3 = raw3 / blockSize - credit3
    doubles[(costs + row + 3) | 0] = scale * (prefill3 > 0 ? prefill3 : 0) + doubles[(decode + row + 3) | 0]!
  }
  for (let row = fours; row < count; row++) {
    const cached = doubles[estimateTokens + row]!
    const device = doubles[deviceBlocks + row]!
    const credit = c0 * device + hostWeight * doubles[host + row]! + diskWeight * doubles[disk + row]!
    const uncached = promptTokens - cached
    const raw = doubles[active + row]! + (uncached > 0 ? uncached : 0) + cached
    const prefill = raw / blockSize - credit
    doubles[costs + row] = scale * (prefill > 0 ? prefill : 0) + doubles[decode + row]!
  }
}

/** Adds request weight x requests, then affinity weight x max(0, blocks - device), to the costs of known rows. */
export function addRequestAndAffinity(terms: CostTerms, count: number, at: ColumnPlaces): void {
  const { blocks, requestWeight } = terms
  const affinityWeight = terms.chargesAffinity ? terms.affinityWeight : 0
  const doubles = at.doubles
  const requests = at.requests >> 3
  const deviceBlocks = (terms.hasTierMatches ? at.device : at.estimateBlocks) >> 3
  const costs = at.costs >> 3
  for (let row = 0; row < count; row++) {
    const uncovered = blocks - doubles[deviceBlocks + row]!
    const affinity = affinityWeight * (uncovered > 0 ? uncovered : 0)
    doubles[costs + row] = doubles[costs + row]! + requestWeight * doubles[requests + row]! + affinity
  }
}

/**
 * The cost of each row, all terms: the formula of the README, line by line.
 * @param minimumPrefill smallest active prefill over the rows, tokens; unused without decay
 * @param first first row to score; those before it are left alone
 * @param costs row-aligned output, entries `first` to `count - 1` are written
 */
export function scoreRows(
  terms: CostTerms,
  candidates: DefaultCandidates,
  minimumPrefill: number,
  first: number,
  costs: Float64Array,
): void {
  const { promptTokens, blockSize, blocks, blocksForDivision, tracks, subtracts, usesDecay, usesCache } =
    terms
  const { credit: c0, decayWeight, scale, hostWeight, diskWeight, sharedMultiplier } = terms
  const { requestWeight, affinityWeight, chargesAffinity, appliesTaints } = terms
  const { count, load, preferredTaint } = candidates
  const { activePrefillTokens, decodeCostBlocks, activeRequests, isAvailable: knowsLoad } = load
  const multiplier = preferredTaint.multiplier
  // Without the cache group its columns are never read; any column stands in for them.
  const cache = usesCache ? candidates.cache : undefined
  const knowsCache = cache === undefined ? knowsLoad : cache.isAvailable
  const tierBlocks = cache === undefined ? multiplier : cache.deviceOverlapBlocks
  const deviceBlocks = cache === undefined || terms.hasTierMatches ? tierBlocks : cache.estimateBlocks
  const hostBlocks = cache === undefined ? multiplier : cache.hostOverlapBlocks
  const diskBlocks = cache === undefined ? multiplier : cache.diskOverlapBlocks
  const estimateTokens = cache === undefined ? multiplier : cache.estimateTokens
  const sharedHits = cache === undefined ? undefined : cache.sharedHits
  for (let row = first; row < count; row++) {
    const isLoadKnown = knowsLoad[row] === 1
    const isCacheKnown = usesCache && knowsCache[row] === 1
    const active = isLoadKnown ? activePrefillTokens[row]! : 0
    const decode = isLoadKnown ? decodeCostBlocks[row]! : 0
    const requests = isLoadKnown ? activeRequests[row]! : 0
    const device = isCacheKnown ? deviceBlocks[row]! : 0
    const host = isCacheKnown ? hostBlocks[row]! : 0
    const disk = isCacheKnown ? diskBlocks[row]! : 0
    const cached = isCacheKnown ? estimateTokens[row]! : 0
    const above = active - minimumPrefill
    const perRequest = (above > 0 ? above : 0) / blockSize / blocksForDivision
    const decay = usesDecay ? 1 / (1 + decayWeight * perRequest) : 1
    const shared =
      sharedHits === undefined ? 0 : sharedHitsBeyond(sharedHits, roundHalfAway(device > 0 ? device : 0))
    const credit = c0 * decay * device + hostWeight * host + diskWeight * disk + sharedMultiplier * shared
    const request = requestWeight * requests
    const uncovered = blocks - device
    const affinity = chargesAffinity ? affinityWeight * (uncovered > 0 ? uncovered : 0) : 0
    const uncached = promptTokens - cached
    const known = active + (uncached > 0 ? uncached : 0) + cached
    const raw = tracks ? (isLoadKnown ? known : promptTokens) : 0
    const prefill = raw / blockSize - credit
    const offset = decode - credit
    const base = subtracts
      ? (offset > 0 ? offset : 0) + request + affinity
      : scale * (prefill > 0 ? prefill : 0) + decode + request + affinity
    costs[row] = appliesTaints ? base * multiplier[row]! : base
  }
}
