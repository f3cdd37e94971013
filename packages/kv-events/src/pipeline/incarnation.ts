/** What showed that an engine process is another one than before. */
export type IncarnationCause = 'registration' | 'sequence' | 'process_start' | 'outage'

/** Time after an outage in which something must prove that the process is the same. */
export const PROOF_MS = 5000

/**
 * Counts the lives of one worker (host.md 2.10). One restart shows in several ways, one after the other, and counts once: after a bump,
 * the first id and the first start time that differ are taken as facts of the new life.
 */
export class Incarnation {
  #count = 0
  #id: string | undefined
  #startSeconds: number | undefined
  #mayChangeId = false
  #mayChangeStart = false
  #isInOutage = false
  #proofDueMs = Infinity
  readonly #onBump: (cause: IncarnationCause) => void

  constructor(onBump: (cause: IncarnationCause) => void) {
    this.#onBump = onBump
  }

  /** Lives before this one. */
  get count(): number {
    return this.#count
  }

  /** As the last registration gave it. */
  get id(): string | undefined {
    return this.#id
  }

  /** An outage was seen, and nothing has proved yet that the process is the same. */
  get isSuspect(): boolean {
    return this.#isInOutage || this.#proofDueMs < Infinity
  }

  /** When `advance` must be called next; Infinity = nothing is due. */
  get nextDeadlineMs(): number {
    return this.#isInOutage ? Infinity : this.#proofDueMs
  }

  /** A registration of the worker. One without an id says nothing about the process. */
  register(id: string | undefined): void {
    if (id === undefined || id === this.#id) return
    const isOther = this.#id !== undefined && !this.#mayChangeId
    this.#id = id
    this.#mayChangeId = false
    if (!isOther) return
    this.#mayChangeStart = true
    this.#bump('registration')
  }

  /** `process_start_time_seconds` of the engine's metrics; returns whether it proved that the process is the same. */
  processStarted(seconds: number): boolean {
    const before = this.#startSeconds
    if (seconds === before) {
      this.proveSame()
      return true
    }
    const isOther = before !== undefined && !this.#mayChangeStart
    this.#startSeconds = seconds
    this.#mayChangeStart = false
    if (!isOther) return false
    this.#mayChangeId = true
    this.#bump('process_start')
    return false
  }

  /** A live sequence went back, or did not go on after an outage. */
  sequenceWentBack(): void {
    this.#mayChangeId = true
    this.#mayChangeStart = true
    this.#bump('sequence')
  }

  /** The engine refuses connections. */
  outageBegan(): void {
    this.#isInOutage = true
  }

  /** It takes connections again. */
  outageEnded(nowMs: number): void {
    if (!this.#isInOutage) return
    this.#isInOutage = false
    this.#proofDueMs = nowMs + PROOF_MS
  }

  /** A sequence went on as if nothing had happened. */
  proveSame(): void {
    this.#isInOutage = false
    this.#proofDueMs = Infinity
  }

  advance(nowMs: number): void {
    if (this.#isInOutage || nowMs < this.#proofDueMs) return
    this.#mayChangeId = true
    this.#mayChangeStart = true
    this.#bump('outage')
  }

  #bump(cause: IncarnationCause): void {
    this.#count++
    this.proveSame()
    this.#onBump(cause)
  }
}
