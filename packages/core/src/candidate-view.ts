import type { CandidateGroups, WorkerCandidates, WorkerInputName } from '@router/sdk'
import type { ColumnSet, GroupView } from './column-set.js'

/** What one component sees of one set of columns: its declared groups, the others `undefined`. */
export class CandidateView implements WorkerCandidates {
  count = 0
  // The live host always lists rows in canonical order.
  readonly canonicalRows: undefined = undefined
  readonly cache: CandidateGroups['cache'] | undefined
  readonly load: CandidateGroups['load'] | undefined
  readonly preferredTaint: CandidateGroups['preferredTaint'] | undefined
  readonly capacity: CandidateGroups['capacity'] | undefined
  readonly occupancy: CandidateGroups['occupancy'] | undefined
  readonly prefillTime: CandidateGroups['prefillTime'] | undefined
  readonly workerId: (row: number) => bigint
  readonly #identity: GroupView<'identity'>

  /** @param taints the set that holds the multipliers of the current selection */
  constructor(
    columns: ColumnSet,
    taints: ColumnSet,
    inputs: readonly WorkerInputName[],
    workerId: (row: number) => bigint,
  ) {
    const declared = <G extends WorkerInputName>(group: G, set: ColumnSet): CandidateGroups[G] | undefined =>
      inputs.includes(group) ? (set.views[group] as unknown as CandidateGroups[G]) : undefined
    this.cache = declared('cache', columns)
    this.load = declared('load', columns)
    this.preferredTaint = declared('preferredTaint', taints)
    this.capacity = declared('capacity', columns)
    this.occupancy = declared('occupancy', columns)
    this.prefillTime = declared('prefillTime', columns)
    this.workerId = workerId
    this.#identity = columns.views.identity!
  }

  get workerIdHigh(): Uint32Array {
    return this.#identity.workerIdHigh
  }

  get workerIdLow(): Uint32Array {
    return this.#identity.workerIdLow
  }

  get dpRank(): Uint32Array {
    return this.#identity.dpRank
  }
}
