import {
  type BlockIndex,
  type BlockRun,
  type HashWords,
  type OverlapTarget,
  type RemoveOutcome,
  type StoreOutcome,
  checkRank,
} from '@router/kv-index'
import type { OverlapColumns } from './overlap-columns.js'

/**
 * The exact index as those see it who apply engine events: what they tell of a rank makes its cache state known, and when the index is full
 * the rank that is furthest beyond its capacity makes room (host.md 3.1).
 */
export class EventIndex implements BlockIndex {
  readonly blockSize: number
  readonly #index: BlockIndex
  readonly #overlaps: OverlapColumns
  readonly #makeRoom: () => number

  /** @param makeRoom drops what a rank holds and returns the rank, -1 = nobody holds anything */
  constructor(index: BlockIndex, overlaps: OverlapColumns, makeRoom: () => number) {
    this.blockSize = index.blockSize
    this.#index = index
    this.#overlaps = overlaps
    this.#makeRoom = makeRoom
  }

  get currentSize(): number {
    return this.#index.currentSize
  }

  sizeOf(rank: number): number {
    return this.#index.sizeOf(rank)
  }

  store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    let outcome = this.#index.store(rank, tier, run)
    this.#overlaps.setKnown(rank, true)
    while (outcome === 'capacity') {
      const dropped = this.#makeRoom()
      // The rank itself was the heaviest: a part of a chain that is gone would be of no use.
      if (dropped < 0 || dropped === rank) break
      outcome = this.#index.store(rank, tier, run)
    }
    return outcome
  }

  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome {
    checkRank(rank)
    this.#overlaps.setKnown(rank, true)
    return this.#index.remove(rank, tier, engine, start, count)
  }

  removeRank(rank: number): void {
    checkRank(rank)
    this.#overlaps.setKnown(rank, true)
    this.#index.removeRank(rank)
  }

  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean {
    return this.#index.holds(rank, tier, engineLow, engineHigh)
  }

  lookup(local: HashWords, count: number, target: OverlapTarget, stopsEarly?: boolean): void {
    this.#index.lookup(local, count, target, stopsEarly)
  }
}
