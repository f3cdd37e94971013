import type { HandMadeView } from './hand-made-view.js'
import type { ComponentRun } from './run-components.js'

/** What a selection came to, in terms that do not depend on the order of rows. Ranks are written `workerId.dpRank`. */
export type Outcome = ChosenOutcome | RefusedOutcome

/** A rank was chosen. */
export interface ChosenOutcome {
  readonly chosen: string
  /** Total cost of every kept rank. */
  readonly costs: ReadonlyMap<string, number>
}

/** The policy refused the request, or its filters kept no row. */
export interface RefusedOutcome {
  readonly refused: string
}

/** Name of a rank in outcomes and messages. */
export function rankName(workerId: bigint, dpRank: number): string {
  return `${workerId}.${dpRank}`
}

export function outcomeOf(view: HandMadeView, run: ComponentRun): ChosenOutcome {
  const names = run.kept.map((row) => rankName(view.workerId(row), view.dpRank[row]!))
  return {
    chosen: rankName(run.worker.workerId, run.worker.dpRank),
    costs: new Map(names.map((name, index) => [name, run.totals[index]!])),
  }
}

/** How two outcomes differ, in words; `undefined` = the same rank and the same cost bits. */
export function differenceOf(expected: Outcome, actual: Outcome): string | undefined {
  if ('refused' in expected || 'refused' in actual) {
    const [before, after] = [summary(expected), summary(actual)]
    return before === after ? undefined : `expected ${before}, got ${after}`
  }
  for (const name of new Set([...expected.costs.keys(), ...actual.costs.keys()])) {
    const [before, after] = [expected.costs.get(name), actual.costs.get(name)]
    if (!Object.is(before, after))
      return `cost of rank ${name}: expected ${costText(before)}, got ${costText(after)}`
  }
  if (expected.chosen === actual.chosen) return undefined
  return `chosen rank: expected ${expected.chosen}, got ${actual.chosen} (same costs)`
}

function summary(outcome: Outcome): string {
  return 'refused' in outcome ? `refusal '${outcome.refused}'` : `rank ${outcome.chosen}`
}

function costText(cost: number | undefined): string {
  return cost === undefined ? 'none (filtered)' : String(cost)
}
