import type { Exactness, PromptCause, PromptReading } from '@router/prompt'
import type { Placement } from '../fleet/fleet-request.js'
import type { Attempt } from './attempt.js'
import type { RequestIntake } from './request-intake.js'
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

/** What a request left behind. Absent = it did not get so far. */
export interface RequestRemains {
  readonly intake: RequestIntake | undefined
  readonly reading: PromptReading | undefined
  /** Of the last try. */
  readonly selection: Placement | undefined
  /** The engine of that try chose its rank itself. */
  readonly ignoresRank: boolean
  readonly attempt: Attempt | undefined
}

/** A request that is over, for logs, metrics and the check of predictions. No prompt, no key. */
export interface RequestFacts {
  readonly requestId: string
  /** Absent = POST. */
  readonly method?: string | undefined
  /** Without what varies in it. */
  readonly path: string
  readonly ending: RequestEnding
  /** Sent to the client; 0 = none. */
  readonly status: number
  /** Wire name, where the router answered itself. */
  readonly errorCode: string | undefined
  /** It asks for a stream; absent = its body was not read. */
  readonly wantsStream: boolean | undefined
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
  /** Tokens that the last chosen rank was believed to have; absent also where nobody knows, or which rank it was. */
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
  /** Those of them that only repeated another one on a fresh connection. */
  readonly freshTries: number
  /** Hints that nothing acted on. */
  readonly ignoredHints: readonly string[]
}

/** The facts of a request that was refused before anything was asked of it. */
export function refusedFacts(
  about: Pick<RequestFacts, 'requestId' | 'method' | 'path' | 'status' | 'errorCode'>,
): RequestFacts {
  const nothing = {
    intake: undefined,
    reading: undefined,
    selection: undefined,
    ignoresRank: false,
    attempt: undefined,
  }
  const others = {
    ending: 'refused',
    firstByteMs: undefined,
    totalMs: 0,
    attempts: 0,
    freshTries: 0,
  } as const
  return requestFacts(nothing, { ...about, ...others })
}

/** The facts of a request, with what others know of it. */
export function requestFacts(
  { intake, reading, selection, ignoresRank, attempt }: RequestRemains,
  others: Pick<
    RequestFacts,
    | 'requestId'
    | 'method'
    | 'path'
    | 'ending'
    | 'status'
    | 'errorCode'
    | 'firstByteMs'
    | 'totalMs'
    | 'attempts'
    | 'freshTries'
  >,
): RequestFacts {
  const ignoredHints = intake?.facts.ignoredHints ?? []
  const isPredicted = reading?.exactness !== 'nothing' && !ignoresRank
  const { requestId, method, path, ending, status, errorCode, firstByteMs, totalMs, attempts, freshTries } =
    others
  // Written out: an object with as many fields that is spread from others is a slow one.
  return {
    requestId,
    method,
    path,
    ending,
    status,
    errorCode,
    firstByteMs,
    totalMs,
    attempts,
    freshTries,
    wantsStream: intake?.wantsStream,
    model: intake?.model.partition,
    workerId: selection?.workerId,
    dpRank: selection?.dpRank,
    exactness: reading?.exactness,
    cause: reading?.cause,
    wantsTokenizer: reading?.body.route === 'tokenize' && reading.cause !== 'client_template',
    promptTokens: reading?.allTokens,
    isEstimated: reading?.isEstimated ?? false,
    predictedTokens: isPredicted ? selection?.cachedTokens : undefined,
    blockSize: intake?.partition.shape.blockSize,
    usage: attempt?.usage,
    contentChunks: attempt?.contentChunks ?? 0,
    ignoredHints: ignoresRank ? [...ignoredHints, 'data_parallel_rank'] : ignoredHints,
  }
}
