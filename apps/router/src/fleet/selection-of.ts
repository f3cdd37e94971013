import type { PromptRequest, SelectionResult } from '@router/core'
import type { PromptBlocks } from '@router/kv-index'
import type { FleetPartition } from './fleet-partition.js'
import type { Placement, Selection } from './fleet-request.js'
import { measuresOf } from './selection-measures.js'
import type { WorkerRegistration } from './worker-registration.js'

/** Blocks of a prompt, and what they cost. */
export interface HashedBlocks extends PromptBlocks {
  readonly promptTokens: number
  /** Milliseconds; 0 where they came hashed. */
  readonly hashingMs: number
}

/** A selection that a partition just made, before the next one overwrites its result. */
export interface MadeSelection {
  readonly partition: FleetPartition
  readonly asked: PromptRequest
  readonly blocks: HashedBlocks
  readonly result: SelectionResult
  /** Of the chosen worker. */
  readonly registration: WorkerRegistration | undefined
}

export function placementOf({ partition, asked, blocks, result, registration }: MadeSelection): Placement {
  return {
    partition,
    workerId: result.workerId,
    dpRank: result.dpRank,
    endpoint: registration?.endpoint ?? '',
    cachedTokens: Math.min(result.cachedTokens, blocks.promptTokens),
    measures: measuresOf(partition.router, result, asked.pinnedWorker !== undefined, blocks),
  }
}

/** @param tracksPrefillTokens where the request does not say */
export function selectionOf(made: MadeSelection, tracksPrefillTokens: boolean): Selection {
  const { partition, asked, blocks, result, registration } = made
  const { workerId, dpRank, slot, bestOverlapWorker } = result
  const { router } = partition
  const { rowOfSlot, columns } = router.partition.table
  const { endpoint, cachedTokens, measures } = placementOf(made)
  // Written out: an object with as many fields that is spread from others is a slow one.
  return {
    partition,
    workerId,
    dpRank,
    endpoint,
    promptTokens: blocks.promptTokens,
    tracksPrefillTokens: asked.tracksPrefillTokens ?? tracksPrefillTokens,
    sequence: blocks.sequence.slice(0, 2 * blocks.count),
    overlaps: router.lastOverlapsOf(workerId),
    cachedTokens,
    potentialDecodeBlocks: result.potentialDecodeBlocks,
    bestOverlap: bestOverlapWorker && { ...bestOverlapWorker, blocks: result.bestOverlapBlocks },
    activePrefillTokens: columns.views.load!.activePrefillTokens[rowOfSlot[slot]!]!,
    totalKvBlocks: registration?.totalKvBlocks,
    maxNumBatchedTokens: registration?.maxNumBatchedTokens,
    measures,
  }
}
