import type { Column, ColumnMemory } from './column-memory.js'

/** Rows of the worker table in canonical order, and the runs of neighbours among them. */
export class RowList {
  count = 0
  runs = 0
  readonly rows: Column<Uint32Array>
  /** First row of each run. */
  readonly runStarts: Column<Uint32Array>
  readonly runLengths: Column<Uint32Array>

  constructor(memory: ColumnMemory) {
    this.rows = memory.column('uint32')
    this.runStarts = memory.column('uint32')
    this.runLengths = memory.column('uint32')
  }

  clear(): void {
    this.count = 0
    this.runs = 0
  }

  /** Appends a row higher than all before it. */
  push(row: number): void {
    const rows = this.rows.view
    const count = this.count
    if (count > 0 && rows[count - 1] === row - 1) {
      this.runLengths.view[this.runs - 1]!++
    } else {
      this.runStarts.view[this.runs] = row
      this.runLengths.view[this.runs++] = 1
    }
    rows[count] = row
    this.count = count + 1
  }

  /** Appends `[start, end)`, all higher than those before. */
  pushRun(start: number, end: number): void {
    if (start === end) return
    this.push(start)
    const rows = this.rows.view
    let count = this.count
    for (let row = start + 1; row < end; row++) rows[count++] = row
    this.runLengths.view[this.runs - 1]! += end - start - 1
    this.count = count
  }

  columns(): readonly Column[] {
    return [this.rows, this.runStarts, this.runLengths]
  }
}
