import {
  type CandidateRows,
  type CandidatesFor,
  type WorkerInputs,
  type WorkerSelectionContext,
  definePicker,
} from '@router/sdk'
import { findRank, findWorker, rowAt, workerEnd } from './kernel.js'

/** How a worker is chosen, and how one of its ranks. Workers are named by their start, rows by their index: see `kernel.ts`. */
export interface WorkerRule<C> {
  /** Start of the chosen worker, where the request names none that is there. */
  readonly pickWorker: (context: WorkerSelectionContext, candidates: C) => number
  /** Index of the chosen row among those of a worker, from `start` to `end`: at least two. */
  readonly pickRank: (context: WorkerSelectionContext, candidates: C, start: number, end: number) => number
  /** The same for people: every start that `pickWorker` might return now. Draws nothing. */
  readonly explainWorkers: (context: WorkerSelectionContext, candidates: C) => WorkerExplanation
  /** Every index that `pickRank` might return now. Draws nothing. */
  readonly explainRanks: (candidates: C, start: number, end: number) => readonly number[]
}

/** Why a rule chooses as it does. */
export interface WorkerExplanation {
  readonly mode: string
  readonly starts: readonly number[]
  /** As in `PickExplanation`. */
  readonly keys?: Readonly<Record<string, readonly number[]>>
}

/**
 * The picker of a rule: pin and affinity target first. A rank that is there is taken without a draw or a step of a cursor; of a worker
 * alone the rule picks the rank; what is not there is as good as not said.
 */
export function workerPicker<const I extends WorkerInputs>(
  name: string,
  inputs: I,
  rule: WorkerRule<CandidatesFor<I>>,
) {
  return definePicker({
    name,
    inputs,
    pick: (context, candidates) => {
      const named = namedIndex(context, candidates)
      if (named >= 0) return rowAt(candidates.canonicalRows, named)
      const worker = namedWorker(context, candidates)
      const start = worker >= 0 ? worker : rule.pickWorker(context, candidates)
      const end = workerEnd(candidates, start)
      const index = end - start === 1 ? start : rule.pickRank(context, candidates, start, end)
      return rowAt(candidates.canonicalRows, index)
    },
    explain: (context, candidates) => {
      const toRow = (index: number): number => rowAt(candidates.canonicalRows, index)
      const ranksOf = (start: number): readonly number[] => {
        const end = workerEnd(candidates, start)
        return end - start === 1 ? [start] : rule.explainRanks(candidates, start, end)
      }
      const named = namedIndex(context, candidates)
      if (named >= 0) return { mode: 'target', tieSet: [toRow(named)] }
      const worker = namedWorker(context, candidates)
      if (worker >= 0) return { mode: 'target', tieSet: ranksOf(worker).map(toRow) }
      const { starts, ...told } = rule.explainWorkers(context, candidates)
      return { ...told, tieSet: starts.flatMap(ranksOf).map(toRow) }
    },
  })
}

type Target = Pick<WorkerSelectionContext, 'pinnedWorker' | 'affinityTarget'>

/** Index of the very row that the request names; -1 = it names none, or none of these. */
function namedIndex({ pinnedWorker, affinityTarget }: Target, candidates: CandidateRows): number {
  const target = pinnedWorker ?? affinityTarget
  if (target?.dpRank === undefined) return -1
  const start = findWorker(candidates, target.workerId)
  return start < 0 ? -1 : findRank(candidates, start, workerEnd(candidates, start), target.dpRank)
}

/** Start of the worker that the request names without a rank; -1 = it names none, or none of these. */
function namedWorker({ pinnedWorker, affinityTarget }: Target, candidates: CandidateRows): number {
  const target = pinnedWorker ?? affinityTarget
  return target === undefined || target.dpRank !== undefined ? -1 : findWorker(candidates, target.workerId)
}
