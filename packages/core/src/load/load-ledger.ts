import type { HashWords } from '@router/kv-index'
import { RouterError } from '@router/sdk'
import type { WorkerTable } from '../worker-table.js'
import { type LedgerViolation, auditLedger } from './audit.js'
import { BlockRegistry } from './block-registry.js'
import {
  checkBooking,
  checkCount,
  checkFraction,
  checkHashes,
  unknownRank,
  unknownRequest,
} from './booking-checks.js'
import { BookingStore } from './booking-store.js'
import {
  type ActiveLoad,
  type Booking,
  BookingBudget,
  type BookingExpiry,
  type PotentialLoad,
  type PotentialRequest,
  type RankLoad,
} from './booking.js'
import { ExpiryScan } from './expiry-scan.js'
import { capacityFor } from './growth.js'
import { LedgerClock } from './ledger-clock.js'
import { LoadColumns, activeBlocksOf } from './load-columns.js'
import { potentialLoads, rankAt } from './load-shapes.js'
import { PrefillQueues } from './prefill-queues.js'

const defaultExpiry: BookingExpiry = { measure: 'idle', afterMs: 300_000 }

/** Where a ledger keeps books, and what it may use. */
export interface LoadLedgerOptions {
  /** Its ranks; the ledger alone writes their load and reservations. */
  readonly table: WorkerTable
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number
  /** Default: idle for 300 s. */
  readonly expiry?: BookingExpiry
  /** Shared by the ledgers of a process. Default: one of its own. */
  readonly budget?: BookingBudget
  /** False (prefill pools): no hashes are kept, blocks read 0. Default true. */
  readonly tracksBlocks?: boolean
  /** True = durations of prefills are modelled, and the column `backlogMs` is kept too. Default false. */
  readonly modelsPrefillTime?: boolean
}

/**
 * What is in flight on the ranks of one partition and role: bookings, the prompt blocks that they share, prefill that melts with time.
 * One owner, called serially; warm it allocates nothing but what a `Map` of ids does. Ranks that leave the worker table lose their
 * bookings at once.
 */
export class LoadLedger {
  readonly table: WorkerTable
  readonly budget: BookingBudget
  /** Bookings ever added. */
  booked = 0
  /** Bookings that expired. */
  expired = 0
  readonly #registry = new BlockRegistry()
  readonly #bookings = new BookingStore()
  readonly #prefills = new PrefillQueues()
  readonly #state = { registry: this.#registry, bookings: this.#bookings, prefills: this.#prefills }
  readonly #loras = new Map<string, number>()
  readonly #clock: LedgerClock
  readonly #expiry: ExpiryScan
  readonly #tracksBlocks: boolean
  readonly #columns: LoadColumns
  readonly #stopListening: () => void
  // Room for slots below it.
  #slots = 16

  /** Errors: `ROUTER_BAD_REQUEST` for an expiry that is not positive. */
  constructor(options: LoadLedgerOptions) {
    const { table, expiry = defaultExpiry, tracksBlocks = true, modelsPrefillTime = false } = options
    this.table = table
    this.budget = options.budget ?? new BookingBudget()
    this.#clock = new LedgerClock(options.nowMs)
    this.#expiry = new ExpiryScan(expiry, this.#bookings, (booking, at) => this.#drop(booking, at))
    this.#tracksBlocks = tracksBlocks
    this.#columns = new LoadColumns(table, this.#state, modelsPrefillTime)
    this.#reserve(table.rowOfSlot.length)
    const nowMs = this.#clock.readAnyway()
    for (let slot = 0; slot < table.rowOfSlot.length; slot++) this.#expiry.join(slot, nowMs)
    this.#stopListening = table.onSlots((dropped, added) => this.#takeSlots(dropped, added))
  }

  /** Live bookings. */
  get live(): number {
    return this.#bookings.byId.size
  }

  /** Live bookings by adapter; adapters without any are absent. Read only. */
  get loras(): ReadonlyMap<string, number> {
    return this.#loras
  }

  has(requestId: string): boolean {
    return this.#bookings.byId.has(requestId)
  }

  /** Slot of the rank where a request is booked, -1 = it is not. */
  slotOf(requestId: string): number {
    const booking = this.#bookings.byId.get(requestId)
    return booking === undefined ? -1 : this.#bookings.rank[booking]!
  }

  /** Whether a request could be booked on some rank. Errors: `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`. */
  checkAdmission(requestId: string): void {
    if (this.has(requestId)) {
      const message = `request id '${requestId}' is booked already`
      throw new RouterError('ROUTER_DUPLICATE_REQUEST', message, { requestId })
    }
    if (this.budget.live < this.budget.limit) return
    const { limit } = this.budget
    throw new RouterError('ROUTER_ADMISSION_FULL', `${limit} bookings are live, the limit`, { limit })
  }

  /**
   * Books a request. Errors, in this order, each leaving everything as it was: `ROUTER_BAD_REQUEST` for values that cannot be or a clock
   * that went back, `ROUTER_NOT_FOUND` for an unknown rank, `ROUTER_DUPLICATE_REQUEST` for a live id, `ROUTER_ADMISSION_FULL`.
   */
  add(booking: Booking): void {
    checkBooking(booking)
    const nowMs = this.#clock.read()
    const { slot, requestId } = booking
    this.table.settle()
    if (!this.#isRank(slot)) throw unknownRank(slot)
    if (this.has(requestId)) this.checkAdmission(requestId)
    this.expired += this.#expiry.beforeAdd(slot, nowMs)
    this.checkAdmission(requestId)
    this.#book(booking, nowMs)
  }

  /** Ends the prefill of a request; false when it had none (any more) or is not booked. */
  markPrefillCompleted(requestId: string): boolean {
    const booking = this.#bookings.byId.get(requestId)
    if (booking === undefined) return false
    const nowMs = this.#clock.readAnyway()
    const slot = this.#bookings.rank[booking]!
    this.#keepAlive(booking, nowMs)
    if (!this.#prefills.remove(booking, slot, nowMs)) return false
    this.#columns.note(slot)
    return true
  }

  /**
   * Adds an output block. With a fraction in [0, 1] all output blocks of the request weigh that, and so do the blocks at the end of its
   * prompt that no other request of the rank shares; without one the block weighs 1. Where no blocks are tracked it is a sign of life alone. Errors: `ROUTER_BAD_REQUEST`, `ROUTER_NOT_FOUND`.
   */
  addOutputBlock(requestId: string, decayFraction?: number): void {
    checkFraction(decayFraction)
    const bookings = this.#bookings
    const booking = this.#booking(requestId)
    const slot = bookings.rank[booking]!
    this.#keepAlive(booking, this.#clock.readAnyway())
    if (!this.#tracksBlocks) return
    const blocks = ++bookings.outputBlocks[booking]!
    const before = bookings.outputWeight[booking]!
    const weight = decayFraction === undefined ? before + 1 : blocks * decayFraction
    bookings.outputWeight[booking] = weight
    bookings.outputWeightOfRank[slot]! += weight - before
    if (decayFraction !== undefined) this.#registry.weigh(slot, bookings.end[booking]!, decayFraction)
    this.#columns.note(slot)
  }

  /**
   * Share of the expected output that is still to come, for `addOutputBlock`; `undefined` when nobody said what to expect.
   * Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`.
   */
  outputFraction(requestId: string, generatedTokens: number): number | undefined {
    checkCount('generatedTokens', generatedTokens)
    const expected = this.#bookings.expectedOutputTokens[this.#booking(requestId)]!
    if (Number.isNaN(expected)) return undefined
    return generatedTokens < expected ? 1 - generatedTokens / expected : 0
  }

  /** Frees a request, its prefill included; false when it is not booked (any more). */
  free(requestId: string): boolean {
    const booking = this.#bookings.byId.get(requestId)
    if (booking === undefined) return false
    this.#drop(booking, this.#clock.readAnyway())
    return true
  }

  /** A sign of life, such as a relayed chunk; false when the request is not booked. */
  touch(requestId: string): boolean {
    const booking = this.#bookings.byId.get(requestId)
    if (booking === undefined) return false
    this.#keepAlive(booking, this.#clock.readAnyway())
    return true
  }

  /** Whether this process relays the request: then it never expires as idle. False when the request is not booked. */
  setRelayed(requestId: string, isRelayed: boolean): boolean {
    if (!this.touch(requestId)) return false
    this.#bookings.relayed[this.#booking(requestId)] = isRelayed ? 1 : 0
    return true
  }

  /** Drops the bookings of a rank, as `WorkerTable` does for one that leaves; how many. Their late frees return false. */
  dropRank(slot: number): number {
    const bookings = this.#bookings
    const nowMs = this.#clock.readAnyway()
    let dropped = 0
    for (let next = bookings.first[slot] ?? -1; next >= 0; next = bookings.first[slot]!) {
      this.#drop(next, nowMs)
      dropped++
    }
    return dropped
  }

  /** Drops the bookings of all ranks of a worker: another incarnation inherits nothing. How many. */
  dropWorker(workerId: bigint): number {
    const { table } = this
    const worker = table.workerIndexOf(workerId)
    if (worker < 0) return 0
    const first = table.firstRowOfWorker[worker]!
    const end = first + table.workers[worker]!.dataParallelSize
    let dropped = 0
    for (let row = first; row < end; row++) dropped += this.dropRank(table.slotOfRow[row]!)
    return dropped
  }

  /** Looks for bookings that expired, at most every 30 s (by age: each rank); how many it dropped. Error: `ROUTER_BAD_REQUEST`. */
  sweep(): number {
    const dropped = this.#expiry.scan(this.table, this.#clock.read())
    this.expired += dropped
    return dropped
  }

  /**
   * Writes the load of every rank into the columns of the table, with the blocks that a request with these tracking hashes adds. Call it
   * before each selection. Errors: `ROUTER_BAD_REQUEST`. Allocates nothing warm.
   */
  project(hashes?: HashWords, hashCount?: number): void {
    const count = checkHashes(hashes, hashCount)
    const tracked = this.#tracksBlocks ? count : 0
    this.#columns.write(hashes, tracked, this.#clock.read())
  }

  /** The load of a rank now. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`. */
  loadOf(slot: number): RankLoad {
    this.table.settle()
    if (!this.#isRank(slot)) throw unknownRank(slot)
    const nowMs = this.#clock.read()
    const remainingMs = this.#prefills.remainingMs(slot, nowMs)
    return {
      activeBlocks: activeBlocksOf(this.#state, slot),
      activePrefillTokens: this.#prefills.activeTokens(slot, nowMs),
      activeRequests: this.#bookings.requests[slot]!,
      modeledRemainingMs: Number.isNaN(remainingMs) ? undefined : remainingMs,
    }
  }

  /** What this ledger knows of a rank, as others report it. Errors: those of `loadOf`. */
  activeLoad(slot: number): ActiveLoad {
    const { activeBlocks, activePrefillTokens } = this.loadOf(slot)
    return {
      ...rankAt(this.table, this.table.rowOfSlot[slot]!),
      activeDecodeBlocks: activeBlocks,
      activePrefillTokens,
      schedulerLoadScope: 'local',
    }
  }

  /** Every rank with one more request, in canonical order. Leaves its projection in the columns. Error: `ROUTER_BAD_REQUEST`. */
  potentialLoads(request: PotentialRequest = {}): PotentialLoad[] {
    checkCount('promptTokens', request.promptTokens ?? 0)
    this.project(request.hashes, request.hashCount)
    return potentialLoads(this.table, request)
  }

  /** Recomputes every count from the live bookings; what differs, nothing when the books are right. Cost: everything booked. */
  audit(): LedgerViolation[] {
    return auditLedger(this.table, this.#state, this.#loras, this.budget)
  }

  /** Drops everything and stops listening to the table. Once, last. */
  dispose(): void {
    this.#stopListening()
    for (let slot = 0; slot < this.#bookings.first.length; slot++) this.dropRank(slot)
    this.#columns.release()
  }

  #book(booking: Booking, nowMs: number): void {
    const { slot, requestId, prefillTokens = 0, tracksPrefillTokens = true, lora, hashes } = booking
    const bookings = this.#bookings
    const record = bookings.add(requestId, slot, nowMs, booking.reservesOccupancy)
    this.#prefills.reserveBookings(bookings.capacity)
    if (hashes !== undefined && this.#tracksBlocks)
      bookings.end[record] = this.#registry.hold(slot, hashes, booking.hashCount ?? hashes.length >> 1)
    const tokens = tracksPrefillTokens ? prefillTokens : 0
    this.#prefills.add(record, slot, tokens, booking.prefillDurationMs ?? Number.NaN, nowMs)
    if (booking.expectedOutputTokens !== undefined)
      bookings.expectedOutputTokens[record] = booking.expectedOutputTokens
    if (booking.isRelayed === true) bookings.relayed[record] = 1
    if (lora !== undefined) {
      bookings.loras[record] = lora
      this.#loras.set(lora, (this.#loras.get(lora) ?? 0) + 1)
    }
    this.budget.live++
    this.booked++
    this.#columns.note(slot)
  }

  /** The one way out of the ledger. */
  #drop(booking: number, nowMs: number): void {
    const bookings = this.#bookings
    const slot = bookings.rank[booking]!
    const lora = bookings.loras[booking]
    this.#prefills.remove(booking, slot, nowMs)
    this.#registry.release(slot, bookings.end[booking]!)
    bookings.outputWeightOfRank[slot]! -= bookings.outputWeight[booking]!
    bookings.remove(booking)
    // Running sums of fractions would leave a rest.
    if (bookings.requests[slot] === 0) this.#registry.weight[slot] = bookings.outputWeightOfRank[slot] = 0
    if (lora !== undefined) {
      const left = this.#loras.get(lora)! - 1
      if (left > 0) this.#loras.set(lora, left)
      else this.#loras.delete(lora)
    }
    this.budget.live--
    this.#columns.note(slot)
  }

  #booking(requestId: string): number {
    const booking = this.#bookings.byId.get(requestId)
    if (booking === undefined) throw unknownRequest(requestId)
    return booking
  }

  #keepAlive(booking: number, nowMs: number): void {
    this.#bookings.aliveMs[booking] = nowMs
    this.#bookings.idle[booking] = 0
  }

  #isRank(slot: number): boolean {
    return (this.table.rowOfSlot[slot] ?? -1) >= 0
  }

  #takeSlots(dropped: readonly number[], added: readonly number[]): void {
    for (const slot of dropped) this.dropRank(slot)
    if (added.length === 0) return
    const nowMs = this.#clock.readAnyway()
    this.#reserve(Math.max(...added) + 1)
    for (const slot of added) this.#expiry.join(slot, nowMs)
  }

  #reserve(slots: number): void {
    if (slots <= this.#slots) return
    this.#slots = capacityFor(slots, this.#slots)
    this.#expiry.reserve(this.#slots)
    this.#registry.reserve(this.#slots)
    this.#bookings.reserveRanks(this.#slots)
    this.#prefills.reserveRanks(this.#slots)
  }
}
