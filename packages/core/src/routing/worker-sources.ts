import { type PrefixIndex, type PrefixState, RANK_LIMIT } from '@router/kv-index'
import { RouterError, type WorkerRank } from '@router/sdk'
import type { LoadLedger } from '../load/load-ledger.js'
import { rankAt } from '../load/load-shapes.js'
import type { WorkerRecord } from '../worker-record.js'
import type { WorkerTable } from '../worker-table.js'
import type { OverlapColumns } from './overlap-columns.js'

/** A worker, and how the router learns what it holds. */
export type RoutedWorker = WorkerRecord & {
  /**
   * Its engine tells what it holds: its cache state is unknown until the first event. Default false: the router believes what its own
   * decisions suggest.
   */
  readonly hasEvents?: boolean | undefined
}

/** What knows of ranks, and has to hear of changes. */
export interface RankState {
  readonly table: WorkerTable
  readonly ledger: LoadLedger
  readonly prefix: PrefixState
  readonly overlaps: OverlapColumns
  /** What a rank holds was dropped for want of room: whoever follows its events must know. */
  readonly onRankDropped?: ((rank: WorkerRank) => void) | undefined
  /** Told the sum of the advertised blocks whenever it changes. */
  readonly onCapacity?: ((blocks: number) => void) | undefined
}

interface KnownWorker {
  readonly hasEvents: boolean
  readonly incarnation: number
  readonly incarnationId: string | undefined
  readonly capacityBlocks: number | undefined
  readonly firstRank: number
  readonly slots: readonly number[]
}

/** Before anything is known of a worker. */
const firstLife: KnownWorker = {
  hasEvents: false,
  incarnation: 0,
  incarnationId: undefined,
  capacityBlocks: undefined,
  firstRank: 0,
  slots: [],
}

/** The lives of a partition's workers: joins, restarts and departures reach the index, the books and the columns from here. */
export class WorkerSources {
  readonly #state: RankState
  readonly #workers = new Map<bigint, KnownWorker>()
  #ranks = 0
  // Advertised blocks by slot.
  readonly #capacityOf: number[] = []
  #capacity = 0
  // Slots of the last registration that are new, ascending by rank.
  #added: readonly number[] = []
  readonly #stopListening: readonly (() => void)[]

  /** Workers that the table has already are workers without events. */
  constructor(state: RankState) {
    this.#state = state
    const { table, prefix } = state
    this.#ranks = table.slotCount
    for (const [index, { workerId, ...record }] of table.workers.entries()) {
      const start = table.firstRowOfWorker[index]!
      const slots = [...table.slotOfRow.subarray(start, start + record.dataParallelSize)]
      const { dataParallelStartRank: firstRank, incarnationId, totalKvBlocks: capacityBlocks } = record
      this.#enter(workerId, { ...firstLife, firstRank, incarnationId, capacityBlocks, slots })
    }
    this.#stopListening = [
      table.onSlots((dropped, added) => {
        for (const slot of dropped) {
          this.#setCapacity(slot, 0)
          prefix.removeRank(slot)
        }
        this.#ranks += added.length - dropped.length
        this.#added = added
      }),
      table.onDeparture((workerId) => this.#workers.delete(workerId)),
    ]
  }

  /** Adds a worker or replaces its record; another incarnation inherits nothing. Error: `ROUTER_BAD_REQUEST`, nothing changes then. */
  upsert({ hasEvents = false, ...record }: RoutedWorker): void {
    const { workerId, dataParallelStartRank: firstRank = 0, dataParallelSize: size = 1 } = record
    const known = this.#workers.get(workerId)
    this.#checkRoom(workerId, firstRank, size, known)
    this.#state.table.upsertWorker(record)
    let next = 0
    const slots = Array.from(
      { length: size },
      (_, offset) => known?.slots[firstRank + offset - known.firstRank] ?? this.#added[next++]!,
    )
    const { incarnation, incarnationId: lastId } = known ?? firstLife
    const { incarnationId = lastId, totalKvBlocks: capacityBlocks } = record
    const isRestart = lastId !== undefined && incarnationId !== lastId
    this.#enter(workerId, {
      hasEvents,
      incarnation: isRestart ? incarnation + 1 : incarnation,
      incarnationId,
      capacityBlocks,
      firstRank,
      slots,
    })
  }

  /** The engine is another process now. False when the worker is unknown. */
  restart(workerId: bigint): boolean {
    const known = this.#workers.get(workerId)
    if (known === undefined) return false
    this.#enter(workerId, { ...known, incarnation: known.incarnation + 1 })
    return true
  }

  /** Drops what the rank furthest beyond its capacity holds; its slot, -1 = no rank holds anything. `O(ranks)`. */
  dropHeaviest(index: PrefixIndex): number {
    const { table, prefix, onRankDropped } = this.#state
    const slot = index.heaviestRank(this.#capacityOf)
    if (slot < 0) return -1
    table.settle()
    const rank = rankAt(table, table.rowOfSlot[slot]!)
    prefix.removeRank(slot)
    prefix.setRank(slot, this.#workers.get(rank.workerId)!)
    onRankDropped?.(rank)
    return slot
  }

  /** Whether the engine of a worker tells what it holds; false when the worker is unknown. */
  hasEvents(workerId: bigint): boolean {
    return this.#workers.get(workerId)?.hasEvents ?? false
  }

  dispose(): void {
    for (const stop of this.#stopListening) stop()
  }

  /** Tells books, index and columns of the worker's ranks. */
  #enter(workerId: bigint, worker: KnownWorker): void {
    const { ledger, prefix, overlaps } = this.#state
    const isRestart = this.#workers.get(workerId)?.incarnation !== worker.incarnation
    this.#workers.set(workerId, worker)
    for (const slot of worker.slots) {
      if (isRestart) ledger.dropRank(slot)
      this.#setCapacity(slot, worker.capacityBlocks ?? 0)
      const isAnew = prefix.setRank(slot, worker)
      if (isAnew) overlaps.setKnown(slot, !worker.hasEvents)
    }
  }

  #setCapacity(slot: number, blocks: number): void {
    while (this.#capacityOf.length <= slot) this.#capacityOf.push(0)
    if (this.#capacityOf[slot] === blocks) return
    this.#capacity += blocks - this.#capacityOf[slot]!
    this.#capacityOf[slot] = blocks
    this.#state.onCapacity?.(this.#capacity)
  }

  #checkRoom(workerId: bigint, firstRank: number, size: number, known: KnownWorker | undefined): void {
    const { firstRank: knownFirst, slots } = known ?? firstLife
    const kept = Math.min(firstRank + size, knownFirst + slots.length) - Math.max(firstRank, knownFirst)
    const ranks = this.#ranks + size - Math.max(0, kept)
    if (!(ranks > RANK_LIMIT)) return
    const message = `worker ${workerId} would make ${ranks} ranks, expected at most ${RANK_LIMIT} a partition`
    throw new RouterError('ROUTER_BAD_REQUEST', message, { workerId, ranks, maximumRanks: RANK_LIMIT })
  }
}
