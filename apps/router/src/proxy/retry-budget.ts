/** Share of the requests in flight that may be retries, and how many are allowed however few there are (host.md 17.0). */
const share = 0.2
const leastAllowed = 3

/** Keeps a sick fleet from being hit several times as hard: bounds the retries in flight of a whole proxy. */
export class RetryBudget {
  /** Requests in flight, those that are being retried included. */
  requests = 0
  /** Of them, those that are at a further try. */
  retries = 0

  /** Takes a place, if there is one; `giveBack` it when that try is over. */
  take(): boolean {
    if (this.retries >= Math.max(leastAllowed, Math.floor(share * this.requests))) return false
    this.retries++
    return true
  }

  giveBack(): void {
    this.retries--
  }
}
