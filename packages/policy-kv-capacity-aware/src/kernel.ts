import type { CandidatesFor, WyRand } from '@router/sdk'
import type { CapacityTerms } from './capacity-terms.js'
import type { RankSet } from './rank-set.js'

type ScoredCandidates = CandidatesFor<readonly ['load', 'preferredTaint']>
type PickedCandidates = CandidatesFor<readonly ['load', 'capacity']>

/**
 * `(D + W x n) x m` of each row; a row without a projection has D = n = 0. `O(n)`, allocates nothing.
 * @param costs row-aligned output, the first `count` entries are written
 */
export function scoreRows(terms: CapacityTerms, candidates: ScoredCandidates, costs: Float64Array): void {
  const { count, load, preferredTaint } = candidates
  const { isAvailable, decodeCostBlocks, activeRequests } = load
  const { applies, multiplier } = preferredTaint
  const { requestWeight } = terms
  for (let row = 0; row < count; row++) {
    const isLoadKnown = isAvailable[row] === 1
    const blocks = isLoadKnown ? decodeCostBlocks[row]! : 0
    const requests = isLoadKnown ? activeRequests[row]! : 0
    const cost = blocks + requestWeight * requests
    costs[row] = applies ? cost * multiplier[row]! : cost
  }
}

/**
 * Row of the lowest `(requests, cost)` among the rows that fit, uniform over exact ties; -1 when none fits. A row fits when
 * `D <= fraction x capacity`, or when either of the two is unknown (NaN). `O(n)`, allocates nothing.
 * @param costs row-aligned totals
 */
export function pickFitting(
  terms: CapacityTerms,
  candidates: PickedCandidates,
  costs: Float64Array,
  random: WyRand,
): number {
  const { count, canonicalRows, load, capacity } = candidates
  const { isAvailable, allAvailable, decodeCostBlocks, activeRequests } = load
  const { totalKvBlocks } = capacity
  const { fraction, configuredBlocks, prefersFewRequests } = terms
  let picked = -1
  let leastRequests = Infinity
  let leastCost = Infinity
  let ties = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    const isLoadKnown = allAvailable || isAvailable[row] === 1
    // The key first: most rows are beaten, and then whether they fit no longer matters.
    const requests = prefersFewRequests && isLoadKnown ? activeRequests[row]! : 0
    const cost = costs[row]!
    if (requests > leastRequests || (requests === leastRequests && cost > leastCost)) continue
    const blocks = isLoadKnown ? decodeCostBlocks[row]! : 0
    const advertised = totalKvBlocks[row]!
    if (blocks > fraction * (advertised > 0 ? advertised : configuredBlocks)) continue
    ties = requests === leastRequests && cost === leastCost ? ties + 1 : 1
    if (ties === 1 || random.below(ties) === 0) picked = row
    leastRequests = requests
    leastCost = cost
  }
  return picked
}

/** Row of the smallest D, uniform over exact ties: the fall-back when no row fits. `O(n)`, allocates nothing. */
export function pickLeastBlocks(candidates: PickedCandidates, random: WyRand): number {
  const { count, canonicalRows, load } = candidates
  const { isAvailable, decodeCostBlocks } = load
  let picked = -1
  let leastBlocks = Infinity
  let ties = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    const blocks = isAvailable[row] === 1 ? decodeCostBlocks[row]! : 0
    if (blocks > leastBlocks) continue
    ties = blocks === leastBlocks ? ties + 1 : 1
    if (ties === 1 || random.below(ties) === 0) picked = row
    leastBlocks = blocks
  }
  return picked
}

/**
 * Canonical index, at or after `start`, of the first row that advertises no capacity and is not marked; -1 when there is none.
 * `O(n)`, allocates nothing.
 * @param isMarked by canonical index
 */
export function nextUnmarked(candidates: PickedCandidates, start: number, isMarked: Uint8Array): number {
  const { count, canonicalRows, capacity } = candidates
  const { totalKvBlocks } = capacity
  for (let index = start; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    if (totalKvBlocks[row]! > 0 || isMarked[index] === 1) continue
    return index
  }
  return -1
}

/**
 * The same, with a set of ranks for the marks. Ranks are mostly met again in the order in which they were added, so each is first
 * looked for right after the one before it. `O(n)`, allocates nothing.
 */
export function nextUnwarned(candidates: PickedCandidates, start: number, warned: RankSet): number {
  const { count, canonicalRows, workerIdHigh, workerIdLow, dpRank, capacity } = candidates
  const { totalKvBlocks } = capacity
  const { size, workerIdHigh: warnedHigh, workerIdLow: warnedLow, dpRank: warnedRank } = warned
  let position = 0
  for (let index = start; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    if (totalKvBlocks[row]! > 0) continue
    const isNext =
      position < size &&
      warnedLow[position] === workerIdLow[row] &&
      warnedRank[position] === dpRank[row] &&
      warnedHigh[position] === workerIdHigh[row]
    if (!isNext) position = warned.positionOf(workerIdHigh[row]!, workerIdLow[row]!, dpRank[row]!)
    if (position < 0) return index
    position++
  }
  return -1
}
