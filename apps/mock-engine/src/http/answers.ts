import { randomUUID } from 'node:crypto'
import type { ServedModel } from '../engine/serving.js'
import { TextStream } from '../model/text-stream.js'
import { badRequest } from './api-error.js'
import type { Exchange } from './exchange.js'
import type { Unit } from './generation.js'
import { type OutputLimits, type Plan, planOutput } from './plan.js'
import type { ServerHost } from './server-host.js'

/** What a request may say of how far its answer goes. */
export interface OutputFields {
  readonly min_tokens?: number | null | undefined
  readonly stop?: string | readonly string[] | null | undefined
  readonly stop_token_ids?: readonly number[] | null | undefined
  readonly include_stop_str_in_output?: boolean | null | undefined
  readonly ignore_eos?: boolean | null | undefined
  readonly seed?: number | null | undefined
}

/**
 * What the model says to a prompt: `fixedText` where the request leaves no choice, else a made-up reply that depends on the prompt, the
 * seed and the number of the choice. `room` is the most tokens. Throws an `ApiError` of status 400 where the limits contradict.
 */
export function planAnswer(
  host: ServerHost,
  promptTokens: Uint32Array,
  room: number,
  fields: OutputFields,
  fixedText: string | undefined,
  choice: number,
): Plan {
  const minTokens = fields.min_tokens ?? 0
  if (minTokens > room)
    throw badRequest(
      `min_tokens must be less than or equal to max_tokens=${room}, got ${minTokens}.`,
      'min_tokens',
    )
  const limits: OutputLimits = {
    maxTokens: room,
    minTokens,
    stop: typeof fields.stop === 'string' ? [fields.stop] : (fields.stop ?? []),
    stopTokenIds: fields.stop_token_ids ?? [],
    includesStop: fields.include_stop_str_in_output ?? false,
  }
  const { model } = host.engine
  if (fixedText !== undefined) {
    const tokens = model.encode(fixedText, false)
    return planOutput(tokens, piecesOf(model, tokens), true, limits)
  }
  const goesOn = fields.ignore_eos ?? false
  const count = goesOn ? room : Math.min(room, Math.max(host.settings.replyTokens, minTokens))
  const tokens = host.writer.reply(seedOf(promptTokens, fields.seed ?? 0, choice), count)
  return planOutput(tokens, piecesOf(model, tokens), !goesOn, limits)
}

/** The text that becomes visible with each token; a character that several tokens share comes with the last of them. */
function piecesOf(model: ServedModel, tokens: Uint32Array): string[] {
  const stream = new TextStream(model)
  const pieces = Array.from(tokens, (token) => stream.push(token))
  const rest = stream.end()
  if (rest !== '') pieces[pieces.length - 1] += rest
  return pieces
}

/** FNV-1a over what decides the reply; u32. */
function seedOf(promptTokens: Uint32Array, seed: number, choice: number): number {
  let state = 0x811c9dc5
  const add = (value: number) => {
    state = Math.imul(state ^ value, 0x01000193) >>> 0
  }
  promptTokens.forEach(add)
  add(seed)
  add(choice)
  return state
}

/** `usage` as OpenAI has it. */
export function usageOf(
  host: ServerHost,
  promptTokens: number,
  completionTokens: number,
  cachedTokens: number,
) {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: host.settings.showsCachedTokens ? { cached_tokens: cachedTokens } : null,
  }
}

/** Tokens that are generated in all. */
export function plannedTokens(units: readonly Unit[]): number {
  return units.reduce((sum, { plan }) => sum + plan.tokens.length, 0)
}

/** The id of an answer: the client's own where it gives one, behind a prefix. Sets the header of it where that is on. */
export function answerId(
  host: ServerHost,
  exchange: Exchange,
  prefix: string,
  requestId?: string | null,
): string {
  const header = exchange.request.headers['x-request-id']
  const own = (typeof header === 'string' && header !== '' ? header : undefined) ?? requestId
  const id = own ?? newId()
  if (host.settings.setsRequestIdHeader) exchange.setHeader('x-request-id', id)
  return `${prefix}${id}`
}

/** 32 hexadecimal digits. */
export function newId(): string {
  return randomUUID().replaceAll('-', '')
}

/** Whole seconds since the epoch. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
