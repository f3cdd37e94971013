import type { SelectionExplanation } from '../explanation.js'
import type { SelectionRequest, SelectionResult } from '../request.js'
import type { Partition } from '../router-core.js'
import type { WorkerTable } from '../worker-table.js'
import { type RankOverlap, rankOverlaps } from './rank-overlaps.js'

/** What a policy could know of a rank. */
export interface RankFacts extends RankOverlap {
  /** Of the requests that are booked on it; absent = unknown, as the two below. */
  readonly activePrefillTokens: number | undefined
  /** With those of this request, as far as the books know them. */
  readonly decodeCostBlocks: number | undefined
  readonly activeRequests: number | undefined
}

/** A selection taken apart, and what it was made from. Plain data. */
export interface RoutedExplanation extends SelectionExplanation {
  /** Row-aligned with `rows`. */
  readonly facts: readonly RankFacts[]
}

/** Takes a selection apart. A query. */
export function explained({ selector, table }: Partition, prepared: SelectionRequest): RoutedExplanation {
  return { ...selector.explain(prepared), facts: factsOf(table) }
}

/** Selects, and tells whoever asks how it came about. Errors: those of `Selector.select`. */
export function selectFor(
  { selector, table }: Partition,
  prepared: SelectionRequest,
  onExplained: ((explanation: RoutedExplanation) => void) | undefined,
): SelectionResult {
  if (onExplained === undefined) return selector.select(prepared)
  return selector.selectExplained(prepared, (found) => onExplained({ ...found, facts: factsOf(table) }))
}

function factsOf(table: WorkerTable): RankFacts[] {
  const { activePrefillTokens, decodeCostBlocks, activeRequests, isAvailable } = table.columns.views.load!
  return rankOverlaps(table, 0, table.count).map((overlap, row) => {
    const isKnown = isAvailable[row] === 1
    return {
      ...overlap,
      activePrefillTokens: isKnown ? activePrefillTokens[row]! : undefined,
      decodeCostBlocks: isKnown ? decodeCostBlocks[row]! : undefined,
      activeRequests: isKnown ? activeRequests[row]! : undefined,
    }
  })
}
