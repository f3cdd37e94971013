import type { z } from 'zod'
import { answerId, newId, nowSeconds, plannedTokens, planAnswer, usageOf } from './answers.js'
import { badRequest } from './api-error.js'
import { chatBody, parseBody } from './bodies.js'
import type { Exchange } from './exchange.js'
import { type Unit, generateUnits } from './generation.js'
import { chatLogprob, checkLogprobs } from './logprobs.js'
import { conversationPrompt, enginePrompt, outputRoom } from './prompts.js'
import type { ServerHost } from './server-host.js'
import { structuredText } from './structured.js'
import { type ToolCall, chosenCall } from './tool-choice.js'

type ChatBody = z.infer<typeof chatBody>

interface Chat {
  readonly body: ChatBody
  readonly id: string
  readonly model: string
  readonly created: number
  readonly call: ToolCall | undefined
  /** Text of the last message where the answer is to repeat it. */
  readonly echoed: string
  readonly units: readonly Unit[]
}

/** `POST /v1/chat/completions`. */
export async function answerChat(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(chatBody, given, exchange.request.shape)
  const chat = prepareChat(host, exchange, body)
  if (body.stream === true) await streamChat(host, exchange, chat)
  else {
    const [cached] = await generateUnits(host, exchange, chat.units)
    exchange.send(200, wholeChat(host, chat, cached!))
  }
}

function prepareChat(host: ServerHost, exchange: Exchange, body: ChatBody): Chat {
  const served = host.models.find(body.model)
  checkLogprobs(body.top_logprobs, host.settings.maxLogprobs)
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true)
    throw badRequest('when using `top_logprobs`, `logprobs` must be set to true.', 'top_logprobs')
  checkStreamOptions(body)
  const prompt = enginePrompt(host, exchange, conversationPrompt(host, body), served, body)
  const asked = body.max_completion_tokens ?? body.max_tokens
  if (asked === 0) throw badRequest('max_tokens must be at least 1, got 0.', 'max_tokens')
  const room = outputRoom(host, prompt.promptTokens.length, asked)
  const call = chosenCall(offeredTools(body), toolChoice(body))
  const fixed = call?.arguments ?? structuredText(body)
  const units = Array.from({ length: body.n ?? 1 }, (_, choice) => ({
    prompt,
    plan: planAnswer(host, prompt.promptTokens, room, body, fixed, choice),
  }))
  const id = answerId(host, exchange, 'chatcmpl-', body.request_id)
  return { body, id, model: served.name, created: nowSeconds(), call, echoed: echoedText(body), units }
}

/** `tools` of a request. */
function offeredTools(body: ChatBody) {
  return (body.tools ?? []).map(({ function: { name, parameters } }) => ({ name, parameters }))
}

function toolChoice({ tool_choice: choice }: ChatBody): { readonly name: string } | 'required' | undefined {
  if (typeof choice === 'object' && choice !== null) return { name: choice.function.name }
  return choice === 'required' ? choice : undefined
}

function echoedText({ echo, messages }: ChatBody): string {
  const last = messages.at(-1) as { readonly role?: unknown; readonly content?: unknown } | undefined
  return echo === true && last?.role === 'assistant' && typeof last.content === 'string' ? last.content : ''
}

/** Throws an `ApiError` of status 400 for options of a stream without one. */
export function checkStreamOptions(body: {
  readonly stream?: boolean | null | undefined
  readonly stream_options?: object | null | undefined
}): void {
  if (body.stream !== true && (body.stream_options ?? undefined) !== undefined)
    throw badRequest('Stream options can only be defined when `stream=True`.', 'stream_options')
}

function wholeChat(host: ServerHost, chat: Chat, cached: number): object {
  const { body, units, call } = chat
  const promptTokens = units[0]!.prompt.promptTokens
  return {
    id: chat.id,
    object: 'chat.completion',
    created: chat.created,
    model: chat.model,
    choices: units.map(({ plan }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: call === undefined ? chat.echoed + plan.pieces.join('') : '',
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: call === undefined ? [] : [wholeCall(call, plan.pieces.join(''))],
        reasoning_content: null,
      },
      logprobs: body.logprobs === true ? { content: logprobsOf(host, body, plan.tokens) } : null,
      finish_reason: finishReason(plan.finishReason, call),
      stop_reason: plan.stopReason,
      token_ids: body.return_token_ids === true ? [...plan.tokens] : null,
    })),
    service_tier: null,
    system_fingerprint: null,
    usage: usageOf(host, promptTokens.length, plannedTokens(units), cached),
    prompt_logprobs: null,
    prompt_token_ids: body.return_token_ids === true ? [...promptTokens] : null,
    kv_transfer_params: null,
  }
}

/** As vLLM: a call that the client named itself ends by `stop`. */
function finishReason(reason: 'stop' | 'length', call: ToolCall | undefined): string {
  return reason === 'stop' && call !== undefined && !call.isNamed ? 'tool_calls' : reason
}

function wholeCall({ name }: ToolCall, argumentsText: string): object {
  return { id: callId(), type: 'function', function: { name, arguments: argumentsText } }
}

function callId(): string {
  return `chatcmpl-tool-${newId()}`
}

function logprobsOf(host: ServerHost, body: ChatBody, tokens: Iterable<number>): object[] {
  return Array.from(tokens, (id) => chatLogprob(host.engine.model, id, body.top_logprobs ?? 0))
}

async function streamChat(host: ServerHost, exchange: Exchange, chat: Chat): Promise<void> {
  const { body, units, call } = chat
  const promptTokens = units[0]!.prompt.promptTokens
  const options = body.stream_options
  const generated = units.map(() => 0)
  const stream = exchange.openStream()
  const writeChunk = (choices: readonly object[], more: object = {}) => {
    const { id, created, model } = chat
    const chunk = { id, object: 'chat.completion.chunk', created, model, choices, ...more }
    stream.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const usageSoFar = (unit: number) =>
    options?.continuous_usage_stats === true && options.include_usage === true
      ? { usage: usageWithoutDetails(promptTokens.length, generated[unit]!) }
      : {}
  let hasBegun = false
  const begin = () => {
    if (hasBegun) return
    hasBegun = true
    const ids = { prompt_token_ids: body.return_token_ids === true ? [...promptTokens] : null }
    for (const index of units.keys()) {
      const delta = { role: 'assistant', content: '' }
      writeChunk([{ index, delta, logprobs: null, finish_reason: null }], { ...ids, ...usageSoFar(index) })
    }
    if (chat.echoed === '') return
    for (const index of units.keys())
      writeChunk(
        [{ index, delta: { content: chat.echoed }, logprobs: null, finish_reason: null }],
        usageSoFar(index),
      )
  }
  const write = (unit: number, token: number | undefined, ending: object) => {
    const { plan } = units[unit]!
    const piece = token === undefined ? '' : plan.pieces[token]!
    const ids = token === undefined ? [] : [plan.tokens[token]!]
    writeChunk(
      [
        {
          index: unit,
          delta: call === undefined ? { content: piece } : callDelta(call, token, piece),
          logprobs:
            body.logprobs === true && token !== undefined ? { content: logprobsOf(host, body, ids) } : null,
          finish_reason: null,
          ...ending,
          token_ids: body.return_token_ids === true ? ids : null,
        },
      ],
      usageSoFar(unit),
    )
  }
  const endOf = (unit: number) => {
    const { finishReason: reason, stopReason } = units[unit]!.plan
    return { finish_reason: finishReason(reason, call), stop_reason: stopReason }
  }
  const cached = await generateUnits(host, exchange, units, {
    onToken: (unit, token) => {
      begin()
      generated[unit]!++
      const isEnd =
        units[unit]!.plan.finishReason === 'length' && token === units[unit]!.plan.tokens.length - 1
      write(unit, token, isEnd ? endOf(unit) : {})
    },
    onEnd: (unit) => {
      begin()
      if (units[unit]!.plan.finishReason === 'stop') write(unit, undefined, endOf(unit))
    },
  })
  if (options?.include_usage === true)
    writeChunk([], { usage: usageOf(host, promptTokens.length, plannedTokens(units), cached[0]!) })
  stream.write('data: [DONE]\n\n')
  stream.end()
}

/** The running `usage` of a chunk. */
export function usageWithoutDetails(promptTokens: number, completionTokens: number) {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
  }
}

/** The first piece names the call; the end has none. */
function callDelta(call: ToolCall, token: number | undefined, piece: string): object {
  if (token === undefined) return { content: '' }
  const head = token === 0 ? { id: callId(), type: 'function' } : {}
  const name = token === 0 ? { name: call.name } : {}
  return { tool_calls: [{ index: 0, ...head, function: { ...name, arguments: piece } }] }
}
