import type { Exactness, PromptCause } from '@router/prompt'
import type { TokenUsage } from './usage.js'

/** How a request ended. */
export type RequestEnding =
  /** An engine's answer was relayed whole, whatever its status. */
  | 'answered'
  /** The router answered itself: it could not be routed, or every try failed. */
  | 'refused'
  /** An answer broke off after some of it was relayed. */
  | 'broken'
  | 'client_gone'

/** A request that is over, for logs, metrics and the check of predictions. No prompt, no key. */
export interface RequestFacts {
  readonly requestId: string
  readonly path: string
  readonly ending: RequestEnding
  /** Sent to the client; 0 = none. */
  readonly status: number
  /** Wire name, where the router answered itself. */
  readonly errorCode: string | undefined
  /** Model of the partition; absent = it did not get so far, like all that follows. */
  readonly model: string | undefined
  readonly workerId: bigint | undefined
  readonly dpRank: number | undefined
  readonly exactness: Exactness | undefined
  readonly cause: PromptCause | undefined
  /** Its tokens can only be known by a tokenizer. */
  readonly wantsTokenizer: boolean
  /** As the router counted or estimated them. */
  readonly promptTokens: number | undefined
  readonly isEstimated: boolean
  /** Tokens that the last chosen rank was believed to have. */
  readonly predictedTokens: number | undefined
  readonly blockSize: number | undefined
  /** As the engine reported. */
  readonly usage: TokenUsage | undefined
  /** Events with generated text. */
  readonly contentChunks: number
  /** Until the first byte of the answer; absent = none came. */
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  /** Attempts at workers. */
  readonly attempts: number
  /** Hints that nothing acted on. */
  readonly ignoredHints: readonly string[]
}
