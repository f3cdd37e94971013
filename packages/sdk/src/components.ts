import type { CandidatesFor, WorkerCandidates } from './candidates.js'
import type { WorkerSelectionContext } from './context.js'
import type { WorkerInputs } from './inputs.js'

// Callbacks are properties, not methods: methods are bivariant, and a scorer that reads `cache` would type-check in a
// policy that declares `load` only.

/** A hard yes or no on a row that is already eligible. Called once a row; all filters must keep it. Must not throw for a row it can judge. */
export interface WorkerFilter<C = WorkerCandidates> {
  /** For errors, `explain` and decision records; unique in its policy. */
  readonly name: string
  /** Narrows the policy's inputs for this component. */
  readonly inputs?: WorkerInputs
  /** True keeps `row`, an index into the columns as they are now; kept rows are renumbered before the scorers. */
  readonly keep: (context: WorkerSelectionContext, candidates: C, row: number) => boolean
}

/** One additive cost per kept row, lower is better. Called once per selection with all rows. */
export interface WorkerScorer<C = WorkerCandidates> {
  /** For errors, `explain` and decision records; unique in its policy. */
  readonly name: string
  /** Narrows the policy's inputs for this component. */
  readonly inputs?: WorkerInputs
  /** Writes a finite cost into each of the first `count` entries, which are NaN on entry. */
  readonly score: (context: WorkerSelectionContext, candidates: C, costs: Float64Array) => void
}

/** Chooses the row. Called once, after all scorers, with at least one row. */
export interface WorkerPicker<C = WorkerCandidates> {
  /** For errors, `explain` and decision records; unique in its policy. */
  readonly name: string
  /** Narrows the policy's inputs for this component. */
  readonly inputs?: WorkerInputs
  /** Returns an integer in `[0, count)`. `costs` are the totals over all scorers, all 0 without any. */
  readonly pick: (context: WorkerSelectionContext, candidates: C, costs: Float64Array) => number
  /** What the host cannot know of a picker that orders by more than the totals. Called as a query. */
  readonly explain?: (context: WorkerSelectionContext, candidates: C, costs: Float64Array) => PickExplanation
}

/** Why a picker chooses as it does. `tieSet` holds rows. */
export interface PickExplanation {
  /** Which rule decided, in the policy's own words. */
  readonly mode?: string
  /** Rows that were equally good. */
  readonly tieSet: readonly number[]
  /** What the picker ordered by, by name, row-aligned. */
  readonly keys?: Readonly<Record<string, readonly number[]>>
}

/** A filter whose view is typed by its own, narrower inputs. */
export function defineFilter<const I extends WorkerInputs>(
  filter: WorkerFilter<CandidatesFor<I>> & { readonly inputs: I },
): WorkerFilter<CandidatesFor<I>> {
  return filter
}

/** A scorer whose view is typed by its own, narrower inputs. */
export function defineScorer<const I extends WorkerInputs>(
  scorer: WorkerScorer<CandidatesFor<I>> & { readonly inputs: I },
): WorkerScorer<CandidatesFor<I>> {
  return scorer
}

/** A picker whose view is typed by its own, narrower inputs. */
export function definePicker<const I extends WorkerInputs>(
  picker: WorkerPicker<CandidatesFor<I>> & { readonly inputs: I },
): WorkerPicker<CandidatesFor<I>> {
  return picker
}
