import type { AttemptEnd, HealthAttempt, WorkerHealth } from './worker-health.js'

/**
 * One request at one worker, as the relay tells of it: `head`, `byte` for every chunk of the body, `end` exactly once on every exit path
 * (later calls do nothing).
 */
export class WorkerAttempt {
  readonly #health: WorkerHealth
  readonly #attempt: HealthAttempt
  readonly #nowMs: () => number
  readonly #onChange: () => void

  constructor(health: WorkerHealth, attempt: HealthAttempt, nowMs: () => number, onChange: () => void) {
    this.#health = health
    this.#attempt = attempt
    this.#nowMs = nowMs
    this.#onChange = onChange
  }

  /** The answer's status: a redirect, and 500 and above count against the worker. */
  head(status: number): void {
    if (this.#health.head(this.#attempt, status, this.#nowMs())) this.#onChange()
  }

  /** Some of the body came. Cheap. */
  byte(): void {
    if (this.#health.byte(this.#attempt, this.#nowMs())) this.#onChange()
  }

  /** It is over. @param detail what went wrong, for records and logs */
  end(how: AttemptEnd, detail = how === 'refused' ? 'connection refused' : 'a request failed'): void {
    if (this.#attempt.isOver) return
    this.#health.end(this.#attempt, how, detail, this.#nowMs())
    this.#onChange()
  }
}
