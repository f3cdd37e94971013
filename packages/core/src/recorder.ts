import type { PickExplanation, SelectionError, WorkerRank } from '@router/sdk'
import type { Eligibility } from './eligibility.js'
import type { RankExplanation, SelectionExplanation } from './explanation.js'
import type { SelectionRequest, SelectionResult } from './request.js'
import type { WorkerTable } from './worker-table.js'

/** Collects what `explain` shows while a selection runs. Rows are rows of the table. */
export class Recorder {
  readonly #table: WorkerTable
  readonly #asQuery: <T>(ask: () => T) => T
  readonly #filters = new Map<number, string>()
  readonly #contributions: { readonly scorer: string; readonly costs: Float64Array }[] = []
  #kept: number[] = []
  #multipliers: Float64Array | undefined
  #totals: Float64Array | undefined
  #pick: PickExplanation | undefined
  /** What `explain` of the picker threw. */
  pickFault: unknown

  /** @param asQuery asks the policy something that must leave no trace */
  constructor(table: WorkerTable, asQuery: <T>(ask: () => T) => T) {
    this.#table = table
    this.#asQuery = asQuery
  }

  rejectedBy(filter: string, tableRow: number): void {
    this.#filters.set(tableRow, filter)
  }

  /** @param tableRows rows that were kept, by current row */
  kept(tableRows: number[], multipliers: Float64Array | undefined): void {
    this.#kept = tableRows
    this.#multipliers = multipliers?.slice(0, tableRows.length)
  }

  contributed(scorer: string, costs: Float64Array): void {
    this.#contributions.push({ scorer, costs: costs.slice(0, this.#kept.length) })
  }

  summed(totals: Float64Array): void {
    this.#totals = totals.slice(0, this.#kept.length)
  }

  /** After the pick, so that what `explain` draws cannot move it, and on a copy of what the picker was given. */
  picked(explain: (totals: Float64Array) => PickExplanation | undefined): void {
    try {
      this.#pick = this.#asQuery(() => explain(this.#totals!.slice()))
    } catch (cause) {
      this.pickFault = cause
    }
  }

  explanation(
    request: SelectionRequest,
    eligibility: Eligibility,
    outcome: { result: SelectionResult } | { error: SelectionError },
  ): Omit<SelectionExplanation, 'policy'> {
    const result = 'result' in outcome ? outcome.result : undefined
    const pick = this.#pick
    const positions = new Map(this.#kept.map((row, position) => [row, position]))
    return {
      rows: Array.from({ length: this.#table.count }, (_, row) =>
        this.#explainRow(row, positions.get(row) ?? -1, request, eligibility),
      ),
      tieSet: this.#tieSet(),
      ...(pick?.mode === undefined ? {} : { mode: pick.mode }),
      ...(pick?.keys === undefined ? {} : { keys: pick.keys }),
      margin: this.#margin(),
      ...(result === undefined
        ? {}
        : { chosen: { workerId: result.workerId, dpRank: result.dpRank }, result }),
      ...('error' in outcome ? { error: outcome.error } : {}),
    }
  }

  /** @param kept position among the rows that were kept, -1 = none */
  #explainRow(
    row: number,
    kept: number,
    request: SelectionRequest,
    eligibility: Eligibility,
  ): RankExplanation {
    const filter = this.#filters.get(row)
    const isCandidate = kept >= 0 || filter !== undefined
    const rejection = isCandidate ? undefined : eligibility.rejectionOf(row)
    const isPassedOver = !isCandidate && rejection === undefined && request.pinnedWorker !== undefined
    const contributions = this.#contributions.map(({ scorer, costs }) => ({ scorer, cost: costs[kept]! }))
    return {
      ...rankOf(this.#table, row),
      ...(rejection === undefined ? {} : { rejection }),
      ...(isPassedOver && !isPinned(this.#table, row, request) ? { rejection: 'NotPinned' as const } : {}),
      ...(filter === undefined ? {} : { filter }),
      contributions: kept < 0 ? [] : contributions,
      ...(kept < 0 || this.#totals === undefined ? {} : { total: this.#totals[kept]! }),
      ...(kept < 0 || this.#multipliers === undefined ? {} : { taintMultiplier: this.#multipliers[kept]! }),
    }
  }

  #tieSet(): readonly WorkerRank[] {
    const totals = this.#totals
    if (totals === undefined) return []
    const lowest = totals.reduce((low, total) => (total < low ? total : low), Infinity)
    const rows = this.#pick?.tieSet ?? [...totals.keys()].filter((row) => totals[row] === lowest)
    return [...rows].sort((a, b) => a - b).map((row) => rankOf(this.#table, this.#kept[row]!))
  }

  #margin(): number | undefined {
    const totals = this.#totals?.slice().sort()
    return totals === undefined || totals.length < 2 ? undefined : totals[1]! - totals[0]!
  }
}

function rankOf(table: WorkerTable, row: number): WorkerRank {
  const workerId = table.workers[table.workerOfRow[row]!]!.workerId
  return { workerId, dpRank: table.columns.views.identity!.dpRank[row]! }
}

function isPinned(table: WorkerTable, row: number, request: SelectionRequest): boolean {
  const { workerId, dpRank } = rankOf(table, row)
  return request.pinnedWorker?.workerId === workerId && request.pinnedWorker.dpRank === dpRank
}
