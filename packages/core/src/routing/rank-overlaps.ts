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
  return Array.from({ length: count }, (_, offset) => {
    const { workerId, dpRank } = rankAt(table, first + offset)
    return overlapAt(table, first + offset, workerId, dpRank)
  })
}

/** The same of one worker; empty when it is unknown. */
export function overlapsOfWorker(table: WorkerTable, workerId: bigint): RankOverlap[] {
  const worker = table.workerIndexOf(workerId)
  if (worker < 0) return []
  const first = table.firstRowOfWorker[worker]!
  const { dpRank } = table.columns.views.identity!
  const overlaps: RankOverlap[] = []
  for (let row = first; row < first + table.workers[worker]!.dataParallelSize; row++)
    overlaps.push(overlapAt(table, row, workerId, dpRank[row]!))
  return overlaps
}

function overlapAt(table: WorkerTable, row: number, workerId: bigint, dpRank: number): RankOverlap {
  const cache = table.columns.views.cache!
  const isKnown = cache.isAvailable[row] === 1
  return {
    workerId,
    dpRank,
    isKnown,
    deviceBlocks: isKnown ? cache.deviceOverlapBlocks[row]! : 0,
    hostBlocks: isKnown ? cache.hostOverlapBlocks[row]! : 0,
    diskBlocks: isKnown ? cache.diskOverlapBlocks[row]! : 0,
    cachedTokens: isKnown ? cache.estimateTokens[row]! : 0,
  }
}
