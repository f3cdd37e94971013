import { preferredTaintMultiplier } from '@router/sdk'
import type { PreferredTaint } from './request.js'
import type { WorkerTable } from './worker-table.js'

const remembered = 16

/** Fills the preferred-taint multiplier of each kept row. `exp` and `tanh` run once per distinct sum of weights. */
export class TaintMultipliers {
  readonly #table: WorkerTable
  #ids = new Int32Array(4)
  #weights = new Float64Array(4)
  readonly #sums = new Float64Array(remembered)
  readonly #multipliers = new Float64Array(remembered)
  #next = 0

  constructor(table: WorkerTable) {
    this.#table = table
    this.#multipliers.fill(1)
  }

  /** @param rows rows of the table by kept row; `undefined` = kept row is table row */
  fill(
    preferred: readonly PreferredTaint[],
    rows: Uint32Array | undefined,
    count: number,
    out: Float64Array,
  ): void {
    const table = this.#table
    if (preferred.length > this.#ids.length) {
      this.#ids = new Int32Array(preferred.length * 2)
      this.#weights = new Float64Array(preferred.length * 2)
    }
    for (let index = 0; index < preferred.length; index++) {
      this.#ids[index] = table.taints.idOf(preferred[index]!.taint)
      this.#weights[index] = Math.fround(preferred[index]!.weight)
    }
    let lastWorker = -1
    let entry = 0
    for (let row = 0; row < count; row++) {
      const worker = table.workerOfRow[rows === undefined ? row : rows[row]!]!
      if (worker !== lastWorker) entry = this.#entryFor(worker, preferred.length)
      lastWorker = worker
      out[row] = this.#multipliers[entry]!
    }
  }

  #entryFor(worker: number, preferredCount: number): number {
    let sum = 0
    for (let index = 0; index < preferredCount; index++) {
      if (this.#table.taints.carries(worker, this.#ids[index]!)) sum += this.#weights[index]!
    }
    for (let entry = 0; entry < remembered; entry++) if (this.#sums[entry] === sum) return entry
    const entry = this.#next
    this.#next = (entry + 1) % remembered
    this.#sums[entry] = sum
    this.#multipliers[entry] = preferredTaintMultiplier(sum)
    return entry
  }
}
