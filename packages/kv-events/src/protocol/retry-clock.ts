const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 30_000

/** When to try again after failures: 0.5, 1, 2 ... 30 seconds. */
export class RetryClock {
  #delayMs = FIRST_DELAY_MS
  /** Time of the next attempt. */
  dueMs = 0

  failed(nowMs: number): void {
    this.dueMs = nowMs + this.#delayMs
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS)
  }

  succeeded(): void {
    this.#delayMs = FIRST_DELAY_MS
  }
}
