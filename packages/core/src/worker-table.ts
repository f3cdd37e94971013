import { RouterError, type WorkerInfo } from '@router/sdk'
import { type Column, ColumnMemory } from './column-memory.js'
import { ColumnSet, type GroupName } from './column-set.js'
import { type HostLoops, hostLoopsFor } from './host-loops.js'
import { TaintIndex } from './taint-index.js'
import { type WorkerRecord, workerInfoFrom } from './worker-record.js'

const storedGroups: readonly GroupName[] = [
  'identity',
  'cache',
  'load',
  'capacity',
  'occupancy',
  'prefillTime',
]

interface WorkerEntry {
  info: WorkerInfo
  slots: readonly number[]
}

/**
 * The ranks of one routing partition and role as struct of arrays. *Rows* are positions in the columns, always in canonical
 * `(workerId, dpRank)` order; a *slot* names a rank for as long as it stays. Changes of workers are applied at the next use.
 */
export class WorkerTable {
  readonly memory: ColumnMemory
  readonly loops: HostLoops
  readonly columns: ColumnSet
  readonly taints = new TaintIndex()
  /** Bumped when workers joined, left or changed. */
  workersVersion = 0
  /** Bumped when a worker or rank became, or stopped being, available or overloaded. */
  flagsVersion = 0
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
  readonly #touched: Column<Uint8Array>
  #entries: WorkerEntry[] = []
  #workers: WorkerInfo[] = []
  #freeSlots: number[] = []
  #slots = 0
  #availableIds: ReadonlySet<bigint> | undefined
  #touchedSlots: number[] = []
  #unknownLoads = 0
  #unknownCaches = 0
  #unsettled = false

  /** @param options `webAssembly: false` keeps the columns in a plain buffer, and every loop in JavaScript. */
  constructor(options: { readonly webAssembly?: boolean } = {}) {
    this.memory = new ColumnMemory(options.webAssembly ?? true)
    this.loops = hostLoopsFor(this.memory.webAssemblyMemory)
    this.columns = new ColumnSet(this.memory, storedGroups)
    this.overloaded = this.memory.column('uint8')
    this.#touched = this.memory.column('uint8')
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

  /** Rows without a load projection. */
  get unknownLoads(): number {
    return this.#unknownLoads
  }

  /** Rows whose cache state is unknown. */
  get unknownCaches(): number {
    return this.#unknownCaches
  }

  /** Adds a worker or replaces what is known of it; ranks that stay keep their slot and columns. Error: `ROUTER_BAD_REQUEST`. */
  upsertWorker(record: WorkerRecord): void {
    const info = workerInfoFrom(record)
    const index = this.#search(info.workerId)
    const known = this.#entries[index]?.info.workerId === info.workerId ? this.#entries[index] : undefined
    const { dataParallelStartRank: start, dataParallelSize: size } = info
    const slots = Array.from({ length: size }, (_, offset) => {
      const kept = known?.slots[start + offset - known.info.dataParallelStartRank]
      return kept ?? this.#newSlot()
    })
    for (const slot of known?.slots ?? []) if (!slots.includes(slot)) this.#dropSlot(slot)
    if (known === undefined) this.#entries.splice(index, 0, { info, slots })
    else Object.assign(known, { info, slots })
    this.#unsettled = true
    this.workersVersion++
  }

  /** Forgets a worker and everything of its ranks; false when it was unknown. */
  removeWorker(workerId: bigint): boolean {
    const index = this.#search(workerId)
    const entry = this.#entries[index]
    if (entry?.info.workerId !== workerId) return false
    for (const slot of entry.slots) this.#dropSlot(slot)
    this.#entries.splice(index, 1)
    this.#unsettled = true
    this.workersVersion++
    return true
  }

  /** The authoritative inclusion set; `undefined` = no source, empty = nothing routable. */
  setAvailableWorkers(ids: readonly bigint[] | undefined): void {
    this.#availableIds = ids === undefined ? undefined : new Set(ids)
    this.settle()
    this.#refreshAvailability()
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
    this.flagsVersion++
  }

  setOverloaded(slot: number, overloaded: boolean): void {
    const row = this.#row(slot)
    const flag = overloaded ? 1 : 0
    if (this.overloaded.view[row] === flag) return
    this.overloaded.view[row] = flag
    this.flagsVersion++
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
    return dpRank >= start && dpRank < start + size ? this.firstRowOfWorker[worker]! + dpRank - start : -1
  }

  /** Index into `workers`, -1 when unknown. */
  workerIndexOf(workerId: bigint): number {
    this.settle()
    const index = this.#search(workerId)
    return this.#workers[index]?.workerId === workerId ? index : -1
  }

  /** Load of a rank, projected for the next selection. Tokens, blocks (this request included), count; all finite. */
  setLoad(slot: number, activePrefillTokens: number, decodeCostBlocks: number, activeRequests: number): void {
    const row = this.#row(slot)
    const load = this.columns.views.load!
    checkFinite('load', activePrefillTokens + decodeCostBlocks + activeRequests)
    if (load.isAvailable[row] === 0) this.#unknownLoads--
    load.isAvailable[row] = 1
    load.activePrefillTokens[row] = activePrefillTokens
    load.decodeCostBlocks[row] = decodeCostBlocks
    load.activeRequests[row] = activeRequests
  }

  /** No projection for this rank, as at the start. */
  clearLoad(slot: number): void {
    const row = this.#row(slot)
    if (this.columns.views.load!.isAvailable[row] === 1) this.#unknownLoads++
    this.#writeUnknownLoad(row)
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
    checkFinite('overlap', device + host + disk + estimateBlocks + estimateTokens)
    if (this.columns.views.cache!.isAvailable[row] === 0) this.#unknownCaches--
    this.#touch(slot, row)
    this.#writeOverlap(row, 1, device, host, disk, estimateBlocks, estimateTokens)
  }

  /** The cache state of this rank is unknown (events on, source never delivered), until `setOverlap` or `clearOverlaps`. */
  setCacheUnknown(slot: number): void {
    const row = this.#row(slot)
    if (this.columns.views.cache!.isAvailable[row] === 1) this.#unknownCaches++
    this.#touch(slot, row)
    this.#writeOverlap(row, 0, Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN)
  }

  /** Back to "cold" everywhere. Clears only what was written. */
  clearOverlaps(): void {
    this.settle()
    for (const slot of this.#touchedSlots) {
      const row = this.rowOfSlot[slot]!
      if (row < 0 || this.#touched.view[row] === 0) continue
      this.#touched.view[row] = 0
      this.#writeOverlap(row, 1, 0, 0, 0, 0, 0)
    }
    this.#touchedSlots.length = 0
    this.#unknownCaches = 0
  }

  /** Host reservations of a rank, and encoder-cache entries of the next request on its worker. */
  setOccupancy(slot: number, reservations: number, cacheHits: number): void {
    const row = this.#row(slot)
    this.columns.views.occupancy!.reservations[row] = reservations
    this.columns.views.occupancy!.cacheHits[row] = cacheHits
  }

  /** Modelled prefill backlog of a rank, milliseconds; NaN = unknown, as at the start. */
  setPrefillBacklog(slot: number, backlogMs: number): void {
    this.columns.views.prefillTime!.backlogMs[this.#row(slot)] = backlogMs
  }

  /** Applies pending changes of workers. Cheap when there are none. */
  settle(): void {
    if (this.#unsettled) this.#settle()
  }

  /** Columns that follow a rank when rows move. */
  #movingColumns(): Column[] {
    return [...this.columns.all(), this.overloaded, this.#touched]
  }

  #settle(): void {
    this.#unsettled = false
    const count = this.#entries.reduce((sum, entry) => sum + entry.slots.length, 0)
    this.memory.reserve(count)
    const oldRows = new Int32Array(count)
    this.#growIndexes(count)
    this.#workers = this.#entries.map((entry) => entry.info)
    let row = 0
    for (const [worker, entry] of this.#entries.entries()) {
      this.firstRowOfWorker[worker] = row
      for (const slot of entry.slots) {
        oldRows[row] = this.rowOfSlot[slot]!
        this.rowOfSlot[slot] = row
        this.slotOfRow[row] = slot
        this.workerOfRow[row++] = worker
      }
    }
    for (const column of this.#movingColumns()) {
      const old = column.view.slice(0, this.count)
      for (let to = 0; to < count; to++) column.view[to] = oldRows[to]! < 0 ? 0 : old[oldRows[to]!]!
    }
    this.count = count
    for (let to = 0; to < count; to++) this.#describe(to, oldRows[to]! < 0)
    this.#unknownLoads = countZeros(this.columns.views.load!.isAvailable, count)
    this.#unknownCaches = countZeros(this.columns.views.cache!.isAvailable, count)
    this.taints.rebuild(this.#workers)
    this.#refreshAvailability()
  }

  #refreshAvailability(): void {
    const ids = this.#availableIds
    if (this.available.length < this.#workers.length)
      this.available = new Uint8Array(this.#workers.length * 2)
    for (const [worker, { workerId }] of this.#workers.entries()) {
      this.available[worker] = ids === undefined || ids.has(workerId) ? 1 : 0
    }
    this.flagsVersion++
  }

  /** Fills what follows from the worker's record, and the initial state of a new row. */
  #describe(row: number, isNew: boolean): void {
    const info = this.#workers[this.workerOfRow[row]!]!
    const { identity, capacity, occupancy, prefillTime } = this.columns.views
    identity!.workerIdHigh[row] = Number(info.workerId >> 32n)
    identity!.workerIdLow[row] = Number(info.workerId & 0xffff_ffffn)
    identity!.dpRank[row] = info.dataParallelStartRank + row - this.firstRowOfWorker[this.workerOfRow[row]!]!
    capacity!.totalKvBlocks[row] = info.totalKvBlocks ?? Number.NaN
    capacity!.maxNumBatchedTokens[row] = info.maxNumBatchedTokens ?? Number.NaN
    occupancy!.deviceKind[row] = info.deviceKind === 'cpu' ? 1 : 0
    if (!isNew) return
    this.#writeUnknownLoad(row)
    this.#writeOverlap(row, 1, 0, 0, 0, 0, 0)
    prefillTime!.backlogMs[row] = Number.NaN
  }

  #writeUnknownLoad(row: number): void {
    const load = this.columns.views.load!
    load.isAvailable[row] = 0
    load.activePrefillTokens[row] = load.decodeCostBlocks[row] = load.activeRequests[row] = Number.NaN
  }

  #writeOverlap(
    row: number,
    isAvailable: number,
    device: number,
    host: number,
    disk: number,
    estimateBlocks: number,
    estimateTokens: number,
  ): void {
    const cache = this.columns.views.cache!
    cache.isAvailable[row] = isAvailable
    cache.deviceOverlapBlocks[row] = device
    cache.hostOverlapBlocks[row] = host
    cache.diskOverlapBlocks[row] = disk
    cache.estimateBlocks[row] = estimateBlocks
    cache.estimateTokens[row] = estimateTokens
  }

  #touch(slot: number, row: number): void {
    if (this.#touched.view[row] === 1) return
    this.#touched.view[row] = 1
    this.#touchedSlots.push(slot)
  }

  #row(slot: number): number {
    this.settle()
    const row = this.rowOfSlot[slot] ?? -1
    if (row >= 0) return row
    throw new RouterError('ROUTER_BAD_REQUEST', `slot ${slot} names no rank of the worker table`, { slot })
  }

  #newSlot(): number {
    const slot = this.#freeSlots.pop() ?? this.#slots++
    if (slot >= this.rowOfSlot.length) this.rowOfSlot = grown(this.rowOfSlot, slot + 1)
    this.rowOfSlot[slot] = -1
    return slot
  }

  #dropSlot(slot: number): void {
    this.rowOfSlot[slot] = -1
    this.#freeSlots.push(slot)
    this.#touchedSlots = this.#touchedSlots.filter((touched) => touched !== slot)
  }

  #growIndexes(rows: number): void {
    if (rows > this.slotOfRow.length) {
      this.slotOfRow = grown(this.slotOfRow, rows)
      this.workerOfRow = grown(this.workerOfRow, rows)
    }
    if (this.#entries.length > this.firstRowOfWorker.length) {
      this.firstRowOfWorker = grown(this.firstRowOfWorker, this.#entries.length)
    }
  }

  /** Position of the first worker with an id not below `workerId`. */
  #search(workerId: bigint): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#entries[middle]!.info.workerId < workerId) low = middle + 1
      else high = middle
    }
    return low
  }
}

function grown(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(length, array.length * 2)).fill(-1)
  larger.set(array)
  return larger
}

function countZeros(column: Uint8Array, count: number): number {
  let zeros = 0
  for (let row = 0; row < count; row++) if (column[row] === 0) zeros++
  return zeros
}

function checkFinite(what: string, sum: number): void {
  if (sum - sum === 0) return
  throw new RouterError('ROUTER_BAD_REQUEST', `${what} values must be finite; leave unknown ones out`, {})
}
