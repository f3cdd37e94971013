import type { WorkerRank } from '@router/sdk'

/** `41.0` as worker and rank. */
export function rankOf(rowName: string): WorkerRank {
  const dot = rowName.indexOf('.')
  return { workerId: BigInt(rowName.slice(0, dot)), dpRank: Number(rowName.slice(dot + 1)) }
}

/** Worker and rank as `41.0`. */
export function nameOf({ workerId, dpRank }: WorkerRank): string {
  return `${workerId}.${dpRank}`
}

/** Ascending `(workerId, dpRank)`, both as unsigned integers. */
export function compareRanks(a: WorkerRank, b: WorkerRank): number {
  if (a.workerId !== b.workerId) return a.workerId < b.workerId ? -1 : 1
  return a.dpRank - b.dpRank
}
