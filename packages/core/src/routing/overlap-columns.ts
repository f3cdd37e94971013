import type { OverlapTarget } from '@router/kv-index'
import { roundHalfAway } from '@router/sdk'
import type { WorkerTable } from '../worker-table.js'
import type { ChunkMatches } from './chunk-matches.js'

/** What a block on a slower tier is worth against one on the device. */
export interface TierWeights {
  /** 0 to 1. */
  readonly host: number
  /** Disk and external; 0 to 1. */
  readonly disk: number
}

/**
 * The cache columns of a worker table as the target of a lookup: the index writes blocks per tier straight into them, this object adds
 * what follows from those (estimates, raw reuse, the dense copy of eligible ranks) for the rows that were written. One owner a table;
 * `WorkerTable.setOverlap` is for tables without.
 */
export class OverlapColumns implements OverlapTarget {
  rowOfRank: Int32Array = new Int32Array(0)
  deviceBlocks: Float64Array = new Float64Array(0)
  hostBlocks: Float64Array = new Float64Array(0)
  diskBlocks: Float64Array = new Float64Array(0)
  externalBlocks: Float64Array = new Float64Array(0)
  rows: Int32Array = new Int32Array(0)
  count = 0
  hasLowerBlocks = false
  readonly #table: WorkerTable
  readonly #weights: TierWeights
  readonly #blockSize: number
  // By slot: 1 = nobody has told yet what the rank holds.
  #unknown = new Uint8Array(16)
  #workersVersion = -1

  constructor(table: WorkerTable, blockSize: number, weights: TierWeights) {
    this.#table = table
    this.#blockSize = blockSize
    this.#weights = weights
  }

  /** Whether the cache state of a rank is known; unknown is never 0: its columns are absent until then. */
  setKnown(slot: number, isKnown: boolean): void {
    if (slot >= this.#unknown.length) {
      const grown = new Uint8Array(2 * slot)
      grown.set(this.#unknown)
      this.#unknown = grown
    }
    if (this.#unknown[slot] === (isKnown ? 0 : 1)) return
    this.#unknown[slot] = isKnown ? 0 : 1
    this.#workersVersion = -1
  }

  isKnown(slot: number): boolean {
    return this.#unknown[slot] !== 1
  }

  /** Forgets what follows from the last lookup and makes ready for the next. The index clears the tiers themselves. */
  begin(): void {
    const table = this.#table
    table.settle()
    if (this.#workersVersion !== table.workersVersion) this.#takeRows()
    const { cache, reuse } = table.columns.views
    this.deviceBlocks = cache!.deviceOverlapBlocks
    this.hostBlocks = cache!.hostOverlapBlocks
    this.diskBlocks = cache!.diskOverlapBlocks
    const { estimateBlocks, estimateTokens } = cache!
    const { rawBlocks } = reuse!
    for (let index = 0; index < this.count; index++) {
      const row = this.rows[index]!
      estimateBlocks[row] = 0
      estimateTokens[row] = 0
      rawBlocks[row] = 0
    }
    if (table.eligible.isMirrored) this.#clearMirror()
  }

  /** Adds to the rows of a lookup what follows from their blocks. `O(rows with a match)`, allocates nothing. */
  finish(): void {
    const table = this.#table
    const { cache, reuse } = table.columns.views
    const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens } =
      cache!
    const { rawBlocks } = reuse!
    const { rows, count, externalBlocks, hasLowerBlocks } = this
    const { host, disk } = this.#weights
    const blockSize = this.#blockSize
    for (let index = 0; index < count; index++) {
      const row = rows[index]!
      const device = deviceOverlapBlocks[row]!
      if (!hasLowerBlocks) {
        estimateBlocks[row] = device
        estimateTokens[row] = device * blockSize
        rawBlocks[row] = device
        continue
      }
      const hostBlocks = hostOverlapBlocks[row]!
      const diskBlocks = diskOverlapBlocks[row]! + externalBlocks[row]!
      const effective = device + host * hostBlocks + disk * diskBlocks
      diskOverlapBlocks[row] = diskBlocks
      estimateBlocks[row] = effective
      estimateTokens[row] = roundHalfAway(effective * blockSize)
      rawBlocks[row] = device + hostBlocks + diskBlocks
    }
    if (table.eligible.isMirrored) this.#writeMirror()
  }

  /**
   * Adds what content chunks matched, after `finish`: each rank has the larger of both, and its state is known, since chunks are believed and
   * not told. `O(ranks)`.
   */
  addChunks(matches: ChunkMatches, overlapBlocks: (chunks: number) => number): void {
    const { columns, count } = this.#table
    const { estimateBlocks, isAvailable } = columns.views.cache!
    for (let row = 0; row < count; row++) if (isAvailable[row] === 0) columns.writeOverlap(row, 0, 0, 0, 0, 0)
    for (let index = 0; index < matches.count; index++) {
      const row = matches.rows[index]!
      const blocks = overlapBlocks(matches.deviceBlocks[row]!)
      if (blocks > estimateBlocks[row]!)
        columns.writeOverlap(row, blocks, 0, 0, blocks, blocks * this.#blockSize)
    }
    this.#writeAnewNextTime()
  }

  /** What ranks hold of this prompt is unknown. `O(ranks)`. */
  hideAll(): void {
    const { columns, count } = this.#table
    for (let row = 0; row < count; row++) columns.writeUnknownCache(row)
    this.#writeAnewNextTime()
  }

  #writeAnewNextTime(): void {
    this.#workersVersion = -1
    this.#table.eligible.invalidate()
  }

  #clearMirror(): void {
    const { eligible } = this.#table
    for (let index = 0; index < this.count; index++) {
      const dense = eligible.rowOf(this.rows[index]!)
      if (dense >= 0) eligible.columns.writeOverlap(dense, 0, 0, 0, 0, 0)
    }
  }

  #writeMirror(): void {
    const { eligible, columns } = this.#table
    const cache = columns.views.cache!
    for (let index = 0; index < this.count; index++) {
      const row = this.rows[index]!
      const dense = eligible.rowOf(row)
      if (dense < 0) continue
      eligible.columns.writeOverlap(
        dense,
        cache.deviceOverlapBlocks[row]!,
        cache.hostOverlapBlocks[row]!,
        cache.diskOverlapBlocks[row]!,
        cache.estimateBlocks[row]!,
        cache.estimateTokens[row]!,
      )
    }
  }

  /** Rows moved, or what is known of them changed: everything cold, or unknown. */
  #takeRows(): void {
    const table = this.#table
    this.#workersVersion = table.workersVersion
    this.count = 0
    this.hasLowerBlocks = false
    if (this.rows.length < table.count) {
      this.rows = new Int32Array(2 * table.count)
      this.externalBlocks = new Float64Array(2 * table.count)
    }
    this.externalBlocks.fill(0)
    this.rowOfRank = table.rowOfSlot.slice()
    for (let row = 0; row < table.count; row++) {
      const slot = table.slotOfRow[row]!
      if (this.isKnown(slot)) table.columns.writeOverlap(row, 0, 0, 0, 0, 0)
      else {
        table.columns.writeUnknownCache(row)
        this.rowOfRank[slot] = -1
      }
    }
    table.eligible.invalidate()
  }
}
