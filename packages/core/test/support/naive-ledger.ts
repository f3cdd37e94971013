import type { BookingExpiry, RankLoad } from '../../src/index.js'

/** A request as the slow ledger keeps it. */
export interface NaiveBooking {
  readonly id: string
  readonly rank: string
  /** Every block by its place: the path up to it as text. */
  readonly places: readonly string[]
  readonly lora: string | undefined
  readonly startMs: number
  aliveMs: number
  isIdle: boolean
  isRelayed: boolean
  outputWeights: number[]
}

interface NaivePrefill {
  readonly id: string
  readonly tokens: number
  readonly durationMs: number | undefined
}

/** Ranks, prefills in order, and the weights of blocks that are in use. */
interface NaiveRank {
  prefills: NaivePrefill[]
  anchorSinceMs: number
  checkedMs: number
  readonly weights: Map<string, number>
}

const scanMs = 30_000

/** The rules of load accounting over plain objects; everything is counted when it is asked for. */
export class NaiveLedger {
  readonly bookings = new Map<string, NaiveBooking>()
  readonly ranks = new Map<string, NaiveRank>()
  booked = 0
  expired = 0
  readonly #expiry: BookingExpiry
  readonly #limit: number
  #scannedMs = -Infinity

  constructor(expiry: BookingExpiry, limit: number) {
    this.#expiry = expiry
    this.#limit = limit
  }

  setRanks(workerId: bigint, start: number, size: number, nowMs: number): void {
    const names = Array.from({ length: size }, (_, offset) => `${workerId}.${start + offset}`)
    for (const name of this.ranks.keys()) {
      if (!name.startsWith(`${workerId}.`) || names.includes(name)) continue
      this.dropRank(name, nowMs)
      this.ranks.delete(name)
    }
    for (const name of names) {
      if (!this.ranks.has(name))
        this.ranks.set(name, { prefills: [], anchorSinceMs: 0, checkedMs: nowMs, weights: new Map() })
    }
  }

  add(
    id: string,
    rank: string,
    path: readonly number[],
    prefill: { tokens: number; durationMs: number | undefined },
    rest: { lora: string | undefined; isRelayed: boolean },
    nowMs: number,
  ): string {
    const state = this.ranks.get(rank)
    if (state === undefined) return 'ROUTER_NOT_FOUND'
    if (this.bookings.has(id)) return 'ROUTER_DUPLICATE_REQUEST'
    if (this.#expiry.measure === 'age') this.#checkAge(rank, nowMs)
    if (this.bookings.size >= this.#limit) return 'ROUTER_ADMISSION_FULL'
    const places = path.map((_, end) => path.slice(0, end + 1).join('/'))
    const booking = {
      id,
      rank,
      places,
      startMs: nowMs,
      aliveMs: nowMs,
      isIdle: false,
      outputWeights: [],
      ...rest,
    }
    this.bookings.set(id, booking)
    this.booked++
    for (const place of places) if (!state.weights.has(place)) state.weights.set(place, 1)
    if (prefill.tokens > 0) {
      if (state.prefills.length === 0) state.anchorSinceMs = nowMs
      state.prefills.push({ id, ...prefill })
    }
    return 'ok'
  }

  complete(id: string, nowMs: number): boolean {
    const booking = this.bookings.get(id)
    if (booking === undefined) return false
    this.touch(id, nowMs)
    return this.#endPrefill(booking, nowMs)
  }

  output(id: string, fraction: number | undefined, nowMs: number): string {
    const booking = this.bookings.get(id)
    if (booking === undefined) return 'ROUTER_NOT_FOUND'
    this.touch(id, nowMs)
    booking.outputWeights.push(1)
    if (fraction === undefined) return 'ok'
    booking.outputWeights = booking.outputWeights.map(() => fraction)
    const { weights } = this.ranks.get(booking.rank)!
    for (const place of booking.places.toReversed()) {
      if (this.#on(booking.rank).some((other) => other !== booking && other.places.includes(place))) break
      weights.set(place, fraction)
    }
    return 'ok'
  }

  touch(id: string, nowMs: number): boolean {
    const booking = this.bookings.get(id)
    if (booking === undefined) return false
    booking.aliveMs = nowMs
    booking.isIdle = false
    return true
  }

  setRelayed(id: string, isRelayed: boolean, nowMs: number): boolean {
    if (!this.touch(id, nowMs)) return false
    this.bookings.get(id)!.isRelayed = isRelayed
    return true
  }

  free(id: string, nowMs: number): boolean {
    const booking = this.bookings.get(id)
    if (booking === undefined) return false
    this.#endPrefill(booking, nowMs)
    this.bookings.delete(id)
    const { weights } = this.ranks.get(booking.rank)!
    const rest = new Set(this.#on(booking.rank).flatMap(({ places }) => places))
    for (const place of booking.places) if (!rest.has(place)) weights.delete(place)
    return true
  }

  dropRank(rank: string, nowMs: number): number {
    const gone = this.#on(rank)
    for (const { id } of gone) this.free(id, nowMs)
    return gone.length
  }

  sweep(nowMs: number): number {
    const before = this.expired
    if (this.#expiry.measure === 'age') for (const rank of this.ranks.keys()) this.#checkAge(rank, nowMs)
    if (this.#expiry.measure === 'idle' && nowMs - this.#scannedMs >= scanMs) {
      this.#scannedMs = nowMs
      for (const booking of this.bookings.values()) {
        if (booking.isRelayed || booking.aliveMs >= nowMs - this.#expiry.afterMs) continue
        if (booking.isIdle) this.#expire(booking.id, nowMs)
        else booking.isIdle = true
      }
    }
    return this.expired - before
  }

  load(rank: string, nowMs: number): RankLoad {
    const { weights } = this.ranks.get(rank)!
    const outputs = this.#on(rank).flatMap(({ outputWeights }) => outputWeights)
    const blocks = [...weights.values(), ...outputs].reduce((sum, weight) => sum + weight, 0)
    return {
      activeBlocks: Math.floor(blocks + 0.5),
      activePrefillTokens: this.#activeTokens(rank, nowMs),
      activeRequests: this.#on(rank).length,
      modeledRemainingMs: this.#remainingMs(rank, nowMs),
    }
  }

  additionalBlocks(rank: string, path: readonly number[]): number {
    const { weights } = this.ranks.get(rank)!
    const depth = path.findIndex((_, end) => !weights.has(path.slice(0, end + 1).join('/')))
    return depth < 0 ? 0 : path.length - depth
  }

  loras(): [string, number][] {
    const names = [...this.bookings.values()].flatMap(({ lora }) => lora ?? [])
    return [...new Set(names)]
      .map((name): [string, number] => [name, names.filter((one) => one === name).length])
      .toSorted()
  }

  #on(rank: string): NaiveBooking[] {
    return [...this.bookings.values()].filter((booking) => booking.rank === rank)
  }

  #endPrefill({ id, rank }: NaiveBooking, nowMs: number): boolean {
    const state = this.ranks.get(rank)!
    const at = state.prefills.findIndex((prefill) => prefill.id === id)
    if (at < 0) return false
    const [ended] = state.prefills.splice(at, 1)
    if (at === 0) state.anchorSinceMs = nowMs
    else if (ended!.durationMs !== undefined)
      state.anchorSinceMs = Math.min(nowMs, state.anchorSinceMs + ended!.durationMs)
    return true
  }

  #activeTokens(rank: string, nowMs: number): number {
    const { prefills, anchorSinceMs } = this.ranks.get(rank)!
    const [anchor, ...others] = prefills
    const rest = others.reduce((sum, { tokens }) => sum + tokens, 0)
    if (anchor === undefined) return 0
    const { tokens, durationMs } = anchor
    if (durationMs === undefined) return rest + tokens
    const elapsedMs = nowMs - anchorSinceMs
    if (durationMs === 0) return rest
    if (others.every((prefill) => prefill.durationMs !== undefined))
      return Math.max(0, rest + tokens - Math.floor((tokens * elapsedMs) / durationMs))
    return rest + Math.ceil(tokens * Math.min(1, Math.max(0, 1 - elapsedMs / durationMs)))
  }

  #remainingMs(rank: string, nowMs: number): number | undefined {
    const { prefills, anchorSinceMs } = this.ranks.get(rank)!
    if (prefills.length === 0) return 0
    if (prefills.some(({ durationMs }) => durationMs === undefined)) return undefined
    return Math.max(
      0,
      prefills.reduce((sum, { durationMs }) => sum + durationMs!, 0) - (nowMs - anchorSinceMs),
    )
  }

  #checkAge(rank: string, nowMs: number): void {
    const state = this.ranks.get(rank)!
    if (this.#expiry.measure !== 'age' || nowMs - state.checkedMs < scanMs) return
    state.checkedMs = nowMs
    for (const { id, startMs } of this.#on(rank))
      if (startMs < nowMs - this.#expiry.afterMs) this.#expire(id, nowMs)
  }

  #expire(id: string, nowMs: number): void {
    this.free(id, nowMs)
    this.expired++
  }
}
