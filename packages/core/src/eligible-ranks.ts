import { RankColumns } from './rank-columns.js'
import { RowGather } from './row-gather.js'
import { RowList } from './row-list.js'
import type { WorkerTable } from './worker-table.js'

/**
 * The ranks that the table's own flags leave (available, not overloaded), as a list and as dense columns. A fleet is rarely whole;
 * copying its columns once when a flag changes, and writing both from then on, makes a selection among holes as fast as one
 * without. Renewed at the first unconstrained request after a change.
 */
export class EligibleRanks {
  readonly list: RowList
  /** Dense copy of the listed rows; not kept while every rank is eligible. */
  readonly columns: RankColumns
  isWholeTable = true
  readonly #table: WorkerTable
  readonly #gather: RowGather
  #denseRows = new Int32Array(16)
  #isCurrent = false
  #isMirrored = false

  constructor(table: WorkerTable) {
    this.#table = table
    this.list = new RowList(table.memory)
    this.columns = new RankColumns(table.memory)
    this.#gather = new RowGather(table, this.columns, this.columns.names())
  }

  /** A flag or the rows of the table changed. */
  invalidate(): void {
    this.#isCurrent = false
    this.#isMirrored = false
  }

  /** Row in `columns` of a row of the table; -1 when it is not kept there (now). */
  rowOf(tableRow: number): number {
    return this.#isMirrored ? this.#denseRows[tableRow]! : -1
  }

  /** Brings list and columns up to date. */
  refresh(): void {
    if (this.#isCurrent) return
    this.#isCurrent = true
    const { list } = this
    const { count, workerOfRow, available } = this.#table
    const overloaded = this.#table.overloaded.view
    list.clear()
    for (let row = 0; row < count; row++) {
      if (available[workerOfRow[row]!] === 1 && overloaded[row] === 0) list.push(row)
    }
    this.isWholeTable = list.count === count
    if (!this.isWholeTable) this.#mirror()
  }

  #mirror(): void {
    const { list } = this
    const { count } = this.#table
    if (this.#denseRows.length < count) this.#denseRows = new Int32Array(count * 2)
    this.#denseRows.fill(-1, 0, count)
    for (let row = 0; row < list.count; row++) this.#denseRows[list.rows.view[row]!] = row
    this.#gather.gather(list)
    this.columns.recount(list.count)
    this.#isMirrored = true
  }
}
