import { rankAt } from '../load/load-shapes.js'
import type { WorkerTable } from '../worker-table.js'

/** Blocks of a prompt that a rank holds, tier by tier, each beyond the faster ones. Unknown cache state reads 0, and says so. */
export interface RankOverlap {
  readonly workerId: bigint
  readonly dpRank: number
  /** False = nobody has told yet what the rank holds. */
  readonly isKnown: boolean
  readonly deviceBlocks: number
  readonly hostBlocks: number
  /** Disk and external. */
  readonly diskBlocks: number
  /** Weighed sum of all, tokens. */
  readonly cachedTokens: number
}

/** What the last lookup wrote, for `count` rows of a settled table from `first` on. */
export function rankOverlaps(table: WorkerTable, first: number, count: number): RankOverlap[] {
  const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateTokens, isAvailable } =
    table.columns.views.cache!
  return Array.from({ length: count }, (_, offset) => {
    const row = first + offset
    const isKnown = isAvailable[row] === 1
    return {
      ...rankAt(table, row),
      isKnown,
      deviceBlocks: isKnown ? deviceOverlapBlocks[row]! : 0,
      hostBlocks: isKnown ? hostOverlapBlocks[row]! : 0,
      diskBlocks: isKnown ? diskOverlapBlocks[row]! : 0,
      cachedTokens: isKnown ? estimateTokens[row]! : 0,
    }
  })
}

/** The same of one worker; empty when it is unknown. */
export function overlapsOfWorker(table: WorkerTable, workerId: bigint): RankOverlap[] {
  const worker = table.workerIndexOf(workerId)
  if (worker < 0) return []
  return rankOverlaps(table, table.firstRowOfWorker[worker]!, table.workers[worker]!.dataParallelSize)
}
