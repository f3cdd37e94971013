import { grownTo } from './growth.js'

const none = -1

/**
 * Prefill load of ranks and how it melts away with time (`activeTokens`). The tracked prefills of a rank stand in order of arrival; the
 * oldest is the *anchor*, the one that the engine is taken to work on, and a clock runs since it became so. All times milliseconds.
 */
export class PrefillQueues {
  /** Effective tokens, by booking; 0 = not tracked, or completed. */
  tokens = new Float64Array(16)
  /** Modelled duration, by booking; NaN = no model. */
  durationMs = new Float64Array(16)
  /** Tracked prefills, by rank. */
  count = new Int32Array(16)
  /** Those without a model, by rank. */
  unmodelled = new Int32Array(16)
  /** By rank, nothing deducted. */
  tokenSum = new Float64Array(16)
  /** Of the modelled ones, by rank. */
  durationSumMs = new Float64Array(16)
  /** Oldest booking, by rank; -1 = none. */
  anchor = new Int32Array(16).fill(none)
  /** When its clock starts, by rank. */
  anchorSinceMs = new Float64Array(16)
  /** The next younger booking, by booking; -1 = none. */
  younger = new Int32Array(16)
  #older = new Int32Array(16)
  #youngest = new Int32Array(16).fill(none)

  /** Makes room for ranks below `ranks`. */
  reserveRanks(ranks: number): void {
    if (ranks <= this.count.length) return
    this.count = grownTo(this.count, ranks)
    this.unmodelled = grownTo(this.unmodelled, ranks)
    this.tokenSum = grownTo(this.tokenSum, ranks)
    this.durationSumMs = grownTo(this.durationSumMs, ranks)
    this.anchor = grownTo(this.anchor, ranks, none)
    this.anchorSinceMs = grownTo(this.anchorSinceMs, ranks)
    this.#youngest = grownTo(this.#youngest, ranks, none)
  }

  /** Makes room for bookings below `bookings`. */
  reserveBookings(bookings: number): void {
    if (bookings <= this.tokens.length) return
    this.tokens = grownTo(this.tokens, bookings)
    this.durationMs = grownTo(this.durationMs, bookings)
    this.younger = grownTo(this.younger, bookings)
    this.#older = grownTo(this.#older, bookings)
  }

  /** Tracks the prefill of a booking; 0 tokens are not tracked. `durationMs` NaN = no model. */
  add(booking: number, rank: number, tokens: number, durationMs: number, nowMs: number): void {
    this.tokens[booking] = tokens
    this.durationMs[booking] = durationMs
    if (tokens === 0) return
    const youngest = this.#youngest[rank]!
    this.#older[booking] = youngest
    this.younger[booking] = none
    this.#youngest[rank] = booking
    if (youngest === none) this.#anchor(rank, booking, nowMs)
    else this.younger[youngest] = booking
    this.count[rank]!++
    this.tokenSum[rank]! += tokens
    if (Number.isNaN(durationMs)) this.unmodelled[rank]!++
    else this.durationSumMs[rank]! += durationMs
  }

  /**
   * Ends the tracking of a prefill; false when it was not tracked (any more). When another than the anchor ends, the time since the
   * anchor's start is taken to have done that work, so its clock moves on by that duration.
   */
  remove(booking: number, rank: number, nowMs: number): boolean {
    const tokens = this.tokens[booking]!
    if (tokens === 0) return false
    const durationMs = this.durationMs[booking]!
    const isModelled = !Number.isNaN(durationMs)
    const older = this.#older[booking]!
    const younger = this.younger[booking]!
    if (older === none) {
      this.#anchor(rank, younger, nowMs)
    } else {
      this.younger[older] = younger
      if (isModelled) {
        const later = this.anchorSinceMs[rank]! + durationMs
        this.anchorSinceMs[rank] = later < nowMs ? later : nowMs
      }
    }
    if (younger === none) this.#youngest[rank] = older
    else this.#older[younger] = older
    this.tokens[booking] = 0
    this.count[rank]!--
    this.tokenSum[rank]! -= tokens
    if (isModelled) this.durationSumMs[rank]! -= durationMs
    else this.unmodelled[rank]!--
    // A running sum of fractions would leave a rest.
    if (this.count[rank] === this.unmodelled[rank]) this.durationSumMs[rank] = 0
    return true
  }

  /** Tokens still in prefill on a rank at a time. */
  activeTokens(rank: number, nowMs: number): number {
    const sum = this.tokenSum[rank]!
    const anchor = this.anchor[rank]!
    if (anchor === none) return 0
    const tokens = this.tokens[anchor]!
    const durationMs = this.durationMs[anchor]!
    const elapsedMs = nowMs - this.anchorSinceMs[rank]!
    if (this.unmodelled[rank] === 0) {
      const completed = durationMs === 0 ? tokens : Math.floor((tokens * elapsedMs) / durationMs)
      return completed < sum ? sum - completed : 0
    }
    if (Number.isNaN(durationMs)) return sum
    // A duration of 0 gives -Infinity, or NaN at the start; both leave nothing.
    const rest = 1 - elapsedMs / durationMs
    return sum - tokens + Math.ceil(tokens * (rest > 0 ? rest : 0))
  }

  /** Modelled time until a rank has done its prefills; NaN when one has no model, 0 with none. */
  remainingMs(rank: number, nowMs: number): number {
    if (this.count[rank] === 0) return 0
    if (this.unmodelled[rank]! > 0) return Number.NaN
    const remaining = this.durationSumMs[rank]! - (nowMs - this.anchorSinceMs[rank]!)
    return remaining > 0 ? remaining : 0
  }

  /** Whether time alone changes the load of a rank. */
  melts(rank: number): boolean {
    const anchor = this.anchor[rank]!
    return anchor !== none && !Number.isNaN(this.durationMs[anchor]!)
  }

  #anchor(rank: number, booking: number, nowMs: number): void {
    this.anchor[rank] = booking
    this.anchorSinceMs[rank] = nowMs
  }
}
