import type { ServedModel } from '../engine/serving.js'
import { badRequest } from './api-error.js'

interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
}

/** One token of a chat answer. */
export interface ChatLogprob extends TokenLogprob {
  readonly top_logprobs: readonly TokenLogprob[]
}

/** Tokens of a completion, in columns. */
export interface CompletionLogprobs {
  readonly text_offset: readonly number[]
  readonly token_logprobs: readonly (number | null)[]
  readonly tokens: readonly string[]
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[]
}

/** Throws an `ApiError` of status 400 above the limit. */
export function checkLogprobs(asked: number | null | undefined, limit: number): void {
  if ((asked ?? 0) > limit)
    throw badRequest(
      `Requested sample logprobs of ${asked}, which is greater than max allowed: ${limit}`,
      'top_logprobs',
    )
}

/** The made-up probability of a token: the likelier of those it competes with, and always the same. */
function logprobOf(id: number, place: number): number {
  const share = (Math.imul(id + 1, 2_654_435_761) >>> 0) / 4_294_967_296
  return -(0.01 + share * 0.5 + place * 2)
}

/** The token itself, then its neighbours in the vocabulary. */
function candidates(model: ServedModel, id: number, count: number): TokenLogprob[] {
  return Array.from({ length: Math.min(count, model.vocabularySize) }, (_, place) => {
    const candidate = (id + place) % model.vocabularySize
    const token = model.decode(Uint32Array.of(candidate))
    return { token, logprob: logprobOf(id, place), bytes: [...Buffer.from(token)] }
  })
}

/** As chat answers have it, with the `top` likeliest. */
export function chatLogprob(model: ServedModel, id: number, top: number): ChatLogprob {
  const [chosen] = candidates(model, id, 1)
  return { ...chosen!, top_logprobs: candidates(model, id, top) }
}

/** As completions have it; a first token of a prompt has no probability. `offset` = characters before these tokens. */
export function completionLogprobs(
  model: ServedModel,
  ids: Uint32Array,
  top: number,
  offset: number,
  startsPrompt: boolean,
): CompletionLogprobs {
  const tokens = Array.from(ids, (id) => model.decode(Uint32Array.of(id)))
  let next = offset
  const isKnown = (index: number) => !(startsPrompt && index === 0)
  return {
    text_offset: tokens.map((token) => {
      const start = next
      next += token.length
      return start
    }),
    token_logprobs: Array.from(ids, (id, index) => (isKnown(index) ? logprobOf(id, 0) : null)),
    tokens,
    top_logprobs: Array.from(ids, (id, index) =>
      isKnown(index)
        ? Object.fromEntries(
            candidates(model, id, Math.max(1, top)).map(({ token, logprob }) => [token, logprob]),
          )
        : null,
    ),
  }
}
