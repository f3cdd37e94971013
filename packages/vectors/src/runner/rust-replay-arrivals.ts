import type { ReplayRow, RustReplayLine } from '../shapes/rust-replay.js'

interface Arrival {
  readonly row: number
  readonly atMs: number
}

/** When each row of a trace arrives: at its time, after the turn before it, or when the closed loop has room for it. */
export class Arrivals {
  readonly #rows: readonly ReplayRow[]
  readonly #speedup: number
  /** By time; among equals in the order of the rows. */
  readonly #due: Arrival[] = []
  /** The closed loop: rows that begin something and have not been let in. */
  readonly #outside: number[] = []
  readonly #nextTurns = new Map<number, { readonly row: number; readonly delayMs: number }>()

  constructor(line: RustReplayLine) {
    const { rows } = line.trace
    this.#rows = rows
    this.#speedup = line.arrivalSpeedupRatio ?? 1
    const firsts = this.#linkTurns()
    if (line.concurrency === undefined) {
      const startMs = Math.min(...firsts.map((row) => rows[row]!.timestamp!))
      for (const row of firsts) this.#add(row, (rows[row]!.timestamp! - startMs) / this.#speedup)
    } else {
      this.#outside = firsts
      for (const row of firsts.splice(0, line.concurrency)) this.#add(row, 0)
    }
  }

  /** When the next row arrives; `Infinity` = none is due. */
  get nextMs(): number {
    return this.#due[0]?.atMs ?? Infinity
  }

  /** The next row, which arrives. */
  take(): number {
    return this.#due.shift()!.row
  }

  /** A row has ended: the turn after it is due, or another row takes its place in the closed loop. */
  ended(row: number, nowMs: number, hasFailed: boolean): void {
    const next = hasFailed ? undefined : this.#nextTurns.get(row)
    if (next !== undefined) this.#add(next.row, nowMs + next.delayMs / this.#speedup)
    else if (this.#outside.length > 0) this.#add(this.#outside.shift()!, nowMs)
  }

  #add(row: number, atMs: number): void {
    const later = this.#due.findIndex(
      (other) => other.atMs > atMs || (other.atMs === atMs && other.row > row),
    )
    this.#due.splice(later === -1 ? this.#due.length : later, 0, { row, atMs })
  }

  /** Chains the turns of each session; returns the rows that begin one, or stand alone. */
  #linkTurns(): number[] {
    const sessions = new Map<string, { row: number; timestamp: number | undefined }>()
    const firsts: number[] = []
    for (const [row, { session_id: session, timestamp, delay }] of this.#rows.entries()) {
      const before = session === undefined ? undefined : sessions.get(session)
      if (session !== undefined) sessions.set(session, { row, timestamp: timestamp ?? before?.timestamp })
      if (before === undefined) {
        firsts.push(row)
        continue
      }
      const gapMs =
        timestamp === undefined || before.timestamp === undefined ? 0 : timestamp - before.timestamp
      this.#nextTurns.set(before.row, { row, delayMs: delay ?? Math.max(0, gapMs) })
    }
    return firsts
  }
}
