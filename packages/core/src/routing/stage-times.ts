// Positions in the numbers; a double in a plain field would be boxed at every selection.
const hashing = 0
const matching = 1
const scheduling = 2
const lapStart = 3

/** Where the time of the last selection of a partition went, milliseconds on the clock of its core; overwritten by the next one. */
export class StageTimes {
  readonly #nowMs: () => number
  readonly #ms = new Float64Array(4)

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Hashes: those of blocks where the request came with tokens, and those that the books know blocks by. */
  get hashingMs(): number {
    return this.#ms[hashing]!
  }

  /** Finding what every rank holds of the prompt. */
  get matchingMs(): number {
    return this.#ms[matching]!
  }

  /** Loads, the policy, and the booking. */
  get schedulingMs(): number {
    return this.#ms[scheduling]!
  }

  /** When the stage before was over. */
  get sinceMs(): number {
    return this.#ms[lapStart]!
  }

  /** A selection begins. */
  begin(): void {
    this.#ms.fill(0, 0, lapStart)
    this.#ms[lapStart] = this.#nowMs()
  }

  /** The hashes are there. Returns the time. */
  hashed(): number {
    return this.#lap(hashing)
  }

  /** What ranks hold is known. */
  matched(): void {
    this.#lap(matching)
  }

  /** It is over. */
  scheduled(): void {
    this.#lap(scheduling)
  }

  #lap(stage: number): number {
    const nowMs = this.#nowMs()
    this.#ms[stage] = nowMs - this.#ms[lapStart]!
    this.#ms[lapStart] = nowMs
    return nowMs
  }
}
