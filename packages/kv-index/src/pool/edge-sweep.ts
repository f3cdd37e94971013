import { BLOCK_MASK, BLOCK_SHIFT, type BlockPool } from './block-pool.js'
import { CUT, ENTRY_WORDS, type EdgeHolders, LENGTH, LISTED, SLACK, START } from './edge-holders.js'
import type { RecordChunks } from './record-chunks.js'

/** Edges, their blocks and their holders. */
export interface EdgeStore {
  readonly pool: BlockPool
  readonly records: RecordChunks
  readonly holders: EdgeHolders
}

/** Visits every edge in the order of its blocks in the pool, a few at a time, while edges come and go. Blocks never move, so none is missed. */
export class EdgeSweep {
  #position = 0

  /** The next edge; 0 = a stretch of free blocks was passed, -1 = the end was reached, the next call begins anew. */
  next(pool: BlockPool, records: RecordChunks): number {
    const chunk = this.#position >>> BLOCK_SHIFT
    if (chunk >= pool.owner.length) {
      this.#position = 0
      return -1
    }
    const owner = pool.owner[chunk]!
    const offset = this.#position & BLOCK_MASK
    const edge = offset < owner.length ? owner[offset]! : 0
    if (edge !== 0) {
      this.#position = records.get(edge + START) + records.get(edge + LENGTH) + records.get(edge + SLACK)
      return edge
    }
    let next = offset + 1
    while (next < owner.length && owner[next] === 0) next++
    this.#position = next < owner.length ? this.#position - offset + next : (chunk + 1) << BLOCK_SHIFT
    return 0
  }

  /**
   * Takes from about as many edges what holders have that are gone; false = the last edge is done.
   * @param rankOf rank of every holder, negative = gone
   * @param uncover takes all blocks of an entry, which may go with it
   * @param settle after the last entry of an edge that changed
   */
  drop(
    { pool, records, holders }: EdgeStore,
    edges: number,
    rankOf: Int32Array,
    uncover: (edge: number, entry: number, holder: number) => void,
    settle: (edge: number) => void,
  ): boolean {
    for (let left = edges; left > 0;) {
      const edge = this.next(pool, records)
      if (edge < 0) return false
      left--
      if (edge === 0) continue
      left -= records.get(edge + LISTED) >> 3
      let isChanged = false
      for (let index = records.get(edge + LISTED) - 1; index >= 0; index--) {
        const entry = holders.first(edge) + index * ENTRY_WORDS
        const holder = records.get(entry)
        if (rankOf[holder]! >= 0 || records.get(entry + CUT) === 0) continue
        left -= records.get(entry + CUT) >> 3
        uncover(edge, entry, holder)
        isChanged = true
      }
      if (isChanged) settle(edge)
    }
    return true
  }
}
