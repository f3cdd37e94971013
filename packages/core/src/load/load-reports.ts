import type { WorkerTable } from '../worker-table.js'
import { bad, unknownRank } from './booking-checks.js'
import type { ActiveLoad, LoadScope } from './booking.js'
import { LedgerClock } from './ledger-clock.js'
import { rankAt } from './load-shapes.js'

/** What one source says of a rank; fields that it does not know are absent. Blocks and tokens, finite and >= 0. */
export type LoadReport = Omit<ActiveLoad, 'workerId' | 'dpRank'>

type Amount = 'activeDecodeBlocks' | 'activePrefillTokens' | 'kvUsedBlocks'
type Reported = {
  -readonly [K in keyof LoadReport]: {
    readonly value: Exclude<LoadReport[K], undefined>
    readonly atMs: number
  }
}

const amounts: readonly Amount[] = ['activeDecodeBlocks', 'activePrefillTokens', 'kvUsedBlocks']
const scopes: readonly LoadScope[] = ['local', 'replica_synchronized']

/** Where reports come from and how long they hold. */
export interface LoadReportsOptions {
  readonly table: WorkerTable
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number
  /** A value older than this is absent. Default 10,000. */
  readonly maxAgeMs?: number
}

/**
 * Loads of ranks as engines or peers report them. Each field keeps its own newest value and age: a report without a field leaves that of
 * another source alone, and a value that nobody renews becomes absent. Bounded by the ranks of the table.
 */
export class LoadReports {
  readonly #table: WorkerTable
  readonly #clock: LedgerClock
  readonly #maxAgeMs: number
  readonly #bySlot = new Map<number, Reported>()
  readonly #stopListening: () => void

  constructor({ table, nowMs, maxAgeMs = 10_000 }: LoadReportsOptions) {
    this.#table = table
    this.#clock = new LedgerClock(nowMs)
    this.#maxAgeMs = maxAgeMs
    this.#stopListening = table.onSlots((dropped) => {
      for (const slot of dropped) this.#bySlot.delete(slot)
    })
  }

  /** Takes a report as of now. Errors, nothing taken: `ROUTER_BAD_REQUEST`, `ROUTER_NOT_FOUND` for an unknown rank. */
  merge(slot: number, report: LoadReport): void {
    for (const name of amounts) {
      const value = report[name]
      if (value !== undefined && !(value >= 0 && value < Infinity))
        throw bad(name, value, 'a finite number >= 0')
    }
    const { schedulerLoadScope: scope } = report
    if (scope !== undefined && !scopes.includes(scope))
      throw bad('schedulerLoadScope', scope, scopes.join(' or '))
    this.#rowOf(slot)
    const atMs = this.#clock.read()
    const kept = this.#bySlot.get(slot) ?? {}
    for (const name of amounts) {
      const value = report[name]
      if (value !== undefined) kept[name] = { value, atMs }
    }
    if (scope !== undefined) kept.schedulerLoadScope = { value: scope, atMs }
    this.#bySlot.set(slot, kept)
  }

  /** What is known of a rank and not too old. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`. */
  read(slot: number): ActiveLoad {
    const rank = rankAt(this.#table, this.#rowOf(slot))
    const oldest = this.#clock.read() - this.#maxAgeMs
    const kept = Object.entries(this.#bySlot.get(slot) ?? {})
    return {
      ...rank,
      ...Object.fromEntries(
        kept.flatMap(([name, { value, atMs }]) => (atMs < oldest ? [] : [[name, value]])),
      ),
    }
  }

  /** Stops listening to the table. */
  dispose(): void {
    this.#stopListening()
    this.#bySlot.clear()
  }

  #rowOf(slot: number): number {
    this.#table.settle()
    const row = this.#table.rowOfSlot[slot] ?? -1
    if (row < 0) throw unknownRank(slot)
    return row
  }
}
