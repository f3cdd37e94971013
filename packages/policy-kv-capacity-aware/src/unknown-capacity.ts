import type { CandidatesFor, PolicyScope, WorkerInfo } from '@router/sdk'
import { RankSet } from './rank-set.js'

/** Code of the warning for a rank whose capacity nobody knows while the filter is on. */
const capacityUnknown = 'capacity_unknown'

/**
 * Warns of ranks without a known capacity, once each. The host removes duplicates; the memory kept here only spares it the question,
 * and the bigint that asking takes, so it may be forgotten at any time and is, whenever workers change.
 */
export class UnknownCapacity {
  readonly #warnOnce: PolicyScope['warnOnce']
  readonly #warned = new RankSet()
  /** Ranks of the fleet that advertise nothing. */
  #unknownRanks = Infinity

  constructor(scope: Pick<PolicyScope, 'warnOnce'>) {
    this.#warnOnce = scope.warnOnce
  }

  /** Starts over for another fleet. */
  takeWorkers(workers: readonly WorkerInfo[]): void {
    this.#warned.clear()
    this.#unknownRanks = 0
    for (const { totalKvBlocks, dataParallelSize } of workers) {
      if (totalKvBlocks === undefined) this.#unknownRanks += dataParallelSize
    }
  }

  /** Warns of each row that advertises nothing. Not for queries, which must leave no trace. Warm, it allocates nothing. */
  warn(candidates: CandidatesFor<readonly ['load', 'capacity']>): void {
    if (this.#warned.size >= this.#unknownRanks) return
    const { count, canonicalRows, workerIdHigh, workerIdLow, dpRank, capacity } = candidates
    for (let index = 0; index < count; index++) {
      const row = canonicalRows === undefined ? index : canonicalRows[index]!
      if (capacity.totalKvBlocks[row]! > 0) continue
      if (this.#warned.has(workerIdHigh[row]!, workerIdLow[row]!, dpRank[row]!)) continue
      this.#warned.add(workerIdHigh[row]!, workerIdLow[row]!, dpRank[row]!)
      this.#warnOnce(capacityUnknown, candidates.workerId(row), dpRank[row]!)
    }
  }
}
