import type { WorkerRank } from '@router/sdk'

/** Ascending `(workerId, dpRank)`, both as unsigned integers. */
export function compareRanks(a: WorkerRank, b: WorkerRank): number {
  if (a.workerId !== b.workerId) return a.workerId < b.workerId ? -1 : 1
  return a.dpRank - b.dpRank
}

/** Rows in canonical order, `leftOvers` zeros behind them; `undefined` when they already are in order, unless `always`. */
export function canonicalRowsOf(
  ranks: readonly WorkerRank[],
  always: boolean,
  leftOvers: number = 0,
): Uint32Array | undefined {
  const rows = Array.from(ranks.keys()).sort((a, b) => compareRanks(ranks[a]!, ranks[b]!))
  const isCanonical = rows.every((row, index) => row === index)
  if (isCanonical && !always) return undefined
  const canonicalRows = new Uint32Array(rows.length + leftOvers)
  canonicalRows.set(rows)
  return canonicalRows
}
