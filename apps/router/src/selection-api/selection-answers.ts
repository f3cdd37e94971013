import type { PotentialLoad, RankOverlap, SelectionExplanation } from '@router/core'
import { type DumpEvent, type HashWords, PrefixIndex, TIERS, hashAt } from '@router/kv-index'
import { type RouterDefaults, routerDefaults } from '@router/sdk'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import type { OverlapReport, RequestTerms, Reservation, Selection } from '../fleet/fleet-request.js'
import { unknownBatchTokens } from '../fleet/fleet-settings.js'
import type { JsonValue } from '../http/json-writer.js'
import { snakeCase } from '../snake-case.js'

/** From which load on an answer calls a worker busy; absent = it does not say. */
export interface BusyFacts {
  /** Share of `total_kv_blocks`. */
  readonly decode?: number | undefined
  /** Share of `max_num_batched_tokens`. */
  readonly prefill?: number | undefined
}

/** Where a request would go, or goes. */
export function selectionJson(
  selection: Selection,
  facts: BusyFacts,
  asked: {
    readonly selectionId: string | undefined
    readonly isBooked: boolean
    readonly isAdvisory: boolean
  },
): { [key: string]: JsonValue | undefined } {
  const { partition, potentialDecodeBlocks, totalKvBlocks, bestOverlap } = selection
  const { isBooked, isAdvisory } = asked
  const isDecodeKnown = facts.decode !== undefined && totalKvBlocks !== undefined
  return {
    selection_id: asked.selectionId,
    sequence_hashes: isBooked ? signedHashes(selection.sequence) : undefined,
    isl_tokens: isBooked ? selection.promptTokens : undefined,
    track_prefill_tokens: isBooked ? selection.tracksPrefillTokens : undefined,
    model_name: partition.name.model,
    routing_group: partition.name.routingGroup,
    worker_id: selection.workerId,
    dp_rank: selection.dpRank,
    endpoint: selection.endpoint,
    block_size: partition.shape.blockSize,
    overlap: overlapJson(selection.overlaps, partition.shape.blockSize),
    effective_prefill_tokens: selection.promptTokens - selection.cachedTokens,
    potential_decode_blocks: potentialDecodeBlocks,
    decode_busy: isDecodeKnown ? potentialDecodeBlocks > facts.decode! * totalKvBlocks! : undefined,
    worker_load: isAdvisory ? workerLoad(selection, facts) : undefined,
    best_overlap: bestOverlap && {
      worker_id: bestOverlap.workerId,
      dp_rank: bestOverlap.dpRank,
      blocks: bestOverlap.blocks,
    },
  }
}

/** A booking on a rank. */
export function reservationJson(selectionId: string, reservation: Reservation): JsonValue {
  const { partition, workerId, dpRank, endpoint } = reservation
  return {
    selection_id: selectionId,
    model_name: partition.name.model,
    routing_group: partition.name.routingGroup,
    worker_id: workerId,
    dp_rank: dpRank,
    endpoint,
  }
}

/** @param partition whose engines' own word is shown beside what is booked, where they said one */
export function potentialLoadsJson(loads: readonly PotentialLoad[], partition?: FleetPartition): JsonValue {
  return loads.map((load) => ({
    worker_id: load.workerId,
    dp_rank: load.dpRank,
    potential_prefill_tokens: load.potentialPrefillTokens,
    potential_decode_blocks: load.potentialDecodeBlocks,
    active_requests: load.activeRequests,
    kv_used_blocks: partition?.kvUsedBlocks(load.workerId, load.dpRank),
  }))
}

/** What every rank holds of a prompt, tier by tier. */
export function overlapReportJson(
  { partition, blocks, ranks }: OverlapReport,
  defaults: RouterDefaults = routerDefaults,
  { parameterOverrides }: Pick<RequestTerms, 'parameterOverrides'> = {},
): JsonValue {
  const { host_cache_hit_weight: hostWeight, disk_cache_hit_weight: diskWeight } = defaults
  const credit = Number(parameterOverrides?.['overlap_score_credit'] ?? defaults.overlap_score_credit)
  return {
    block_size: partition.shape.blockSize,
    num_blocks: blocks,
    workers: ranks.map(({ workerId, dpRank, deviceBlocks, hostBlocks, diskBlocks }) => ({
      worker_id: workerId,
      dp_rank: dpRank,
      device_blocks: deviceBlocks,
      host_pinned_blocks: deviceBlocks + hostBlocks,
      disk_blocks: deviceBlocks + hostBlocks + diskBlocks,
      host_pinned_extension_blocks: hostBlocks,
      disk_extension_blocks: diskBlocks,
      shared_beyond_device_blocks: null,
      router_credit_blocks: credit * deviceBlocks + hostWeight * hostBlocks + diskWeight * diskBlocks,
    })),
    shared_cache: { enabled: false, total_hit_blocks: 0, ranges: [], error: null },
  }
}

/** What the index of a partition holds, as stores with ids of their own. `O(blocks)`. */
export function dumpJson({ router, shape, strays }: FleetPartition): JsonValue {
  const { index } = router.prefix
  const { table } = router.partition
  const events = index instanceof PrefixIndex ? index.dump().events : []
  const told = events.map((event) => {
    const row = table.rowOfSlot[event.rank]!
    const { workerId } = table.workers[table.workerOfRow[row]!]!
    return { workerId, dpRank: table.columns.views.identity!.dpRank[row]!, event }
  })
  const nextIds = new Map<string, number>()
  return {
    block_size: shape.blockSize,
    events: [...told, ...strays.dump()].map(({ workerId, dpRank, event }) => {
      const rank = `${workerId}.${dpRank}`
      const eventId = nextIds.get(rank) ?? 0
      nextIds.set(rank, eventId + 1)
      return dumpedJson(workerId, dpRank, eventId, event)
    }),
  }
}

function dumpedJson(
  workerId: bigint,
  dpRank: number,
  eventId: number,
  { tier, hasParent, parent, engine, local }: DumpEvent,
): JsonValue {
  const blocks = Array.from({ length: engine.length >> 1 }, (_, block) => ({
    block_hash: hashAt(engine, block),
    tokens_hash: hashAt(local, block),
    mm_extra_info: null,
  }))
  const stored = { parent_hash: hasParent ? parent : null, start_position: null, blocks }
  return {
    worker_id: workerId,
    storage_tier: TIERS[tier]!,
    residency_domain: 'worker',
    event: { event_id: eventId, dp_rank: dpRank, data: { stored } },
  }
}

/** An explanation: its own names, in the case of the wire. */
export function explanationJson(explanation: SelectionExplanation): JsonValue {
  const { error, ...others } = explanation
  const refusal = error && { code: error.code, message: error.message }
  return snakeCased({ ...others, error: refusal })
}

function overlapJson(overlaps: readonly RankOverlap[], blockSize: number): JsonValue {
  let gpu = 0
  let cpu = 0
  let disk = 0
  const dp = new Map<number, number>()
  for (const { dpRank, deviceBlocks, hostBlocks, diskBlocks } of overlaps) {
    dp.set(dpRank, deviceBlocks * blockSize)
    gpu = Math.max(gpu, deviceBlocks)
    cpu = Math.max(cpu, deviceBlocks + hostBlocks)
    disk = Math.max(disk, deviceBlocks + hostBlocks + diskBlocks)
  }
  const longest = Math.max(gpu, cpu, disk)
  return {
    longest_matched: longest * blockSize,
    gpu: gpu * blockSize,
    dp,
    cpu: cpu * blockSize,
    disk: disk * blockSize,
  }
}

function workerLoad(selection: Selection, { prefill }: BusyFacts): JsonValue {
  const { activePrefillTokens, totalKvBlocks, maxNumBatchedTokens = unknownBatchTokens } = selection
  return {
    active_prefill_tokens: activePrefillTokens,
    prefill_token_capacity: maxNumBatchedTokens,
    total_kv_blocks: totalKvBlocks,
    prefill_busy: prefill === undefined ? undefined : activePrefillTokens > prefill * maxNumBatchedTokens,
  }
}

function signedHashes(words: HashWords): bigint[] {
  return Array.from({ length: words.length >> 1 }, (_, index) => BigInt.asIntN(64, hashAt(words, index)))
}

function snakeCased(value: unknown): JsonValue {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'object' || value === null) return (value ?? null) as JsonValue
  if (Array.isArray(value)) return value.map(snakeCased)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [snakeCase(key), snakeCased(inner)]),
  )
}
