/** Share of the requests in flight that may be retries, and how many are allowed however few there are (host.md 17.0). */
const share = 0.2
const leastAllowed = 3

/**
 * Keeps a sick fleet from being hit several times as hard: bounds the retries in flight of a whole proxy. Who finds no place waits for one,
 * first come, first served. Those that wait are requests in flight: no more than there are of them.
 */
export class RetryBudget {
  readonly #waiting = new Set<() => void>()
  #requests = 0
  #retries = 0
  #isGranting = false

  /** Requests that wait for a further try. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** A request began. */
  joined(): void {
    this.#requests++
    this.#grant()
  }

  /** A request is over. */
  left(): void {
    this.#requests--
  }

  /** Calls `start`, which must not throw, as soon as there is a place for a further try: at once, or later. `giveBack` it when that try is over. */
  ask(start: () => void): void {
    this.#waiting.add(start)
    this.#grant()
  }

  /** `start` is not to be called any more. */
  withdraw(start: () => void): void {
    this.#waiting.delete(start)
  }

  giveBack(): void {
    this.#retries--
    this.#grant()
  }

  #grant(): void {
    // A try that ends at once gives its place back in here: the loop below sees it.
    if (this.#isGranting) return
    this.#isGranting = true
    try {
      for (const start of this.#waiting) {
        if (this.#retries >= Math.max(leastAllowed, Math.floor(share * this.#requests))) break
        this.#waiting.delete(start)
        this.#retries++
        start()
      }
    } finally {
      this.#isGranting = false
    }
  }
}
