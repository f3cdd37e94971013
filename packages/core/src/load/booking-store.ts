import { capacityFor, grownTo } from './growth.js'

const none = -1
const smallest = 16

/**
 * Records of live bookings as struct of arrays, named by a number that is used again, and the list of them by rank. Bounded by whoever
 * adds: it never shrinks below the most bookings that were live at once.
 */
export class BookingStore {
  /** Booking by request id. */
  readonly byId = new Map<string, number>()
  /** Request id, by booking; `undefined` = a free record. */
  readonly ids: (string | undefined)[] = []
  /** Adapter, by booking. */
  readonly loras: (string | undefined)[] = []
  rank = new Int32Array(smallest)
  /** Edge where its prompt blocks end, by booking. */
  end = new Int32Array(smallest)
  startMs = new Float64Array(smallest)
  /** Last sign of life, by booking. */
  aliveMs = new Float64Array(smallest)
  /** 1 = a scan found it idle since its last sign of life. */
  idle = new Uint8Array(smallest)
  /** 1 = this process relays the request: it never expires as idle. */
  relayed = new Uint8Array(smallest)
  /** 1 = it counts as a reservation of its rank. */
  reserves = new Uint8Array(smallest)
  outputBlocks = new Int32Array(smallest)
  /** Sum of the weights of its output blocks, by booking. */
  outputWeight = new Float64Array(smallest)
  /** Tokens; NaN = not said. */
  expectedOutputTokens = new Float64Array(smallest)
  /** The next booking of the same rank, by booking; -1 = none. */
  next = new Int32Array(smallest)
  /** First booking, by rank; -1 = none. */
  first = new Int32Array(smallest).fill(none)
  /** Live bookings, by rank. */
  requests = new Int32Array(smallest)
  /** Those that count as reservations, by rank. */
  reservations = new Int32Array(smallest)
  /** Sum of the weights of output blocks, by rank. */
  outputWeightOfRank = new Float64Array(smallest)
  #previous = new Int32Array(smallest)
  #free = none

  /** Records, live or free. */
  get capacity(): number {
    return this.rank.length
  }

  /** Makes room for ranks below `ranks`. */
  reserveRanks(ranks: number): void {
    if (ranks <= this.first.length) return
    this.first = grownTo(this.first, ranks, none)
    this.requests = grownTo(this.requests, ranks)
    this.reservations = grownTo(this.reservations, ranks)
    this.outputWeightOfRank = grownTo(this.outputWeightOfRank, ranks)
  }

  /** A record for a request on a rank, everything else at its start value. */
  add(id: string, rank: number, nowMs: number, reserves = true): number {
    const booking = this.#take()
    this.byId.set(id, booking)
    this.ids[booking] = id
    this.rank[booking] = rank
    this.end[booking] = 0
    this.startMs[booking] = this.aliveMs[booking] = nowMs
    this.idle[booking] = this.relayed[booking] = 0
    this.outputBlocks[booking] = this.outputWeight[booking] = 0
    this.expectedOutputTokens[booking] = Number.NaN
    const first = this.first[rank]!
    this.next[booking] = first
    this.#previous[booking] = none
    if (first !== none) this.#previous[first] = booking
    this.first[rank] = booking
    this.requests[rank]!++
    this.reserves[booking] = reserves ? 1 : 0
    this.reservations[rank]! += this.reserves[booking]!
    return booking
  }

  remove(booking: number): void {
    const rank = this.rank[booking]!
    const next = this.next[booking]!
    const previous = this.#previous[booking]!
    if (previous === none) this.first[rank] = next
    else this.next[previous] = next
    if (next !== none) this.#previous[next] = previous
    this.requests[rank]!--
    this.reservations[rank]! -= this.reserves[booking]!
    this.byId.delete(this.ids[booking]!)
    this.ids[booking] = this.loras[booking] = undefined
    this.next[booking] = this.#free
    this.#free = booking
  }

  #take(): number {
    const freed = this.#free
    if (freed !== none) {
      this.#free = this.next[freed]!
      return freed
    }
    const booking = this.ids.length
    this.ids.push(undefined)
    this.loras.push(undefined)
    if (booking === this.capacity) this.#grow(capacityFor(booking + 1, this.capacity))
    return booking
  }

  #grow(capacity: number): void {
    this.rank = grownTo(this.rank, capacity)
    this.end = grownTo(this.end, capacity)
    this.startMs = grownTo(this.startMs, capacity)
    this.aliveMs = grownTo(this.aliveMs, capacity)
    this.idle = grownTo(this.idle, capacity)
    this.relayed = grownTo(this.relayed, capacity)
    this.reserves = grownTo(this.reserves, capacity)
    this.outputBlocks = grownTo(this.outputBlocks, capacity)
    this.outputWeight = grownTo(this.outputWeight, capacity)
    this.expectedOutputTokens = grownTo(this.expectedOutputTokens, capacity)
    this.next = grownTo(this.next, capacity)
    this.#previous = grownTo(this.#previous, capacity)
  }
}
