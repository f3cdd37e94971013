import { RankColumns } from './rank-columns.js'
import { RowGather } from './row-gather.js'
import { RowList } from './row-list.js'
import type { WorkerTable } from './worker-table.js'

// Flags that flip at every request would make each copy useless; while they do, rows are gathered as they are needed.
const selectionsBeforeCopy = 4

/**
 * The ranks that the table's own flags leave (available, not overloaded), as a list and, once the flags have kept still for a few
 * selections, as dense columns. A fleet is rarely whole; copying its columns once, and writing both from then on, makes a
 * selection among holes as fast as one without.
 */
export class EligibleRanks {
  readonly list: RowList
  /** Dense copy of the listed rows while `isMirrored`. */
  readonly columns: RankColumns
  isWholeTable = true
  isMirrored = false
  readonly #table: WorkerTable
  readonly #gather: RowGather
  #denseRows = new Int32Array(16)
  #isCurrent = false
  #selections = 0

  constructor(table: WorkerTable) {
    this.#table = table
    this.list = new RowList(table.memory)
    this.columns = new RankColumns(table.memory)
    this.#gather = new RowGather(table, this.columns, this.columns.names())
  }

  /** A flag or the rows of the table changed. */
  invalidate(): void {
    this.#isCurrent = false
    this.isMirrored = false
  }

  /** Row in `columns` of a row of the table; -1 when it is not kept there (now). */
  rowOf(tableRow: number): number {
    return this.isMirrored ? this.#denseRows[tableRow]! : -1
  }

  /** Brings the list up to date for one selection, and the columns when it pays. */
  refresh(): void {
    if (!this.#isCurrent) this.#listRows()
    if (this.isWholeTable || this.isMirrored) return
    if (++this.#selections > selectionsBeforeCopy) this.#mirror()
  }

  /** Copies the decode costs of the table anew, where rows are kept. */
  copyDecodeCosts(): void {
    if (!this.isMirrored) return
    const { load } = this.#table.columns.groups
    this.#gather.copy(this.list, load!.decodeCostBlocks, this.columns.groups.load!.decodeCostBlocks)
  }

  #listRows(): void {
    this.#isCurrent = true
    this.#selections = 0
    const { list } = this
    const { count, workerOfRow, available } = this.#table
    const overloaded = this.#table.overloaded.view
    list.clear()
    let start = 0
    for (let row = 0; row < count; row++) {
      if (available[workerOfRow[row]!] === 1 && overloaded[row] === 0) continue
      list.pushRun(start, row)
      start = row + 1
    }
    list.pushRun(start, count)
    this.isWholeTable = list.count === count
  }

  #mirror(): void {
    const { list } = this
    const { count } = this.#table
    if (this.#denseRows.length < count) this.#denseRows = new Int32Array(count * 2)
    this.#denseRows.fill(-1, 0, count)
    for (let row = 0; row < list.count; row++) this.#denseRows[list.rows.view[row]!] = row
    this.#gather.gather(list)
    this.columns.recount(list.count)
    this.isMirrored = true
  }
}
