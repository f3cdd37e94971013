import type { Column } from './column-memory.js'
import type { WorkerTable } from './worker-table.js'

/** The cost buffers of one selector: what a scorer writes, and the totals. */
export class CostBuffers {
  /** What the current scorer writes; NaN in every row until it does. */
  readonly contributions: Column<Float64Array>
  readonly totals: Column<Float64Array>
  /** `[0]` = largest raw reuse over kept rows, blocks. */
  readonly maximumReuse: Column<Float64Array>
  readonly #table: WorkerTable
  // The first so many contributions are NaN, whatever earlier scorers did.
  #cleared = 0

  constructor(table: WorkerTable) {
    this.#table = table
    this.contributions = table.memory.column('float64')
    this.totals = table.memory.column('float64')
    this.maximumReuse = table.memory.column('float64')
  }

  columns(): readonly Column[] {
    return [this.contributions, this.totals, this.maximumReuse]
  }

  /** Before the first scorer. A scorer may have written past its rows: what becomes a row again is cleared first. */
  begin(count: number): void {
    if (count > this.#cleared) this.contributions.view.fill(Number.NaN, this.#cleared, count)
    this.#cleared = count
  }

  /** After a scorer that failed half-way. */
  spoil(): void {
    this.#cleared = 0
  }

  /** Adds what a scorer wrote and makes it NaN again; first row whose total is not finite, or -1. */
  add(count: number, isFirst: boolean): number {
    return this.#table.loops.accumulate(this.contributions, this.totals, count, isFirst)
  }

  /** `add` for the first scorer, and `maximumReuse` in the same pass. */
  addFirstWithReuse(count: number, reuse: Column<Float64Array>): number {
    const { contributions, totals, maximumReuse } = this
    return this.#table.loops.accumulateWithReuse(contributions, totals, count, reuse, maximumReuse)
  }
}
