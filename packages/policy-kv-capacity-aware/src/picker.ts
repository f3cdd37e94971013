import { type CandidatesFor, type PickExplanation, type WyRand, definePicker } from '@router/sdk'
import type { CapacityTerms } from './capacity-terms.js'
import { pickFitting, pickLeastBlocks } from './kernel.js'
import type { UnknownCapacity } from './unknown-capacity.js'

/** Fewest requests, then lowest cost, among the rows that fit; the smallest footprint when none does. */
export function capacityPicker(terms: CapacityTerms, unknownCapacity: UnknownCapacity, random: WyRand) {
  return definePicker({
    name: 'kv-capacity',
    inputs: ['load', 'capacity'],
    pick: (context, candidates, costs) => {
      if (terms.wantsAdvertisedCapacity && !context.queryOnly) unknownCapacity.warn(candidates)
      const row = pickFitting(terms, candidates, costs, random)
      return row < 0 ? pickLeastBlocks(candidates, random) : row
    },
    explain: (_context, candidates, costs) => explainPick(terms, candidates, costs),
  })
}

/** The rule once more, for people: lists instead of a scan. Keys are aligned with the rows in canonical order. */
function explainPick(
  terms: CapacityTerms,
  { count, canonicalRows, load, capacity }: CandidatesFor<readonly ['load', 'capacity']>,
  costs: Float64Array,
): PickExplanation {
  const rows = Array.from({ length: count }, (_, index) => canonicalRows?.[index] ?? index)
  const known = (row: number, column: Float64Array): number =>
    load.isAvailable[row] === 1 ? column[row]! : 0
  const blocksOf = (row: number): number => known(row, load.decodeCostBlocks)
  const requestsOf = (row: number): number => (terms.prefersFewRequests ? known(row, load.activeRequests) : 0)
  const fits = (row: number): boolean => {
    const advertised = capacity.totalKvBlocks[row]!
    return !(blocksOf(row) > terms.fraction * (advertised > 0 ? advertised : terms.configuredBlocks))
  }
  const fitting = rows.filter(fits)
  const keys = {
    fits: rows.map((row) => (fits(row) ? 1 : 0)),
    activeRequests: rows.map(requestsOf),
    decodeCostBlocks: rows.map(blocksOf),
  }
  if (fitting.length === 0) return { mode: 'fallback', tieSet: withLowest(rows, blocksOf), keys }
  const tieSet = withLowest(withLowest(fitting, requestsOf), (row) => costs[row]!)
  return { mode: 'fit', tieSet, keys }
}

function withLowest(rows: readonly number[], keyOf: (row: number) => number): number[] {
  const lowest = rows.reduce((low, row) => Math.min(low, keyOf(row)), Infinity)
  return rows.filter((row) => keyOf(row) === lowest)
}
