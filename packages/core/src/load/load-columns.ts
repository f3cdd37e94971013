import type { HashWords } from '@router/kv-index'
import { roundHalfAway } from '@router/sdk'
import type { Column } from '../column-memory.js'
import { SlotList } from '../slot-list.js'
import type { WorkerTable } from '../worker-table.js'
import type { BlockRegistry } from './block-registry.js'
import type { BookingStore } from './booking-store.js'
import { grownTo } from './growth.js'
import type { PrefillQueues } from './prefill-queues.js'

/** What the load of ranks is computed from. */
export interface LoadState {
  readonly registry: BlockRegistry
  readonly bookings: BookingStore
  readonly prefills: PrefillQueues
}

/** Writes the load of every rank into the columns of the worker table: what changed since, and what the next request would add. */
export class LoadColumns {
  readonly #table: WorkerTable
  readonly #state: LoadState
  readonly #writesBacklog: boolean
  // By row.
  readonly #activeBlocks: Column<Float64Array>
  readonly #changed = new SlotSet()
  // Ranks whose prefill melts with time.
  readonly #melting = new SlotSet()
  #workersVersion = -1

  constructor(table: WorkerTable, state: LoadState, writesBacklog: boolean) {
    this.#table = table
    this.#state = state
    this.#writesBacklog = writesBacklog
    this.#activeBlocks = table.memory.column('float64')
  }

  /** Gives the memory back. */
  release(): void {
    this.#table.memory.release({ columns: [this.#activeBlocks] })
  }

  /** The load of a rank is another than before. */
  note(slot: number): void {
    this.#changed.add(slot)
  }

  /**
   * Brings the columns up to date and projects a request with these tracking hashes on every rank. Costs one pass over the rows, the ranks
   * that changed, and those that share a part of the path; a part that all ranks share costs nothing.
   */
  write(hashes: HashWords | undefined, count: number, nowMs: number): void {
    const table = this.#table
    table.settle()
    if (this.#workersVersion !== table.workersVersion) this.#takeRows()
    this.#writeMelting(nowMs)
    this.#writeChanged(nowMs)
    const { matched } = this.#state.registry
    matched.count = 0
    if (hashes !== undefined && count > 0) this.#state.registry.match(hashes, count)
    const { holders } = this.#state.registry
    let added = count
    let first = 0
    while (first < matched.count && holders.count[matched.edges[first]!] === table.count)
      added -= matched.blocks[first++]!
    const column = table.columns.groups.load!.decodeCostBlocks
    table.loops.add(this.#activeBlocks, added, column, table.count)
    for (let index = first; index < matched.count; index++) {
      const edge = matched.edges[index]!
      subtractFrom(
        column.view,
        holders.pairs,
        holders.start[edge]!,
        holders.count[edge]!,
        table.rowOfSlot,
        matched.blocks[index]!,
      )
    }
    table.eligible.copyDecodeCosts()
  }

  #takeRows(): void {
    const table = this.#table
    this.#workersVersion = table.workersVersion
    for (let row = 0; row < table.count; row++) this.#changed.add(table.slotOfRow[row]!)
  }

  #writeChanged(nowMs: number): void {
    const { slots } = this.#changed
    const { prefills, bookings } = this.#state
    const table = this.#table
    const activeBlocks = this.#activeBlocks.view
    for (let index = 0; index < slots.count; index++) {
      const slot = slots.slots[index]!
      const row = table.rowOfSlot[slot]!
      if (row < 0) continue
      const blocks = activeBlocksOf(this.#state, slot)
      activeBlocks[row] = blocks
      table.setLoad(slot, prefills.activeTokens(slot, nowMs), blocks, bookings.requests[slot]!)
      table.setReservations(slot, bookings.reservations[slot]!)
      if (this.#writesBacklog) table.setPrefillBacklog(slot, prefills.remainingMs(slot, nowMs))
      if (prefills.melts(slot)) this.#melting.add(slot)
    }
    this.#changed.clear()
  }

  #writeMelting(nowMs: number): void {
    const { prefills } = this.#state
    const { rowOfSlot, columns, eligible } = this.#table
    const tokens = columns.views.load!.activePrefillTokens
    const backlogMs = columns.views.prefillTime!.backlogMs
    const denseTokens = eligible.columns.views.load!.activePrefillTokens
    const denseBacklogMs = eligible.columns.views.prefillTime!.backlogMs
    const writesBacklog = this.#writesBacklog
    const { slots } = this.#melting
    for (let index = slots.count - 1; index >= 0; index--) {
      const slot = slots.slots[index]!
      const row = rowOfSlot[slot]!
      if (row < 0 || !prefills.melts(slot)) {
        this.#melting.removeAt(index)
        continue
      }
      tokens[row] = prefills.activeTokens(slot, nowMs)
      if (writesBacklog) backlogMs[row] = prefills.remainingMs(slot, nowMs)
      const dense = eligible.rowOf(row)
      if (dense < 0) continue
      denseTokens[dense] = tokens[row]!
      if (writesBacklog) denseBacklogMs[dense] = backlogMs[row]!
    }
  }
}

/** Rounded sum of the weights of a rank's blocks. */
export function activeBlocksOf({ registry, bookings }: LoadState, slot: number): number {
  // A rest of the running sums below 0 would round to -0.
  return roundHalfAway(registry.weight[slot]! + bookings.outputWeightOfRank[slot]!) + 0
}

/**
 * Subtracts from the rows of an edge's holders, which lie anywhere in a table of one entry or a multiple of four; the last one found ends
 * the search.
 */
function subtractFrom(
  costs: Float64Array,
  pairs: Int32Array,
  start: number,
  holders: number,
  rowOfSlot: Int32Array,
  blocks: number,
): void {
  if (holders === 1 && pairs[2 * start]! >= 0) {
    costs[rowOfSlot[pairs[2 * start]!]!]! -= blocks
    return
  }
  let left = holders
  for (let entry = 2 * start; left > 0; entry += 8) {
    const first = pairs[entry]!
    const second = pairs[entry + 2]!
    const third = pairs[entry + 4]!
    const fourth = pairs[entry + 6]!
    if (first >= 0) costs[rowOfSlot[first]!]! -= blocks
    if (second >= 0) costs[rowOfSlot[second]!]! -= blocks
    if (third >= 0) costs[rowOfSlot[third]!]! -= blocks
    if (fourth >= 0) costs[rowOfSlot[fourth]!]! -= blocks
    // -1 for an empty entry, else 0.
    left -= 4 + (first >> 31) + (second >> 31) + (third >> 31) + (fourth >> 31)
  }
}

/** Slots, each once, in no order. */
class SlotSet {
  readonly slots = new SlotList()
  #has = new Uint8Array(16)

  add(slot: number): void {
    if (slot >= this.#has.length) this.#has = grownTo(this.#has, 2 * slot)
    if (this.#has[slot] === 1) return
    this.#has[slot] = 1
    this.slots.push(slot)
  }

  removeAt(index: number): void {
    const { slots } = this.slots
    this.#has[slots[index]!] = 0
    slots[index] = slots[--this.slots.count]!
  }

  clear(): void {
    const { slots, count } = this.slots
    for (let index = 0; index < count; index++) this.#has[slots[index]!] = 0
    this.slots.clear()
  }
}
