import type { OverlapTarget } from './block-index.js'

/** Columns of its own for a lookup, where no table of the host takes what it finds. */
export class OverlapRows implements OverlapTarget {
  rowOfRank: Int32Array
  deviceBlocks = new Float64Array(0)
  hostBlocks = new Float64Array(0)
  diskBlocks = new Float64Array(0)
  externalBlocks = new Float64Array(0)
  rows = new Int32Array(0)
  count = 0
  hasLowerBlocks = false

  /** A row for each of the first so many ranks, in their order; `rowOfRank` may be replaced. */
  constructor(ranks = 0) {
    this.rowOfRank = Int32Array.from({ length: ranks }, (_, rank) => rank)
    this.reserve(ranks)
  }

  /** Makes room for so many rows; where there is too little, all columns are made anew and empty. */
  reserve(rows: number): void {
    if (rows <= this.rows.length) return
    this.deviceBlocks = new Float64Array(rows)
    this.hostBlocks = new Float64Array(rows)
    this.diskBlocks = new Float64Array(rows)
    this.externalBlocks = new Float64Array(rows)
    this.rows = new Int32Array(rows)
    this.count = 0
    this.hasLowerBlocks = false
  }
}
