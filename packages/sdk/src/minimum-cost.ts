import type { CandidateRows } from './candidates.js'
import type { WorkerPicker } from './components.js'
import type { WyRand } from './wyrand.js'

/**
 * Row of the lowest cost, uniform over exact ties (reservoir over canonical rows). A strictly falling or a single minimum
 * draws nothing; ties among values that are beaten later do draw. `O(n)`, allocates nothing.
 * @param costs row-aligned, finite, the first `count` entries are read; `count` >= 1
 * @param canonicalRows of the view; `undefined` = rows are in canonical order
 */
export function pickMinimumCost(
  costs: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  random: WyRand,
): number {
  return canonicalRows === undefined
    ? pickInOrder(costs, count, random)
    : pickThrough(costs, count, canonicalRows, random)
}

function pickInOrder(costs: Float64Array, count: number, random: WyRand): number {
  let best = costs[0]!
  let row = 0
  let ties = 1
  const blocks = count & ~3
  let index = 0
  while (index < blocks) {
    // Almost every block of four holds nothing as good as the best so far.
    if (
      costs[index]! > best &&
      costs[index + 1]! > best &&
      costs[index + 2]! > best &&
      costs[index + 3]! > best
    ) {
      index += 4
      continue
    }
    for (const end = index + 4; index < end; index++) {
      const cost = costs[index]!
      if (cost > best || index === 0) continue
      ties = cost < best ? 1 : ties + 1
      if (ties === 1 || random.below(ties) === 0) row = index
      best = cost
    }
  }
  for (; index < count; index++) {
    const cost = costs[index]!
    if (cost > best || index === 0) continue
    ties = cost < best ? 1 : ties + 1
    if (ties === 1 || random.below(ties) === 0) row = index
    best = cost
  }
  return row
}

function pickThrough(costs: Float64Array, count: number, canonicalRows: Uint32Array, random: WyRand): number {
  let row = canonicalRows[0]!
  let best = costs[row]!
  let ties = 1
  for (let index = 1; index < count; index++) {
    const candidate = canonicalRows[index]!
    const cost = costs[candidate]!
    if (cost > best) continue
    ties = cost < best ? 1 : ties + 1
    if (ties === 1 || random.below(ties) === 0) row = candidate
    best = cost
  }
  return row
}

/** A picker of the lowest total, uniform over exact ties; a single row, pinned or not, draws nothing. */
export function minimumCostPicker(random: WyRand): WorkerPicker<CandidateRows> {
  return {
    name: 'minimum-cost',
    inputs: [],
    pick: (_context, candidates, costs) =>
      pickMinimumCost(costs, candidates.count, candidates.canonicalRows, random),
  }
}
