import type { Column } from './column-memory.js'
import type { ColumnSet, GroupName } from './column-set.js'
import type { RowList } from './row-list.js'
import type { WorkerTable } from './worker-table.js'

// A copy of a run costs a call; below this mean length rows are gathered one by one.
const worthwhileRun = 8

/** Copies listed rows of the table's groups into dense columns. Allocates nothing. */
export class RowGather {
  readonly #table: WorkerTable
  readonly #target: ColumnSet
  readonly #sources: readonly Column[]
  readonly #targets: readonly Column[]

  constructor(table: WorkerTable, target: ColumnSet, groups: readonly GroupName[]) {
    this.#table = table
    this.#target = target
    this.#sources = groups.flatMap((group) => table.columns.columnsOf(group))
    this.#targets = groups.flatMap((group) => target.columnsOf(group))
  }

  gather(list: RowList): void {
    for (let index = 0; index < this.#sources.length; index++)
      this.copy(list, this.#sources[index]!, this.#targets[index]!)
    const { cache, load } = this.#target.views
    const { unknownCaches, unknownLoads } = this.#table.columns
    if (load !== undefined) load.allAvailable = unknownLoads === 0 || allOnes(load.isAvailable, list.count)
    if (cache !== undefined)
      cache.allAvailable = unknownCaches === 0 || allOnes(cache.isAvailable, list.count)
  }

  /** Copies the listed rows of one column. */
  copy(list: RowList, source: Column, target: Column): void {
    if (list.runs * worthwhileRun <= list.count) this.#copyRuns(list, source, target)
    else this.#table.loops.gather(list.rows, list.count, source, target)
  }

  #copyRuns(list: RowList, source: Column, target: Column): void {
    const starts = list.runStarts.view
    const lengths = list.runLengths.view
    let to = 0
    for (let run = 0; run < list.runs; run++) {
      this.#table.loops.copyRun(source, starts[run]!, target, to, lengths[run]!)
      to += lengths[run]!
    }
  }
}

function allOnes(column: Uint8Array, count: number): boolean {
  for (let row = 0; row < count; row++) if (column[row] === 0) return false
  return true
}
