import type { HandMadeRow, HandMadeViewOptions } from '@router/conformance'
import type { SelectionRequest, WorkerTable } from '@router/core'
import { sharedHitsFrom } from '@router/sdk'

/** One selection over the fixture of the parity files: `workers` with two ranks each, row index = 2 x worker id + rank. */
export interface ParityShape {
  readonly workers: number
  readonly promptTokens: number
  readonly blockSize: number
  readonly tracksPrefillTokens: boolean
  /** False = only estimates are known. */
  readonly hasTierMatches: boolean
  readonly hasLoads: boolean
  /** Added to the active prefill tokens of every row. */
  readonly extraPrefillTokens: number
  readonly hasSharedHits: boolean
}

const sharedHits = sharedHitsFrom([
  [1, 3],
  [5, 12],
])

/** The shape of a cell: bits 0 and 1 of the mode say what is missing, bit 2 whether a shared cache was looked up. */
export function shapeOfMode(mode: number, promptTokens: number): ParityShape {
  const variant = mode % 4
  return {
    workers: 16,
    promptTokens,
    blockSize: 16,
    tracksPrefillTokens: variant !== 3,
    hasTierMatches: variant !== 1,
    hasLoads: variant !== 2,
    extraPrefillTokens: 0,
    hasSharedHits: mode % 8 >= 4,
  }
}

/** Parameters of a cell: bits 3, 4 and 5 of the mode switch the optional weights on. */
export function parametersOfMode(mode: number, temperature: number): Readonly<Record<string, unknown>> {
  return {
    overlap_score_credit: 1,
    overlap_score_credit_decay: 0.6,
    prefill_load_scale: 1,
    decode_active_request_weight: (mode & 8) === 0 ? 0 : 0.7,
    host_cache_hit_weight: 0.25,
    disk_cache_hit_weight: 0.1,
    shared_cache_multiplier: (mode & 16) === 0 ? 0 : 0.6,
    prefix_affinity_weight: (mode & 32) === 0 ? 0 : 0.25,
    router_temperature: temperature,
    seed: '42',
  }
}

/** The 64 rounds of a sweep: one policy object meets all prompts, block sizes and kinds of missing data. */
export function shapeOfRound(round: number): ParityShape {
  return {
    workers: 16,
    promptTokens: [1, 17, 127, 2048][round % 4]!,
    blockSize: [8, 16, 32, 17, 3][round % 5]!,
    tracksPrefillTokens: round % 2 === 0,
    hasTierMatches: round % 3 !== 0,
    hasLoads: round % 5 !== 0,
    extraPrefillTokens: 19 * round,
    hasSharedHits: false,
  }
}

/** The rows of a shape, in canonical order. */
export function rowsOfShape(shape: ParityShape): (HandMadeRow & { readonly dpRank: number })[] {
  return Array.from({ length: shape.workers * 2 }, (_, index) => {
    const id = index >> 1
    const dpRank = index & 1
    const overlap = (7 * id + dpRank) % 9
    const tier = shape.hasTierMatches ? 1 : 0
    return {
      workerId: BigInt(id),
      dpRank,
      cache: {
        deviceOverlapBlocks: overlap * tier,
        hostOverlapBlocks: 2 * tier,
        diskOverlapBlocks: tier,
        estimateBlocks: overlap + 0.5,
        estimateTokens: 16 * overlap + 8,
      },
      load: shape.hasLoads
        ? {
            activePrefillTokens: 19 * (id % 7) + shape.extraPrefillTokens,
            decodeCostBlocks: (id % 11) + 3,
            activeRequests: id % 5,
          }
        : 'unknown',
      totalKvBlocks: 16_384,
    }
  })
}

/** What a shape says about the view as a whole. */
export function viewOptionsOfShape(shape: ParityShape): HandMadeViewOptions {
  return { hasTierMatches: shape.hasTierMatches, ...(shape.hasSharedHits ? { sharedHits } : {}) }
}

/** Puts the workers of a shape into an empty table. */
export function addWorkers(table: WorkerTable, workers: number): void {
  for (let id = 0; id < workers; id++) {
    table.upsertWorker({ workerId: BigInt(id), dataParallelSize: 2, totalKvBlocks: 16_384 })
  }
}

/** Writes loads and overlaps of a shape, and returns its request. */
export function applyShape(table: WorkerTable, shape: ParityShape): SelectionRequest {
  for (const { workerId, dpRank, cache, load } of rowsOfShape(shape)) {
    const slot = table.slotOf(workerId, dpRank)
    if (cache !== 'unknown') {
      const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens } =
        cache!
      table.setOverlap(
        slot,
        deviceOverlapBlocks!,
        hostOverlapBlocks!,
        diskOverlapBlocks!,
        estimateBlocks!,
        estimateTokens!,
      )
    }
    if (load === 'unknown') table.clearLoad(slot)
    else table.setLoad(slot, load!.activePrefillTokens!, load!.decodeCostBlocks!, load!.activeRequests!)
  }
  const { promptTokens, blockSize, tracksPrefillTokens, hasTierMatches, hasSharedHits } = shape
  return {
    mode: 'tracked',
    promptTokens,
    blockSize,
    tracksPrefillTokens,
    hasTierMatches,
    sharedHits: hasSharedHits ? sharedHits : undefined,
  }
}
