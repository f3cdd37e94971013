import type { WorkerRank } from '@router/sdk'
import type {
  DefaultOptions,
  ReferenceError,
  ReferenceResult,
  RejectionReason,
  Snapshot,
} from '../snapshot.js'

/** What one selection of an implementation came to. Lists are in canonical order. */
export interface ParityOutcome {
  /** Kept rows that the picker saw, and the total of each; both `undefined` when the picker was not called. */
  readonly ranks: readonly WorkerRank[] | undefined
  readonly costs: readonly number[] | undefined
  /** Exactly one of `result` and `error` is there. Further fields of either are not compared. */
  readonly result: ReferenceResult | undefined
  readonly error: ReferenceError | undefined
  /** Warnings raised during this selection. */
  readonly warnings: readonly { readonly code: string; readonly rank: WorkerRank | undefined }[]
}

/** What an implementation says of a selection without making it. */
export interface ParityExplanation {
  readonly rejected: readonly (readonly [WorkerRank, RejectionReason])[]
  /** Totals of the kept rows. */
  readonly costs: readonly number[]
  readonly taintMultipliers: readonly number[] | undefined
  readonly tieSet: readonly WorkerRank[]
  readonly mode: string | undefined
  readonly error: ReferenceError | undefined
}

/** One policy object of an implementation, used for a sequence of snapshots. */
export interface ParitySubject {
  readonly select: (snapshot: Snapshot) => ParityOutcome
  /** Absent where the implementation explains nothing; the cases that compare it are then not defined. */
  readonly explain?: (snapshot: Snapshot) => ParityExplanation
}

/** Makes fresh policy objects. */
export interface ParityImplementation<O = DefaultOptions> {
  readonly create: (options: O) => ParitySubject
}
