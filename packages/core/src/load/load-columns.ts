import type { HashWords } from '@router/kv-index'
import { roundHalfAway } from '@router/sdk'
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
  // Active blocks by row.
  #activeBlocks = new Float64Array(16)
  readonly #changed = new SlotSet()
  // Ranks whose prefill melts with time.
  readonly #melting = new SlotSet()
  #workersVersion = -1

  constructor(table: WorkerTable, state: LoadState, writesBacklog: boolean) {
    this.#table = table
    this.#state = state
    this.#writesBacklog = writesBacklog
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
    const costs = table.columns.views.load!.decodeCostBlocks
    addToAll(this.#activeBlocks, added, costs, table.count)
    for (let index = first; index < matched.count; index++) {
      const edge = matched.edges[index]!
      subtractFrom(
        costs,
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
    if (table.count > this.#activeBlocks.length)
      this.#activeBlocks = grownTo(this.#activeBlocks, table.slotOfRow.length)
    for (let row = 0; row < table.count; row++) this.#changed.add(table.slotOfRow[row]!)
  }

  #writeChanged(nowMs: number): void {
    const { slots } = this.#changed
    const { prefills, bookings } = this.#state
    const table = this.#table
    for (let index = 0; index < slots.count; index++) {
      const slot = slots.slots[index]!
      const row = table.rowOfSlot[slot]!
      if (row < 0) continue
      const blocks = activeBlocksOf(this.#state, slot)
      this.#activeBlocks[row] = blocks
      table.setLoad(slot, prefills.activeTokens(slot, nowMs), blocks, bookings.requests[slot]!)
      if (this.#writesBacklog) table.setPrefillBacklog(slot, prefills.remainingMs(slot, nowMs))
      if (prefills.melts(slot)) this.#melting.add(slot)
    }
    this.#changed.clear()
  }

  #writeMelting(nowMs: number): void {
    const { prefills } = this.#state
    const { rowOfSlot, columns, eligible } = this.#table
    const tokens = columns.views.load!.activePrefillTokens
    const denseTokens = eligible.columns.views.load!.activePrefillTokens
    const { slots } = this.#melting
    for (let index = slots.count - 1; index >= 0; index--) {
      const slot = slots.slots[index]!
      const row = rowOfSlot[slot]!
      if (row < 0 || !prefills.melts(slot)) {
        this.#melting.removeAt(index)
        continue
      }
      tokens[row] = prefills.activeTokens(slot, nowMs)
      const dense = eligible.rowOf(row)
      if (dense >= 0) denseTokens[dense] = tokens[row]!
      if (this.#writesBacklog) this.#table.setPrefillBacklog(slot, prefills.remainingMs(slot, nowMs))
    }
  }
}

/** Rounded sum of the weights of a rank's blocks. */
export function activeBlocksOf({ registry, bookings }: LoadState, slot: number): number {
  // A rest of the running sums below 0 would round to -0.
  return roundHalfAway(registry.weight[slot]! + bookings.outputWeightOfRank[slot]!) + 0
}

function addToAll(blocks: Float64Array, added: number, costs: Float64Array, rows: number): void {
  for (let row = 0; row < rows; row++) costs[row] = blocks[row]! + added
}

/** Holders lie anywhere in their table; the last one found ends the search. */
function subtractFrom(
  costs: Float64Array,
  pairs: Int32Array,
  start: number,
  holders: number,
  rowOfSlot: Int32Array,
  blocks: number,
): void {
  let left = holders
  for (let entry = 2 * start; left > 0; entry += 2) {
    const slot = pairs[entry]!
    if (slot < 0) continue
    costs[rowOfSlot[slot]!]! -= blocks
    left--
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
