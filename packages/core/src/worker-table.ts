import { RouterError, type WorkerInfo } from '@router/sdk'
import { type Column, ColumnMemory } from './column-memory.js'
import { EligibleRanks } from './eligible-ranks.js'
import { type HostLoops, hostLoopsFor } from './host-loops.js'
import { RankColumns } from './rank-columns.js'
import { SlotList } from './slot-list.js'
import { SlotRegistry } from './slot-registry.js'
import { TaintIndex } from './taint-index.js'
import { type WorkerRecord, workerInfoFrom } from './worker-record.js'

type SlotListener = (dropped: readonly number[], added: readonly number[]) => void
const noSlots: readonly number[] = []

/**
 * The ranks of one routing partition and role as struct of arrays. *Rows* are positions in the columns, always in canonical
 * `(workerId, dpRank)` order; a *slot* names a rank for as long as it stays. Changes of workers are applied at the next use.
 */
export class WorkerTable {
  readonly memory: ColumnMemory
  readonly loops: HostLoops
  /** Every known rank. */
  readonly columns: RankColumns
  readonly taints = new TaintIndex()
  /** The ranks that are available and not overloaded, kept dense beside `columns`. */
  readonly eligible: EligibleRanks
  /** Bumped when workers joined, left or changed. */
  workersVersion = 0
  /** Rows of the table. */
  count = 0
  rowOfSlot = new Int32Array(16).fill(-1)
  slotOfRow = new Int32Array(16)
  /** Index into `workers` by row. */
  workerOfRow = new Int32Array(16)
  firstRowOfWorker = new Int32Array(16)
  /** 1 = no inclusion set, or the worker is in it; by index into `workers`. */
  available = new Uint8Array(16)
  /** 1 = overloaded, by row. */
  readonly overloaded: Column<Uint8Array>
  readonly #written: Column<Uint8Array>
  readonly #slots = new SlotRegistry()
  readonly #departureListeners = new Set<(workerId: bigint) => void>()
  readonly #slotListeners = new Set<SlotListener>()
  #workers: readonly WorkerInfo[] = []
  #availableIds: ReadonlySet<bigint> | undefined
  // Rows with an overlap to clear; a row is listed once.
  readonly #writtenSlots = new SlotList()
  #isSettled = true

  /** @param options `webAssembly: false` keeps the columns in a plain buffer, and every loop in JavaScript. */
  constructor(options: { readonly webAssembly?: boolean } = {}) {
    this.memory = new ColumnMemory(options.webAssembly ?? true)
    this.loops = hostLoopsFor(this.memory)
    this.columns = new RankColumns(this.memory)
    this.overloaded = this.memory.column('uint8')
    this.#written = this.memory.column('uint8')
    this.eligible = new EligibleRanks(this)
  }

  /** Every worker, ascending by id. */
  get workers(): readonly WorkerInfo[] {
    this.settle()
    return this.#workers
  }

  /** Ranks in the table. */
  get slotCount(): number {
    this.settle()
    return this.count
  }

  /** Adds a worker or replaces what is known of it; ranks that stay keep their slot and columns. Error: `ROUTER_BAD_REQUEST`. */
  upsertWorker(record: WorkerRecord): void {
    const { added, dropped } = this.#slots.upsert(workerInfoFrom(record))
    if (this.#slots.size > this.rowOfSlot.length) this.rowOfSlot = grown(this.rowOfSlot, this.#slots.size)
    this.#forget(dropped)
    this.#forget(added)
    this.#unsettle()
    for (const listener of this.#slotListeners) listener(dropped, added)
  }

  /** Calls `listener` with the id of each worker that is removed, at once; returns how to stop. */
  onDeparture(listener: (workerId: bigint) => void): () => void {
    this.#departureListeners.add(listener)
    return () => void this.#departureListeners.delete(listener)
  }

  /** Calls `listener` with the slots that stand for no rank any more and those that stand for a new one, at once; returns how to stop. */
  onSlots(listener: SlotListener): () => void {
    this.#slotListeners.add(listener)
    return () => void this.#slotListeners.delete(listener)
  }

  /** Forgets a worker and everything of its ranks; false when it was unknown. */
  removeWorker(workerId: bigint): boolean {
    const slots = this.#slots.remove(workerId)
    if (slots === undefined) return false
    for (const listener of this.#departureListeners) listener(workerId)
    this.#forget(slots)
    this.#unsettle()
    for (const listener of this.#slotListeners) listener(slots, noSlots)
    return true
  }

  /** The authoritative inclusion set; `undefined` = no source, empty = nothing routable. */
  setAvailableWorkers(ids: readonly bigint[] | undefined): void {
    this.settle()
    this.#availableIds = ids === undefined ? undefined : new Set(ids)
    this.#refreshAvailability()
  }

  /** Whether the inclusion set, if any, holds the id, known or not. */
  isRoutable(workerId: bigint): boolean {
    return this.#availableIds === undefined || this.#availableIds.has(workerId)
  }

  /** Replaces the overloaded ranks by all ranks of these workers; unknown ids are ignored. */
  setOverloadedWorkers(ids: readonly bigint[]): void {
    this.settle()
    this.overloaded.view.fill(0, 0, this.count)
    for (const id of ids) {
      const worker = this.workerIndexOf(id)
      if (worker < 0) continue
      const first = this.firstRowOfWorker[worker]!
      this.overloaded.view.fill(1, first, first + this.#workers[worker]!.dataParallelSize)
    }
    this.eligible.invalidate()
  }

  setOverloaded(slot: number, overloaded: boolean): void {
    const row = this.#row(slot)
    const flag = overloaded ? 1 : 0
    if (this.overloaded.view[row] === flag) return
    this.overloaded.view[row] = flag
    this.eligible.invalidate()
  }

  /** Slot of a rank, -1 when it is not in the table. `O(log workers)`, allocates nothing. */
  slotOf(workerId: bigint, dpRank: number): number {
    const row = this.rowOf(workerId, dpRank)
    return row < 0 ? -1 : this.slotOfRow[row]!
  }

  /** Row of a rank, -1 when it is not in the table. */
  rowOf(workerId: bigint, dpRank: number): number {
    const worker = this.workerIndexOf(workerId)
    if (worker < 0) return -1
    const { dataParallelStartRank: start, dataParallelSize: size } = this.#workers[worker]!
    const isRank = dpRank >= start && dpRank < start + size && Number.isInteger(dpRank)
    return isRank ? this.firstRowOfWorker[worker]! + dpRank - start : -1
  }

  /** Index into `workers`, -1 when unknown. */
  workerIndexOf(workerId: bigint): number {
    this.settle()
    const index = this.#slots.search(workerId)
    return this.#workers[index]?.workerId === workerId ? index : -1
  }

  /** Load of a rank, projected for the next selection. Tokens, blocks (this request included), count; all finite. */
  setLoad(slot: number, activePrefillTokens: number, decodeCostBlocks: number, activeRequests: number): void {
    const row = this.#row(slot)
    this.columns.writeLoad(row, activePrefillTokens, decodeCostBlocks, activeRequests)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0)
      this.eligible.columns.writeLoad(dense, activePrefillTokens, decodeCostBlocks, activeRequests)
  }

  /** No projection for this rank, as at the start. */
  clearLoad(slot: number): void {
    const row = this.#row(slot)
    this.columns.writeUnknownLoad(row)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0) this.eligible.columns.writeUnknownLoad(dense)
  }

  /** Overlap of the next request with a rank. Blocks per tier, estimate in blocks and tokens; all finite. */
  setOverlap(
    slot: number,
    device: number,
    host: number,
    disk: number,
    estimateBlocks: number,
    estimateTokens: number,
  ): void {
    const row = this.#row(slot)
    this.#noteWritten(slot, row)
    this.columns.writeOverlap(row, device, host, disk, estimateBlocks, estimateTokens)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0)
      this.eligible.columns.writeOverlap(dense, device, host, disk, estimateBlocks, estimateTokens)
  }

  /** The cache state of this rank is unknown (events on, source never delivered), until `setOverlap` or `clearOverlaps`. */
  setCacheUnknown(slot: number): void {
    const row = this.#row(slot)
    this.#noteWritten(slot, row)
    this.columns.writeUnknownCache(row)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0) this.eligible.columns.writeUnknownCache(dense)
  }

  /** Back to "cold" everywhere. Clears only what was written. */
  clearOverlaps(): void {
    this.settle()
    const { slots, count } = this.#writtenSlots
    for (let index = 0; index < count; index++) {
      const row = this.rowOfSlot[slots[index]!]!
      this.#written.view[row] = 0
      this.columns.writeOverlap(row, 0, 0, 0, 0, 0)
      const dense = this.eligible.rowOf(row)
      if (dense >= 0) this.eligible.columns.writeOverlap(dense, 0, 0, 0, 0, 0)
    }
    this.#writtenSlots.clear()
  }

  /** Host reservations of a rank, and encoder-cache entries of the next request on its worker. */
  setOccupancy(slot: number, reservations: number, cacheHits: number): void {
    this.setReservations(slot, reservations)
    this.setCacheHits(slot, cacheHits)
  }

  /** Host reservations of a rank: written by its `LoadLedger`, where it has one. */
  setReservations(slot: number, reservations: number): void {
    const row = this.#row(slot)
    this.columns.writeReservations(row, reservations)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0) this.eligible.columns.writeReservations(dense, reservations)
  }

  /** Encoder-cache entries of the next request on the worker of a rank. */
  setCacheHits(slot: number, cacheHits: number): void {
    const row = this.#row(slot)
    this.columns.writeCacheHits(row, cacheHits)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0) this.eligible.columns.writeCacheHits(dense, cacheHits)
  }

  /** Modelled prefill backlog of a rank, milliseconds; NaN = unknown, as at the start. */
  setPrefillBacklog(slot: number, backlogMs: number): void {
    const row = this.#row(slot)
    this.columns.writePrefillBacklog(row, backlogMs)
    const dense = this.eligible.rowOf(row)
    if (dense >= 0) this.eligible.columns.writePrefillBacklog(dense, backlogMs)
  }

  /** Applies pending changes of workers. Cheap when there are none. */
  settle(): void {
    if (!this.#isSettled) this.#settle()
  }

  #unsettle(): void {
    this.#isSettled = false
    this.workersVersion++
  }

  #settle(): void {
    const { entries } = this.#slots
    const count = entries.reduce((sum, entry) => sum + entry.slots.length, 0)
    // May fail for want of memory; then the next use tries again.
    this.memory.reserve(count)
    this.#isSettled = true
    if (count > this.slotOfRow.length) {
      this.slotOfRow = grown(this.slotOfRow, count)
      this.workerOfRow = grown(this.workerOfRow, count)
    }
    if (entries.length > this.firstRowOfWorker.length) {
      this.firstRowOfWorker = grown(this.firstRowOfWorker, entries.length)
    }
    this.#workers = entries.map((entry) => entry.info)
    const oldRows = new Int32Array(count)
    let row = 0
    for (const [worker, { slots }] of entries.entries()) {
      this.firstRowOfWorker[worker] = row
      for (const slot of slots) {
        oldRows[row] = this.rowOfSlot[slot]!
        this.rowOfSlot[slot] = row
        this.slotOfRow[row] = slot
        this.workerOfRow[row++] = worker
      }
    }
    for (const column of [...this.columns.all(), this.overloaded, this.#written]) {
      const old = column.view.slice(0, this.count)
      for (let to = 0; to < count; to++) column.view[to] = oldRows[to]! < 0 ? 0 : old[oldRows[to]!]!
    }
    this.count = count
    for (let to = 0; to < count; to++) this.#describe(to, oldRows[to]! < 0)
    this.columns.recount(count)
    this.taints.rebuild(this.#workers)
    this.#refreshAvailability()
  }

  /** Fills what follows from the worker's record, and the initial state of a new row. */
  #describe(row: number, isNew: boolean): void {
    const worker = this.workerOfRow[row]!
    const info = this.#workers[worker]!
    const { identity, capacity, occupancy } = this.columns.views
    identity!.workerIdHigh[row] = Number(info.workerId >> 32n)
    identity!.workerIdLow[row] = Number(info.workerId & 0xffff_ffffn)
    identity!.dpRank[row] = info.dataParallelStartRank + row - this.firstRowOfWorker[worker]!
    capacity!.totalKvBlocks[row] = info.totalKvBlocks ?? Number.NaN
    capacity!.maxNumBatchedTokens[row] = info.maxNumBatchedTokens ?? Number.NaN
    occupancy!.deviceKind[row] = info.deviceKind === 'cpu' ? 1 : 0
    if (!isNew) return
    this.columns.writeUnknownLoad(row)
    this.columns.writeOverlap(row, 0, 0, 0, 0, 0)
    this.columns.writePrefillBacklog(row, Number.NaN)
  }

  #refreshAvailability(): void {
    if (this.available.length < this.#workers.length)
      this.available = new Uint8Array(this.#workers.length * 2)
    for (const [worker, { workerId }] of this.#workers.entries()) {
      this.available[worker] = this.isRoutable(workerId) ? 1 : 0
    }
    this.eligible.invalidate()
  }

  #noteWritten(slot: number, row: number): void {
    if (this.#written.view[row] === 1) return
    this.#written.view[row] = 1
    this.#writtenSlots.push(slot)
  }

  /** These slots stand for no row any more, or not yet. */
  #forget(slots: readonly number[]): void {
    if (slots.length === 0) return
    for (const slot of slots) this.rowOfSlot[slot] = -1
    this.#writtenSlots.remove(new Set(slots))
  }

  #row(slot: number): number {
    this.settle()
    const row = this.rowOfSlot[slot] ?? -1
    if (row >= 0) return row
    throw new RouterError('ROUTER_BAD_REQUEST', `slot ${slot} names no rank of the worker table`, { slot })
  }
}

function grown(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(length, array.length * 2)).fill(-1)
  larger.set(array)
  return larger
}
