import { BLOCK_MASK, BLOCK_SHIFT, type BlockPool } from './block-pool.js'
import { LENGTH, SLACK, START } from './edge-holders.js'
import type { RecordChunks } from './record-chunks.js'

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
}
