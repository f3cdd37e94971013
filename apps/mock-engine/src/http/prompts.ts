import { MockEngineError } from '../errors.js'
import { withImages } from '../model/images.js'
import { imageIdentifiers } from '../model/messages.js'
import { badRequest } from './api-error.js'
import type { Exchange } from './exchange.js'
import type { EnginePrompt } from './generation.js'
import { checkImages } from './images.js'
import type { ServedName } from './models.js'
import type { ServerHost } from './server-host.js'

/** What a request may say of how its conversation becomes text. */
export interface ConversationFields {
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly tools?: readonly unknown[] | null | undefined
  readonly documents?: readonly unknown[] | null | undefined
  readonly add_generation_prompt?: boolean | null | undefined
  readonly continue_final_message?: boolean | null | undefined
  readonly add_special_tokens?: boolean | null | undefined
  readonly chat_template?: string | null | undefined
  readonly chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined
  readonly truncate_prompt_tokens?: number | null | undefined
}

/** Tokens of a prompt, with the images among them. */
export type PromptTokens = Pick<EnginePrompt, 'promptTokens' | 'media'>

/** Renders and encodes a conversation. Throws an `ApiError` of status 400 for what has no prompt. */
export function conversationPrompt(host: ServerHost, fields: ConversationFields): PromptTokens {
  const { model } = host.engine
  if (typeof fields.chat_template === 'string')
    throw badRequest(
      'Chat template is passed with request, but --trust-request-chat-template is not set. ' +
        'Refused request with untrusted chat template.',
      'chat_template',
    )
  const continueFinalMessage = fields.continue_final_message ?? false
  const addGenerationPrompt = fields.add_generation_prompt ?? true
  if (continueFinalMessage && addGenerationPrompt)
    throw badRequest(
      'Cannot set both `continue_final_message` and `add_generation_prompt` to True.',
      'continue_final_message',
    )
  checkImages(fields.messages)
  try {
    const text = model.render({
      messages: fields.messages,
      tools: fields.tools ?? undefined,
      documents: fields.documents ?? undefined,
      addGenerationPrompt,
      continueFinalMessage,
      templateArguments: fields.chat_template_kwargs ?? {},
    })
    const tokens = encodedText(host, text, fields.add_special_tokens ?? false, fields)
    return withImages(tokens, model.imageToken, imageIdentifiers(fields), host.settings.imageTokens)
  } catch (error) {
    if (MockEngineError.isInstance(error)) throw badRequest(error.message, 'messages')
    throw error
  }
}

/** Characters of a text that is tokenised though the context is too short for it, because it is to be cut, or only counted. */
const mostCharacters = 16 * 1024 * 1024

/**
 * The tokens of a text. Throws an `ApiError` of status 400, before it looks for them, for a text that has too many whatever they are: for
 * the context, or, where it is to be truncated, at all.
 */
export function encodedText(
  host: ServerHost,
  text: string,
  addsSpecialTokens: boolean,
  { truncate_prompt_tokens: truncate }: Pick<RunFields, 'truncate_prompt_tokens'>,
): Uint32Array {
  const { model, maxModelTokens } = host.engine
  const isWhole = truncate === undefined || truncate === null
  const most = isWhole ? Math.min(mostCharacters, maxModelTokens * model.longestToken) : mostCharacters
  if (text.length > most)
    throw badRequest(
      `This model's maximum context length is ${maxModelTokens} tokens. However, your request has ${text.length} input ` +
        `characters, of which at most ${most} are accepted. Please reduce the length of the input prompt.`,
      'input_text',
    )
  return model.encode(text, addsSpecialTokens)
}

/** Generations of one request: prompts times choices. */
export const generationsLimit = 10_000

/** Throws an `ApiError` of status 400 above the limit. */
export function checkGenerations(count: number): void {
  if (count > generationsLimit)
    throw badRequest(`a request may have ${generationsLimit} prompts times choices, got ${count}`, 'prompt')
}

/** The prompts of `prompt` or `input`: one text, one list of ids, or a list of either. Throws an `ApiError` of status 400 for ids that do not exist. */
export function listedPrompts(
  host: ServerHost,
  given: string | readonly number[] | readonly string[] | readonly (readonly number[])[],
  addsSpecialTokens: boolean,
  fields: Pick<RunFields, 'truncate_prompt_tokens'>,
): PromptTokens[] {
  const isOne = typeof given === 'string' || typeof given[0] === 'number'
  const prompts = (isOne ? [given] : given) as readonly (string | readonly number[])[]
  if (prompts.length === 0) throw badRequest('Please provide at least one prompt', 'prompt')
  checkGenerations(prompts.length)
  return prompts.map((prompt) => ({
    promptTokens:
      typeof prompt === 'string'
        ? encodedText(host, prompt, addsSpecialTokens, fields)
        : knownIds(host, prompt),
  }))
}

function knownIds(host: ServerHost, ids: readonly number[]): Uint32Array {
  const size = host.engine.model.vocabularySize
  const unknown = ids.find((id) => id >= size)
  if (unknown !== undefined) throw badRequest(`Token id ${unknown} is out of vocabulary`, 'prompt')
  return Uint32Array.from(ids)
}

/** How a request wants its prompt to be run. */
export interface RunFields {
  readonly truncate_prompt_tokens?: number | null | undefined
  readonly cache_salt?: string | null | undefined
  readonly data_parallel_rank?: number | null | undefined
}

/** A prompt that is ready for the engine: truncated from its start, on its rank. Throws an `ApiError` of status 400. */
export function enginePrompt(
  host: ServerHost,
  exchange: Exchange,
  prompt: PromptTokens,
  served: ServedName,
  fields: RunFields,
): EnginePrompt {
  const { truncate_prompt_tokens: truncate } = fields
  const kept = truncate === -1 ? host.engine.maxModelTokens : (truncate ?? Infinity)
  const dropped = Math.max(0, prompt.promptTokens.length - kept)
  const promptTokens = prompt.promptTokens.subarray(dropped)
  if (promptTokens.length === 0) throw badRequest('The decoder prompt cannot be empty', 'prompt')
  return {
    promptTokens,
    media: prompt.media
      ?.filter(({ start }) => start >= dropped)
      .map(({ identifier, start, end }) => ({ identifier, start: start - dropped, end: end - dropped })),
    loraName: served.loraName,
    cacheSalt: fields.cache_salt ?? undefined,
    rank: rankOf(host, exchange, fields),
  }
}

/** vLLM's header, which does not count where it is no number; SGLang's field. */
function rankOf({ engine }: ServerHost, exchange: Exchange, fields: RunFields): number | undefined {
  const header = exchange.request.headers['x-data-parallel-rank']
  const written = typeof header === 'string' && /^\s*-?\d+\s*$/u.test(header) ? Number(header) : undefined
  const rank = written ?? (engine.flavour === 'sglang' ? (fields.data_parallel_rank ?? undefined) : undefined)
  if (rank !== undefined && (rank < 0 || rank >= engine.ranks))
    throw badRequest(`data_parallel_rank ${rank} is out of range [0, ${engine.ranks}).`)
  return rank
}

/**
 * The most tokens that may follow a prompt. Throws an `ApiError` of status 400 where the prompt, or the prompt with what is asked for, is
 * longer than the model's context.
 */
export function outputRoom(host: ServerHost, promptTokens: number, asked: number | null | undefined): number {
  const limit = host.engine.maxModelTokens
  if (promptTokens >= limit)
    throw badRequest(
      `This model's maximum context length is ${limit} tokens. However, your request has ${promptTokens} input tokens. ` +
        'Please reduce the length of the input messages.',
      'input_tokens',
    )
  if (asked === undefined || asked === null) return limit - promptTokens
  if (promptTokens + asked > limit)
    throw badRequest(
      `'max_tokens' or 'max_completion_tokens' is too large: ${asked}. This model's maximum context length is ${limit} ` +
        `tokens and your request has ${promptTokens} input tokens (${asked} > ${limit} - ${promptTokens}).`,
      'max_tokens',
    )
  return asked
}
