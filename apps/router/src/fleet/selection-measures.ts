import type { PartitionRouter, SelectionResult } from '@router/core'
import type { FleetPartition } from './fleet-partition.js'

/** What a selection was worth and what it cost, as it was made. */
export interface SelectionMeasures {
  readonly promptTokens: number
  /** Blocks of the prompt. */
  readonly requestBlocks: number
  /** Weighed blocks that the chosen rank has of it, whether or not its policy looks at caches; absent = nobody knows. */
  readonly overlapBlocks: number | undefined
  /** The most that any eligible rank has. */
  readonly bestOverlapBlocks: number
  /** The caller named the rank. */
  readonly isPinned: boolean
  /** Milliseconds: hashing its blocks, 0 where they came hashed. */
  readonly hashingMs: number
  /** Hashes that the books know its blocks by. */
  readonly trackingMs: number
  /** Finding what every rank holds. */
  readonly matchingMs: number
  /** Loads, the policy and the booking. */
  readonly schedulingMs: number
}

/** A selection that counts: its request goes to the rank. */
export interface DeliveredSelection {
  readonly partition: FleetPartition
  readonly workerId: bigint
  readonly dpRank: number
  readonly measures: SelectionMeasures
}

/**
 * Told of every selection that is booked and whose request goes to its rank; of queries and of those that came to nothing it is not.
 * It must not throw.
 * @param isFurtherTry an earlier one of the same request came to nothing
 * @param readingMs what it took to get from a request that this process relays to its blocks, beside `hashingMs`; absent = others relay it
 */
export type SelectionListener = (
  selection: DeliveredSelection,
  isFurtherTry: boolean,
  readingMs: number | undefined,
) => void

/** Of the selection that a router just made. `O(ranks)`. */
export function measuresOf(
  { partition: { table, selector }, stages }: PartitionRouter,
  { slot, requiredBlocks }: SelectionResult,
  isPinned: boolean,
  { promptTokens, hashingMs }: Pick<SelectionMeasures, 'promptTokens' | 'hashingMs'>,
): SelectionMeasures {
  const { cache } = table.columns.views
  const row = table.rowOfSlot[slot]!
  return {
    promptTokens,
    isPinned,
    hashingMs,
    requestBlocks: requiredBlocks,
    overlapBlocks: cache!.isAvailable[row] === 1 ? cache!.estimateBlocks[row]! : undefined,
    bestOverlapBlocks: selector.bestEligibleOverlapBlocks,
    trackingMs: stages.hashingMs,
    matchingMs: stages.matchingMs,
    schedulingMs: stages.schedulingMs,
  }
}
