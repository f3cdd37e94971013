import type { HashedPrompt, PromptRequest, RankOverlap, ReservedRequest, TokenPrompt } from '@router/core'
import type { HashWords } from '@router/kv-index'
import type { WorkerRank } from '@router/sdk'
import type { FleetPartition } from './fleet-partition.js'
import type { SelectionMeasures } from './selection-measures.js'

/** A prompt: its tokens, or the blocks that somebody hashed. */
export type FleetPrompt = TokenPrompt | HashedPrompt

/** What a request says beside its prompt and its partition. */
export type RequestTerms = Omit<PromptRequest, keyof TokenPrompt | keyof HashedPrompt | 'sharedHits'>

/** A request that is only asked about, or booked. */
export interface FleetRequest {
  readonly prompt: FleetPrompt
  readonly terms?: RequestTerms
}

/** What a booking says beside its request. */
export type BookingTerms = Pick<ReservedRequest, 'requestId' | 'isRelayed' | 'isDispatched' | 'onExplained'>

const noTerms: RequestTerms = {}
const noBooking: BookingTerms = { requestId: '' }

/**
 * A request as the core takes it. Every field is written out: an object with as many fields that was spread from others costs microseconds
 * wherever it is read.
 * @param booking absent = it is only asked about
 */
export function requestOfCore(
  blocks: HashedPrompt['blocks'] & { readonly promptTokens: number },
  { prompt: { loraName }, terms = noTerms }: FleetRequest,
  { requestId, isRelayed, isDispatched, onExplained }: BookingTerms = noBooking,
): ReservedRequest {
  const written: HashedPrompt & Required<RequestTerms & BookingTerms> = {
    blocks,
    promptTokens: blocks.promptTokens,
    loraName,
    requestId,
    isRelayed,
    isDispatched,
    onExplained,
    tracksPrefillTokens: terms.tracksPrefillTokens,
    assumesKvReuse: terms.assumesKvReuse,
    chunks: terms.chunks,
    isUnhashed: terms.isUnhashed,
    allowedWorkerIds: terms.allowedWorkerIds,
    pinnedWorker: terms.pinnedWorker,
    affinityTarget: terms.affinityTarget,
    requiredTaints: terms.requiredTaints,
    preferredTaints: terms.preferredTaints,
    policyClass: terms.policyClass,
    sessionContext: terms.sessionContext,
    expectedOutputTokens: terms.expectedOutputTokens,
    priorityJump: terms.priorityJump,
    strictPriority: terms.strictPriority,
    routerTemperatureOverride: terms.routerTemperatureOverride,
    requiredCacheHits: terms.requiredCacheHits,
    parameterOverrides: terms.parameterOverrides,
  }
  return written
}

/** Where a request goes: what its relay needs to know. A copy: nothing changes in it later. */
export interface Placement {
  readonly partition: FleetPartition
  readonly workerId: bigint
  readonly dpRank: number
  /** Base URL; empty when the worker has none any more. */
  readonly endpoint: string
  /** Weighed tokens that the chosen rank has; at most the prompt. */
  readonly cachedTokens: number
  readonly measures: SelectionMeasures
}

/** The same, with all that a caller who sends the request himself may ask. */
export interface Selection extends Placement {
  /** Tokens of the prompt. */
  readonly promptTokens: number
  readonly tracksPrefillTokens: boolean
  /** Sequence hashes of its complete blocks, also where the books share none and know them by others. */
  readonly sequence: HashWords
  /** What the ranks of the worker hold of it. */
  readonly overlaps: readonly RankOverlap[]
  readonly potentialDecodeBlocks: number
  /** The rank with the most device blocks, chosen or not; `undefined` when none has any. */
  readonly bestOverlap: (WorkerRank & { readonly blocks: number }) | undefined
  /** Of the chosen rank, before this request. */
  readonly activePrefillTokens: number
  /** As the worker advertises them; absent = not. 0 stays 0. */
  readonly totalKvBlocks: number | undefined
  readonly maxNumBatchedTokens: number | undefined
}

/** A request whose rank the caller chose. */
export interface ExplicitReservation {
  readonly requestId: string
  readonly workerId: bigint
  readonly dpRank: number
  readonly prompt: FleetPrompt
  /** Tokens to prefill; absent = none are booked. */
  readonly effectivePrefillTokens?: number | undefined
  readonly tracksPrefillTokens?: boolean | undefined
  readonly expectedOutputTokens?: number | undefined
}

/** A booking that was made on a rank. */
export interface Reservation {
  readonly partition: FleetPartition
  readonly workerId: bigint
  readonly dpRank: number
  readonly endpoint: string
}

/** What ranks hold of a prompt. */
export interface OverlapReport {
  readonly partition: FleetPartition
  /** Complete blocks of the prompt. */
  readonly blocks: number
  /** In canonical order: those of the partition, and strays that hold some of it. */
  readonly ranks: readonly RankBlocks[]
}

/** Blocks of a prompt that a rank holds, tier by tier, each beyond the faster ones. */
export type RankBlocks = Omit<RankOverlap, 'cachedTokens'>
