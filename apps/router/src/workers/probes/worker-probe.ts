import type { Timers } from '../timers.js'

export interface WorkerProbeOptions {
  readonly timers: Timers
  /** One probe, from request to what follows from it; it never rejects. */
  readonly probe: () => Promise<void>
  /** Milliseconds from the end of a probe to the next one, as things are now. */
  readonly paceMs: () => number
}

/** Probes one worker again and again, one probe at a time, until it is closed. */
export class WorkerProbe {
  readonly #options: WorkerProbeOptions
  #cancel: (() => void) | undefined
  #dueMs = 0
  #isClosed = false

  /** The first probe starts at once. */
  constructor(options: WorkerProbeOptions) {
    this.#options = options
    void this.#run()
  }

  /** Things changed: the next probe may be due earlier. */
  hasten(): void {
    if (this.#cancel === undefined) return
    const { timers, paceMs } = this.#options
    if (timers.nowMs() + paceMs() < this.#dueMs) this.#schedule()
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  async #run(): Promise<void> {
    this.#cancel = undefined
    await this.#options.probe()
    if (!this.#isClosed) this.#schedule()
  }

  #schedule(): void {
    const { timers, paceMs } = this.#options
    const ms = paceMs()
    this.#cancel?.()
    this.#dueMs = timers.nowMs() + ms
    this.#cancel = timers.after(ms, () => void this.#run())
  }
}
