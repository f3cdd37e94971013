import type { RequestFacts } from '../proxy/request-facts.js'

/** What the answer to a request showed of its tokens; absent = it did not. */
export interface RequestTimes {
  /** Generated tokens: as the engine reports, else events of the stream with text. */
  readonly outputTokens: number | undefined
  /** Until the first byte of a stream with text. */
  readonly firstTokenSeconds: number | undefined
  /** Mean over the tokens of such a stream. */
  readonly betweenTokensSeconds: number | undefined
}

/** Of a request that was answered whole; of any other nothing. Only a stream shows when its tokens come. */
export function requestTimes({
  ending,
  contentChunks,
  firstByteMs,
  totalMs,
  usage,
}: RequestFacts): RequestTimes {
  const isWhole = ending === 'answered'
  const counted = usage?.completionTokens ?? (contentChunks > 0 ? contentChunks : undefined)
  const outputTokens = isWhole ? counted : undefined
  const isSeen = isWhole && contentChunks > 0 && firstByteMs !== undefined
  const hasGaps = isSeen && outputTokens! > 1
  return {
    outputTokens,
    firstTokenSeconds: isSeen ? firstByteMs / 1000 : undefined,
    betweenTokensSeconds: hasGaps ? (totalMs - firstByteMs) / 1000 / (outputTokens! - 1) : undefined,
  }
}
