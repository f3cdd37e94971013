import { type SelectionRequest, type Selector, WorkerTable, createSelector } from '@router/core'
import { type Snapshot, builtInParameters, fixture } from '@router/reference-selector'
import type { ResolvedPolicy, WorkerRole } from '@router/sdk'
import type { FloorInput } from './floor.js'

/** The prompt of every bench: 128 blocks. */
export const benchPromptTokens = 2048
export const benchBlockSize = 16

const seed = 42n

/** The fleet of the parity matrices: two ranks a worker. */
export function standardFleet(workers: number): Snapshot {
  return fixture(workers, benchPromptTokens, benchBlockSize)
}

/** The fleet of the host benches: one rank a worker, estimates only, periods 16, 127, 17 and 32. */
export function hostFleet(workers: number): Snapshot {
  const { request, constraints } = standardFleet(0)
  const ids = Array.from({ length: workers }, (_, id) => id)
  return {
    request: { ...request, hasTierMatches: false },
    constraints,
    workers: ids.map((id) => ({ workerId: BigInt(id), startRank: 0, rankCount: 1, taints: [] })),
    rows: ids.map((id) => ({
      workerId: BigInt(id),
      dpRank: 0,
      deviceOverlapBlocks: 0,
      hostOverlapBlocks: 0,
      diskOverlapBlocks: 0,
      estimateBlocks: 4 * (id % 32),
      estimateTokens: 64 * (id % 32),
      load: { activePrefillTokens: 16 * id, decodeCostBlocks: id % 127, activeRequests: id % 17 },
    })),
  }
}

/** A worker table with the facts of a snapshot, whose rows must be in canonical order. */
export function tableOf(snapshot: Snapshot, options: { readonly webAssembly?: boolean } = {}): WorkerTable {
  const table = new WorkerTable(options)
  for (const { workerId, startRank, rankCount, taints, totalKvBlocks } of snapshot.workers) {
    table.upsertWorker({
      workerId,
      dataParallelStartRank: startRank,
      dataParallelSize: rankCount,
      taints,
      totalKvBlocks: totalKvBlocks ?? undefined,
    })
  }
  for (const row of snapshot.rows) {
    const slot = table.slotOf(row.workerId, row.dpRank)
    const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens } = row
    table.setOverlap(
      slot,
      deviceOverlapBlocks,
      hostOverlapBlocks,
      diskOverlapBlocks,
      estimateBlocks,
      estimateTokens,
    )
    if (row.load === null) continue
    const { activePrefillTokens, decodeCostBlocks, activeRequests } = row.load
    table.setLoad(slot, activePrefillTokens, decodeCostBlocks, activeRequests)
  }
  return table
}

/** The request of a snapshot, with what a variant changes. */
export function requestOf({ request }: Snapshot, change: Partial<SelectionRequest> = {}): SelectionRequest {
  return {
    mode: request.tracked ? 'tracked' : 'query',
    promptTokens: request.promptTokens,
    blockSize: request.blockSize,
    tracksPrefillTokens: request.tracksPrefillTokens,
    hasTierMatches: request.hasTierMatches,
    ...change,
  }
}

/** A selector over a table, its streams seeded alike in every run. */
export function selectorOver(
  table: WorkerTable,
  policy: ResolvedPolicy,
  role: WorkerRole = 'prefill',
): Selector {
  return createSelector({ table, policy, role, entropy: () => seed, nowMs: () => 0 })
}

/** The columns of a snapshot as plain arrays, and the default weights. */
export function floorInputOf({ request, rows }: Snapshot): FloorInput {
  return {
    device: Float64Array.from(rows, (row) => row.deviceOverlapBlocks),
    host: Float64Array.from(rows, (row) => row.hostOverlapBlocks),
    disk: Float64Array.from(rows, (row) => row.diskOverlapBlocks),
    estimateTokens: Float64Array.from(rows, (row) => row.estimateTokens),
    active: Float64Array.from(rows, (row) => row.load!.activePrefillTokens),
    decode: Float64Array.from(rows, (row) => row.load!.decodeCostBlocks),
    count: rows.length,
    promptTokens: request.promptTokens,
    blockSize: request.blockSize,
    credit: builtInParameters.overlap_score_credit,
    scale: builtInParameters.prefill_load_scale,
    hostWeight: builtInParameters.host_cache_hit_weight,
    diskWeight: builtInParameters.disk_cache_hit_weight,
  }
}
