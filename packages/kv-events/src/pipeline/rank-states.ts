import type { BlockIndex } from '@router/kv-index'
import type { WireEventKind } from '../decode/wire-event.js'
import type { DropReason } from '../reasons.js'
import { type EventCounters, type EventWarningCode, newEventCounters } from './pipeline-types.js'
import { ReferenceCounts } from './reference-counts.js'

/** What is kept about one rank in one incarnation, beside the index. */
export interface RankState {
  /** Rank of the index that it writes to. */
  slot: number
  /** Id that its next event takes. */
  nextEventId: number
  readonly references: ReferenceCounts
  readonly warned: Set<EventWarningCode>
}

/**
 * The ranks of one worker that events have reached. Bounded by the ranks that `slotOf` knows. Ranks of the index belong to the host,
 * which empties one before it gives it to somebody else.
 */
export class RankStates {
  readonly index: BlockIndex
  readonly counters: EventCounters = newEventCounters()
  readonly #slotOf: (dpRank: number) => number | undefined
  readonly #states = new Map<number, RankState>()

  /** @param slotOf rank of the index by data-parallel rank; `undefined` = the worker does not have it */
  constructor(index: BlockIndex, slotOf: (dpRank: number) => number | undefined) {
    this.index = index
    this.#slotOf = slotOf
  }

  /** Ranks that anything is kept about. */
  get size(): number {
    return this.#states.size
  }

  /** An event changed nothing. */
  countDrop(kind: WireEventKind, reason: DropReason): void {
    const { dropped, droppedByKind } = this.counters
    dropped[reason] = (dropped[reason] ?? 0) + 1
    const ofKind = (droppedByKind[kind] ??= {})
    ofKind[reason] = (ofKind[reason] ?? 0) + 1
  }

  /** What is known of a rank; it is made if the worker has such a rank. */
  reach(dpRank: number): RankState | undefined {
    const slot = this.#slotOf(dpRank)
    let state = this.#states.get(dpRank)
    if (slot === undefined) {
      this.#states.delete(dpRank)
      return undefined
    }
    if (state?.slot !== slot) {
      state = { slot, nextEventId: 0, references: new ReferenceCounts(), warned: new Set() }
      this.#states.set(dpRank, state)
    }
    return state
  }

  /** What is known of a rank; absent = no event has reached it. */
  get(dpRank: number): RankState | undefined {
    return this.#states.get(dpRank)
  }

  /**
   * The index loses what the rank holds; its event ids go on. A slot that `slotOf` no longer gives the rank is not touched: the host has
   * emptied it, and it may be somebody else's.
   */
  drop(dpRank: number): void {
    const state = this.#states.get(dpRank) ?? this.reach(dpRank)
    if (state === undefined) return
    if (this.#slotOf(dpRank) === state.slot) this.index.removeRank(state.slot)
    state.references.clear()
  }

  /** As `drop`, and nothing is known of the rank any more. */
  forget(dpRank: number): void {
    this.drop(dpRank)
    this.#states.delete(dpRank)
  }

  /** As `forget`, for every rank. */
  forgetAll(): void {
    for (const dpRank of this.#states.keys()) this.forget(dpRank)
  }
}
