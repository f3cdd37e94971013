import { bad } from './booking-checks.js'

/** The injected clock of a ledger, held to its promise never to go back. */
export class LedgerClock {
  readonly #nowMs: () => number
  // In an array: a double in a plain field would be boxed.
  readonly #latest = new Float64Array(1).fill(-Infinity)

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Milliseconds, for what may be refused. Error: `ROUTER_BAD_REQUEST` before the latest time read, or when it is not finite. */
  read(): number {
    const nowMs = this.#nowMs()
    const latest = this.#latest[0]!
    if (nowMs >= latest && nowMs < Infinity) {
      this.#latest[0] = nowMs
      return nowMs
    }
    throw bad('nowMs', nowMs, `a finite time not before the last one, ${latest}`)
  }

  /** Milliseconds, for what must not fail: the latest time read when the clock has gone back. */
  readAnyway(): number {
    const nowMs = this.#nowMs()
    if (nowMs > this.#latest[0]! && nowMs < Infinity) this.#latest[0] = nowMs
    return this.#latest[0]!
  }
}
