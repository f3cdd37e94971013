import type { WorkerRank } from '@router/sdk'
import type { WorkerTable } from '../worker-table.js'
import { type PotentialLoad, type PotentialRequest, effectivePrefillTokens } from './booking.js'

/** Every rank with one more request, from the columns of its projection. */
export function potentialLoads(table: WorkerTable, request: PotentialRequest): PotentialLoad[] {
  const { promptTokens = 0, tracksPrefillTokens = true, cachedTokens = () => 0 } = request
  const load = table.columns.views.load!
  return Array.from({ length: table.count }, (_, row) => {
    const cached = cachedTokens(table.slotOfRow[row]!)
    const added = effectivePrefillTokens(promptTokens, cached, tracksPrefillTokens)
    return {
      ...rankAt(table, row),
      potentialPrefillTokens: load.activePrefillTokens[row]! + added,
      potentialDecodeBlocks: load.decodeCostBlocks[row]!,
      activeRequests: load.activeRequests[row]!,
    }
  })
}

/** Name of the rank in a row of a settled table. */
export function rankAt(table: WorkerTable, row: number): WorkerRank {
  const { workerId } = table.workers[table.workerOfRow[row]!]!
  return { workerId, dpRank: table.columns.views.identity!.dpRank[row]! }
}
