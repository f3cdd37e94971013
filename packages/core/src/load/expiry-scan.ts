import type { WorkerTable } from '../worker-table.js'
import { bad } from './booking-checks.js'
import type { BookingStore } from './booking-store.js'
import type { BookingExpiry } from './booking.js'
import { grownTo } from './growth.js'

const intervalMs = 30_000

/** Finds the bookings that nobody frees. */
export class ExpiryScan {
  readonly #expiry: BookingExpiry
  readonly #bookings: BookingStore
  readonly #drop: (booking: number, nowMs: number) => void
  // By slot, for expiry by age.
  #checkedMs = new Float64Array(16)
  readonly #scannedMs = new Float64Array(1).fill(-Infinity)

  /** Error: `ROUTER_BAD_REQUEST` for a time that is not positive. */
  constructor(expiry: BookingExpiry, bookings: BookingStore, drop: (booking: number, nowMs: number) => void) {
    if (!['idle', 'age', 'never'].includes(expiry.measure))
      throw bad('expiry.measure', expiry.measure, 'idle, age or never')
    if (expiry.measure !== 'never' && !(expiry.afterMs > 0))
      throw bad('expiry.afterMs', expiry.afterMs, 'a number > 0')
    this.#expiry = expiry
    this.#bookings = bookings
    this.#drop = drop
  }

  /** Makes room for ranks below `ranks`. */
  reserve(ranks: number): void {
    if (ranks > this.#checkedMs.length) this.#checkedMs = grownTo(this.#checkedMs, ranks)
  }

  /** A rank that joins counts as checked. */
  join(slot: number, nowMs: number): void {
    this.#checkedMs[slot] = nowMs
  }

  /** Before a booking on a rank: by age alone; how many went. */
  beforeAdd(slot: number, nowMs: number): number {
    return this.#expiry.measure === 'age' ? this.#dropOld(slot, this.#expiry.afterMs, nowMs) : 0
  }

  /** All ranks; how many went. */
  scan(table: WorkerTable, nowMs: number): number {
    const expiry = this.#expiry
    if (expiry.measure === 'never') return 0
    if (expiry.measure === 'idle') return this.#dropIdle(expiry.afterMs, nowMs)
    const { slotCount, slotOfRow } = table
    let dropped = 0
    for (let row = 0; row < slotCount; row++) dropped += this.#dropOld(slotOfRow[row]!, expiry.afterMs, nowMs)
    return dropped
  }

  #dropIdle(afterMs: number, nowMs: number): number {
    if (nowMs - this.#scannedMs[0]! < intervalMs) return 0
    this.#scannedMs[0] = nowMs
    const { ids, aliveMs, idle, relayed } = this.#bookings
    let dropped = 0
    for (let booking = 0; booking < ids.length; booking++) {
      if (ids[booking] === undefined || relayed[booking] === 1) continue
      if (aliveMs[booking]! >= nowMs - afterMs) continue
      if (idle[booking] === 1) {
        this.#drop(booking, nowMs)
        dropped++
      }
      idle[booking] = 1
    }
    return dropped
  }

  #dropOld(slot: number, afterMs: number, nowMs: number): number {
    if (nowMs - this.#checkedMs[slot]! < intervalMs) return 0
    this.#checkedMs[slot] = nowMs
    const bookings = this.#bookings
    let dropped = 0
    let next: number
    for (let booking = bookings.first[slot]!; booking >= 0; booking = next) {
      next = bookings.next[booking]!
      if (bookings.startMs[booking]! >= nowMs - afterMs) continue
      this.#drop(booking, nowMs)
      dropped++
    }
    return dropped
  }
}
