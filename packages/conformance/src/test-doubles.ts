import type { WorkerCandidates, WorkerFilter, WorkerPicker, WorkerScorer } from '@router/sdk'

/** A scorer that gives every row the same cost, or the cost that `cost` says for the row's worker and rank. */
export function constantScorer(
  cost: number | ((workerId: bigint, dpRank: number) => number),
): WorkerScorer<WorkerCandidates> {
  return {
    name: 'constant',
    inputs: [],
    score: (_context, candidates, costs) => {
      for (let row = 0; row < candidates.count; row++) {
        costs[row] = typeof cost === 'number' ? cost : cost(candidates.workerId(row), candidates.dpRank[row]!)
      }
    },
  }
}

/** A filter that rejects the named workers. */
export function rejectingFilter(workerIds: readonly bigint[]): WorkerFilter<WorkerCandidates> {
  return {
    name: 'rejecting',
    inputs: [],
    keep: (_context, candidates, row) => !workerIds.includes(candidates.workerId(row)),
  }
}

/** A picker that takes the first canonical row of the lowest total: no randomness, no state. */
export function firstMinimumPicker(): WorkerPicker<WorkerCandidates> {
  return {
    name: 'first-minimum',
    inputs: [],
    pick: (_context, candidates, costs) => {
      const { count, canonicalRows } = candidates
      let best = canonicalRows === undefined ? 0 : canonicalRows[0]!
      for (let index = 1; index < count; index++) {
        const row = canonicalRows === undefined ? index : canonicalRows[index]!
        best = costs[row]! < costs[best]! ? row : best
      }
      return best
    },
  }
}

/** A picker that answers whatever it is told, right or wrong. */
export function fixedPicker(row: number): WorkerPicker<WorkerCandidates> {
  return { name: 'fixed', inputs: [], pick: () => row }
}
