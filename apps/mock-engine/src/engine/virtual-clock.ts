/** Milliseconds of virtual time, which runs `rate` times as fast as the given real time, never backwards; at rate 0 it stands still. */
export class VirtualClock {
  readonly #readMs: () => number
  #rate: number
  #realMs: number
  #virtualMs = 0

  /** `readMs` is monotonic real time in ms. */
  constructor(rate: number, readMs: () => number) {
    this.#readMs = readMs
    this.#rate = rate
    this.#realMs = readMs()
  }

  get nowMs(): number {
    return this.#virtualMs + (this.#readMs() - this.#realMs) * this.#rate
  }

  get isStopped(): boolean {
    return this.#rate === 0
  }

  /** From now on; what has passed stays as it was. */
  setRate(rate: number): void {
    const realMs = this.#readMs()
    this.#virtualMs += (realMs - this.#realMs) * this.#rate
    this.#realMs = realMs
    this.#rate = rate
  }

  /** Real ms until that virtual time; 0 or less = it has come, Infinity = never at this rate. */
  realMsUntil(virtualMs: number): number {
    return this.#rate === 0 ? Infinity : (virtualMs - this.nowMs) / this.#rate
  }
}
