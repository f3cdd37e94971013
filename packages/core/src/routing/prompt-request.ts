import type { HashingOptions, PromptBlocks, TokenIds } from '@router/kv-index'
import type { SelectionRequest } from '../request.js'
import type { RoutedExplanation } from './explained-selection.js'

/** What the host computes, and not the caller. */
type Computed = 'mode' | 'promptTokens' | 'blockSize' | 'prefixHashes' | 'hasTierMatches'

/** What sets the blocks of one prompt apart from equal tokens of another. */
type Namespace = Pick<HashingOptions, 'loraName' | 'cacheSalt' | 'objectsByBlock' | 'isEagle'>

/** A prompt by its tokens: the core hashes them. */
export interface TokenPrompt extends Namespace {
  readonly tokens: TokenIds
  readonly blocks?: undefined
}

/** A prompt that was hashed before, with the block size of the partition. Borrowed for the call. */
export interface HashedPrompt {
  readonly blocks: PromptBlocks
  /** Tokens, integer >= 0; they may end in an incomplete block. */
  readonly promptTokens: number
  readonly tokens?: undefined
  /** Adapter, for the books. */
  readonly loraName?: string | null | undefined
}

/** What a request may say of the books. */
interface BookKeeping {
  /** Whether the books share blocks of this prompt with equal ones of others. Default: `RouterCoreConfig.assumesKvReuse`. */
  readonly assumesKvReuse?: boolean | undefined
}

/** A prompt by its content, where not all of its tokens are known (host.md 9.1). Borrowed for the call. */
export interface ContentChunks {
  /** Hashes of all its chunks; the books know the prompt by them, in place of its blocks. */
  readonly hashes: PromptBlocks
  /** Whole blocks that so many matched chunks stand for; more chunks never stand for fewer. */
  readonly overlapBlocks: (matchedChunks: number) => number
}

/** What is known of a prompt beside its blocks. */
interface PromptContent {
  /** Every rank is asked for them, and has the larger of blocks and chunks. */
  readonly chunks?: ContentChunks | undefined
  /** Nothing of the prompt is hashed: what ranks hold of it is unknown, and not nothing. Default false. */
  readonly isUnhashed?: boolean | undefined
}

/** One request to route: its prompt, and whom it may go to. */
export type PromptRequest = (TokenPrompt | HashedPrompt) &
  Omit<SelectionRequest, Computed> &
  BookKeeping &
  PromptContent

/** A request that is booked with its selection. */
export type ReservedRequest = PromptRequest & {
  /** At most one live booking has it. */
  readonly requestId: string
  /** This process relays the stream: the booking never expires as idle. Default false. */
  readonly isRelayed?: boolean | undefined
  /**
   * False = the caller tells of the dispatch itself, by `noteDispatched`, and nothing is believed to be cached until then. Default true:
   * a booking counts as dispatched.
   */
  readonly isDispatched?: boolean | undefined
  /**
   * Told how the selection came about, before it is booked, and where there is none to book: of the very selection, not of another one.
   * Must not throw. `O(ranks)`, allocates.
   */
  readonly onExplained?: ((explanation: RoutedExplanation) => void) | undefined
}

/** A request whose rank the caller chose: it is booked as it says, whatever the policy. Borrowed for the call. */
export interface RankBooking extends BookKeeping {
  readonly requestId: string
  readonly workerId: bigint
  readonly dpRank: number
  /** Blocks of the prompt; with an empty `local` only the books know them, and nothing is believed to be cached. */
  readonly blocks: PromptBlocks
  /** Tokens, integer >= 0. */
  readonly promptTokens: number
  /** Tokens that the rank has to prefill; 0 = none are tracked. */
  readonly prefillTokens: number
  readonly expectedOutputTokens?: number | undefined
  readonly loraName?: string | null | undefined
  readonly isRelayed?: boolean | undefined
  /** As in `ReservedRequest`. */
  readonly isDispatched?: boolean | undefined
}

/** A request as the selector takes it, filled anew for each selection. */
export type MutableRequest = { -readonly [K in keyof SelectionRequest]: SelectionRequest[K] }

/** Copies what the caller says beside the prompt, absent fields too: the object was filled before. */
export function takeCallerFields(prepared: MutableRequest, request: PromptRequest): void {
  prepared.sharedHits = request.sharedHits
  prepared.allowedWorkerIds = request.allowedWorkerIds
  prepared.pinnedWorker = request.pinnedWorker
  prepared.affinityTarget = request.affinityTarget
  prepared.requiredTaints = request.requiredTaints
  prepared.preferredTaints = request.preferredTaints
  prepared.policyClass = request.policyClass
  prepared.sessionContext = request.sessionContext
  prepared.expectedOutputTokens = request.expectedOutputTokens
  prepared.priorityJump = request.priorityJump
  prepared.strictPriority = request.strictPriority
  prepared.routerTemperatureOverride = request.routerTemperatureOverride
  prepared.requiredCacheHits = request.requiredCacheHits
  prepared.parameterOverrides = request.parameterOverrides
}
