import type { SelectionError, WorkerRank } from '@router/sdk'
import type { RankRejection } from './eligibility.js'
import type { PolicyIdentity, SelectionResult } from './request.js'

/** What happened to one rank. */
export interface RankExplanation extends WorkerRank {
  /** Why the host did not offer the rank; `NotPinned` when another row was imposed. */
  readonly rejection?: RankRejection | 'NotPinned'
  /** Name of the filter that rejected it. */
  readonly filter?: string
  /** What each scorer added, in declaration order; empty for a rank that was not scored. */
  readonly contributions: readonly { readonly scorer: string; readonly cost: number }[]
  readonly total?: number
  /** Preferred-taint multiplier offered to the policy. */
  readonly taintMultiplier?: number
}

/** One selection taken apart. Plain data, kept as long as you like. */
export interface SelectionExplanation {
  /** Every known rank, in canonical order. */
  readonly rows: readonly RankExplanation[]
  /** Ranks among which the picker chose as equals; every rank of lowest total unless the picker says more. */
  readonly tieSet: readonly WorkerRank[]
  /** The picker's own word for how it decided. */
  readonly mode?: string
  /** Keys that the picker orders by beside the total, per kept rank in canonical order. */
  readonly keys?: Readonly<Record<string, readonly number[]>>
  /** Second lowest total minus the lowest, 0 for a tie; `undefined` with fewer than two scored ranks. */
  readonly margin: number | undefined
  readonly chosen?: WorkerRank
  readonly result?: SelectionResult
  readonly error?: SelectionError
  readonly policy: PolicyIdentity
}
