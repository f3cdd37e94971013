import { OverlapRows } from '@router/kv-index'
import type { WorkerTable } from '../worker-table.js'

/**
 * What a lookup of content chunks found, row by row of a worker table: every rank is asked, whether it has events or not. Matched chunks
 * stand in `deviceBlocks`.
 */
export class ChunkMatches extends OverlapRows {
  #workersVersion = -1

  /** Makes ready for a lookup; the index clears what the last one found. */
  begin(table: WorkerTable): void {
    if (this.#workersVersion === table.workersVersion) return
    this.#workersVersion = table.workersVersion
    this.count = 0
    this.hasLowerBlocks = false
    this.rowOfRank = table.rowOfSlot.slice()
    if (this.rows.length < table.count) this.reserve(2 * table.count)
    else this.deviceBlocks.fill(0)
  }
}
