import type { CandidatesFor, PolicyScope, WorkerInfo } from '@router/sdk'
import { nextUnmarked, nextUnwarned } from './kernel.js'
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
  /** Ranks of the fleet, whatever they advertise. */
  #fleetRanks = Infinity
  /** By canonical index in a view of the whole fleet: 1 = warned of. */
  #isWarned = new Uint8Array(0)

  constructor(scope: Pick<PolicyScope, 'warnOnce'>) {
    this.#warnOnce = scope.warnOnce
  }

  /** Starts over for another fleet. */
  takeWorkers(workers: readonly WorkerInfo[]): void {
    this.#warned.clear()
    this.#fleetRanks = workers.reduce((ranks, { dataParallelSize }) => ranks + dataParallelSize, 0)
    if (this.#fleetRanks === this.#isWarned.length) this.#isWarned.fill(0)
    else this.#isWarned = new Uint8Array(this.#fleetRanks)
  }

  /** Warns of each row that advertises nothing. Not for queries, which must leave no trace. Warm, it allocates nothing. */
  warn(candidates: CandidatesFor<readonly ['load', 'capacity']>): void {
    if (this.#warned.size >= this.#fleetRanks) return
    if (candidates.count === this.#fleetRanks) this.#warnFleet(candidates)
    else this.#warnSome(candidates)
  }

  /** With as many rows as the fleet has ranks, an index always stands for the same rank, and need not be looked up. */
  #warnFleet(candidates: CandidatesFor<readonly ['load', 'capacity']>): void {
    const isWarned = this.#isWarned
    let index = nextUnmarked(candidates, 0, isWarned)
    for (; index >= 0; index = nextUnmarked(candidates, index + 1, isWarned)) {
      isWarned[index] = 1
      this.#warnRow(candidates, index)
    }
  }

  #warnSome(candidates: CandidatesFor<readonly ['load', 'capacity']>): void {
    let index = nextUnwarned(candidates, 0, this.#warned)
    for (; index >= 0; index = nextUnwarned(candidates, index + 1, this.#warned)) {
      this.#warnRow(candidates, index)
    }
  }

  #warnRow(candidates: CandidatesFor<readonly ['load', 'capacity']>, index: number): void {
    const { canonicalRows, workerIdHigh, workerIdLow, dpRank } = candidates
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    if (this.#warned.positionOf(workerIdHigh[row]!, workerIdLow[row]!, dpRank[row]!) >= 0) return
    this.#warned.add(workerIdHigh[row]!, workerIdLow[row]!, dpRank[row]!)
    this.#warnOnce(capacityUnknown, candidates.workerId(row), dpRank[row]!)
  }
}
