import type { OverlapTarget } from '@router/kv-index'
import type { WorkerTable } from '../worker-table.js'

/** What a lookup of content chunks found, row by row of a worker table: every rank is asked, whether it has events or not. */
export class ChunkMatches implements OverlapTarget {
  rowOfRank: Int32Array = new Int32Array(0)
  /** Matched chunks. */
  deviceBlocks: Float64Array = new Float64Array(0)
  hostBlocks: Float64Array = new Float64Array(0)
  diskBlocks: Float64Array = new Float64Array(0)
  externalBlocks: Float64Array = new Float64Array(0)
  rows: Int32Array = new Int32Array(0)
  count = 0
  hasLowerBlocks = false
  #workersVersion = -1

  /** Makes ready for a lookup; the index clears what the last one found. */
  begin(table: WorkerTable): void {
    if (this.#workersVersion === table.workersVersion) return
    this.#workersVersion = table.workersVersion
    this.count = 0
    this.hasLowerBlocks = false
    this.rowOfRank = table.rowOfSlot.slice()
    if (this.rows.length < table.count) {
      const size = 2 * table.count
      this.rows = new Int32Array(size)
      this.hostBlocks = new Float64Array(size)
      this.diskBlocks = new Float64Array(size)
      this.externalBlocks = new Float64Array(size)
      this.deviceBlocks = new Float64Array(size)
    } else this.deviceBlocks.fill(0)
  }
}
