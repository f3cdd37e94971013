import { parseStrictYaml, readTextFile } from '@router/config'
import { type SelectionRequest, WorkerTable } from '@router/core'
import { type RouterDefaults, roundHalfAway, sharedHitsFrom } from '@router/sdk'
import { type Fleet, type FleetRank, fleetSchema } from './fleet-schema.js'

/** Reads a fleet file. Errors (`ConfigError`): `ROUTER_CONFIG_READ`, `ROUTER_CONFIG_PARSE`, `ROUTER_CONFIG_INVALID`. */
export async function readFleet(path: string, shownAs = path): Promise<Fleet> {
  return parseStrictYaml(await readTextFile(path), shownAs, fleetSchema)
}

/** Every rank of the fleet, in the order of the file. */
export function ranksOf(
  fleet: Fleet,
): { readonly workerId: bigint; readonly dpRank: number; readonly state: FleetRank }[] {
  return fleet.workers.flatMap(({ worker_id: workerId, first_rank: first, ranks }) =>
    ranks.map((state, offset) => ({ workerId, dpRank: (first ?? 0) + offset, state })),
  )
}

/** The worker table that a live host would have at that moment. Tiers are weighted by the router defaults for the estimate. */
export function tableOf(fleet: Fleet, defaults: RouterDefaults): WorkerTable {
  const table = new WorkerTable()
  for (const worker of fleet.workers) {
    table.upsertWorker({
      workerId: worker.worker_id,
      blockSize: fleet.block_size,
      dataParallelStartRank: worker.first_rank ?? 0,
      dataParallelSize: worker.ranks.length,
      endpoint: worker.endpoint ?? undefined,
      engine: worker.engine ?? undefined,
      taints: worker.taints ?? undefined,
      totalKvBlocks: worker.total_kv_blocks ?? undefined,
      maxNumBatchedTokens: worker.max_num_batched_tokens ?? undefined,
      deviceKind: worker.device_kind ?? undefined,
    })
  }
  const available = fleet.workers.filter((worker) => worker.available !== false)
  if (available.length < fleet.workers.length)
    table.setAvailableWorkers(available.map((worker) => worker.worker_id))
  for (const { workerId, dpRank, state } of ranksOf(fleet)) {
    const slot = table.slotOf(workerId, dpRank)
    const { load, overlap, overloaded } = state
    if (load) table.setLoad(slot, load.active_prefill_tokens, load.decode_cost_blocks, load.active_requests)
    if (overlap === 'unknown') table.setCacheUnknown(slot)
    else if (overlap) {
      const { device, host, disk } = overlap
      const weighted = device + defaults.host_cache_hit_weight * host + defaults.disk_cache_hit_weight * disk
      const blocks = overlap.estimate_blocks ?? weighted
      table.setOverlap(
        slot,
        device,
        host,
        disk,
        blocks,
        overlap.estimate_tokens ?? roundHalfAway(blocks * fleet.block_size),
      )
    }
    if (overloaded) table.setOverloaded(slot, true)
    if (state.reservations || state.encoder_cache_hits) {
      table.setOccupancy(slot, state.reservations ?? 0, state.encoder_cache_hits ?? 0)
    }
    if (typeof state.prefill_backlog_ms === 'number') table.setPrefillBacklog(slot, state.prefill_backlog_ms)
  }
  return table
}

/** The request of the fleet file, as a query. */
export function requestOf(fleet: Fleet): SelectionRequest {
  const { request } = fleet
  const { pinned_worker: pin, affinity_target: target, shared_hits: hits } = request
  const hasTierMatches = ranksOf(fleet).some(({ state: { overlap } }) => {
    return typeof overlap === 'object' && overlap !== null && overlap.device + overlap.host + overlap.disk > 0
  })
  return {
    mode: 'query',
    promptTokens: request.prompt_tokens,
    blockSize: fleet.block_size,
    hasTierMatches,
    sharedHits: hits ? sharedHitsFrom(hits) : undefined,
    allowedWorkerIds: request.allowed_worker_ids ?? undefined,
    pinnedWorker: pin ? { workerId: pin.worker_id, dpRank: pin.dp_rank } : undefined,
    affinityTarget: target
      ? { workerId: target.worker_id, ...(target.dp_rank !== undefined && { dpRank: target.dp_rank }) }
      : undefined,
    requiredTaints: request.required_taints ?? undefined,
    preferredTaints: request.preferred_taints ?? undefined,
    policyClass: request.policy_class ?? undefined,
    expectedOutputTokens: request.expected_output_tokens ?? undefined,
    priorityJump: request.priority_jump ?? undefined,
    strictPriority: request.strict_priority ?? undefined,
    routerTemperatureOverride: request.router_temperature ?? undefined,
    requiredCacheHits: request.required_cache_hits ?? undefined,
  }
}
