import type { PreferredTaint, SelectionRequest, WorkerTable } from '@router/core'
import { preferredTaintMultiplier, sharedHitsFrom } from '@router/sdk'
import type { VectorRequest, VectorRow } from '../shapes/common.js'
import { factsOf } from './component-host.js'

/** Taints that produce the multipliers of a case, and who carries them. */
interface Taints {
  readonly preferred: readonly PreferredTaint[]
  readonly byWorker: ReadonlyMap<string, readonly string[]>
}

/**
 * Puts the rows of a case into an empty worker table and makes the request for them. `undefined` where a host could not have come
 * to such rows: ranks of one worker with a gap, with unlike capacities or multipliers, or a multiplier of no 32-bit weight.
 */
export function fleetFor(
  table: WorkerTable,
  rows: readonly VectorRow[],
  request: VectorRequest,
): SelectionRequest | undefined {
  const workers = new Map<string, VectorRow[]>()
  for (const row of rows) workers.set(row.workerId, [...(workers.get(row.workerId) ?? []), row])
  const taints = taintsFor(rows)
  if (taints === undefined || [...workers.values()].some((ranks) => !isOneWorker(ranks))) return undefined
  for (const [workerId, ranks] of workers) {
    table.upsertWorker({
      workerId: BigInt(workerId),
      dataParallelStartRank: Math.min(...ranks.map((row) => row.dpRank)),
      dataParallelSize: ranks.length,
      totalKvBlocks: ranks[0]!.totalKvBlocks ?? undefined,
      taints: taints.byWorker.get(workerId) ?? [],
    })
  }
  for (const row of rows) writeRow(table, row)
  const { hasTierMatches, sharedHits } = request
  return {
    ...factsOf(request),
    promptTokens: request.promptTokens,
    blockSize: request.blockSize,
    mode: 'tracked',
    hasTierMatches,
    sharedHits: sharedHits === null ? undefined : sharedHitsFrom(sharedHits),
    preferredTaints: taints.preferred,
  }
}

function isOneWorker(ranks: readonly VectorRow[]): boolean {
  const sorted = ranks.map((row) => row.dpRank).toSorted((a, b) => a - b)
  return (
    sorted.every((rank, index) => rank === sorted[0]! + index) &&
    ranks.every((row) => row.totalKvBlocks === ranks[0]!.totalKvBlocks) &&
    ranks.every((row) => row.taintMultiplier === ranks[0]!.taintMultiplier)
  )
}

function writeRow(table: WorkerTable, row: VectorRow): void {
  const slot = table.slotOf(BigInt(row.workerId), row.dpRank)
  const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens, load } =
    row
  if (deviceOverlapBlocks === null) table.setCacheUnknown(slot)
  else {
    table.setOverlap(
      slot,
      deviceOverlapBlocks,
      hostOverlapBlocks!,
      diskOverlapBlocks!,
      estimateBlocks!,
      estimateTokens!,
    )
  }
  if (load !== null) table.setLoad(slot, load.activePrefillTokens, load.decodeCostBlocks, load.activeRequests)
  if (row.prefillBacklogMs !== null) table.setPrefillBacklog(slot, row.prefillBacklogMs)
}

function taintsFor(rows: readonly VectorRow[]): Taints | undefined {
  const multipliers = [...new Set(rows.flatMap((row) => row.taintMultiplier ?? []))]
  if (multipliers.length === 0) return { preferred: [], byWorker: new Map() }
  const weights = multipliers.map((multiplier) => (multiplier === 1 ? 0 : weightFor(multiplier)))
  if (weights.includes(undefined)) return undefined
  const preferred = multipliers.map((multiplier, index) => ({
    taint: `x${multiplier}`,
    weight: weights[index]!,
  }))
  const carried = rows.filter((row) => row.taintMultiplier !== null && row.taintMultiplier !== 1)
  return { preferred, byWorker: new Map(carried.map((row) => [row.workerId, [`x${row.taintMultiplier}`]])) }
}

/** The 32-bit weight of a single taint with this multiplier; `undefined` when none gives the same bits. */
function weightFor(multiplier: number): number | undefined {
  const word = new Float32Array([Math.atanh(-Math.log(multiplier))])
  const bits = new Int32Array(word.buffer)
  const nearest = bits[0]!
  for (const step of [0, 1, -1, 2, -2]) {
    bits[0] = nearest + step
    if (preferredTaintMultiplier(word[0]!) === multiplier) return word[0]
  }
  return undefined
}
