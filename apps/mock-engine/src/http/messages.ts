import { newId, planAnswer } from './answers.js'
import { chatMessagesOf, chatToolsOf, toolChoiceOf } from './anthropic-conversation.js'
import { countTokensBody, messagesBody, parseBody } from './bodies.js'
import type { Exchange } from './exchange.js'
import { type Unit, generateUnits } from './generation.js'
import type { Plan } from './plan.js'
import { conversationPrompt, enginePrompt, outputRoom } from './prompts.js'
import type { ServerHost } from './server-host.js'
import { type ToolCall, chosenCall } from './tool-choice.js'

/** `POST /v1/messages/count_tokens`. */
export function answerCountTokens(host: ServerHost, exchange: Exchange, given: unknown): void {
  const body = parseBody(countTokensBody, given, exchange.request.shape)
  host.models.find(body.model)
  const { promptTokens } = conversationPrompt(host, {
    messages: chatMessagesOf(body),
    tools: chatToolsOf(body),
    truncate_prompt_tokens: -1,
  })
  exchange.send(200, { input_tokens: promptTokens.length })
}

/** `POST /v1/messages`. */
export async function answerMessages(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(messagesBody, given, exchange.request.shape)
  const served = host.models.find(body.model)
  const { tools, choice } = toolChoiceOf(body)
  const call = chosenCall(tools, choice)
  const conversation = { messages: chatMessagesOf(body), tools: chatToolsOf(body) }
  const prompt = enginePrompt(host, exchange, conversationPrompt(host, conversation), served, body)
  const room = outputRoom(host, prompt.promptTokens.length, body.max_tokens)
  const fields = { stop: body.stop_sequences ?? [] }
  const plan = planAnswer(host, prompt.promptTokens, room, fields, call?.arguments, 0)
  const message = { id: `msg_${newId()}`, model: served.name, call, unit: { prompt, plan } }
  if (body.stream === true) await streamMessage(host, exchange, message)
  else {
    const [cached] = await generateUnits(host, exchange, [message.unit])
    exchange.send(200, wholeMessage(host, message, cached!))
  }
}

interface Message {
  readonly id: string
  readonly model: string
  readonly call: ToolCall | undefined
  readonly unit: Unit
}

function wholeMessage(host: ServerHost, message: Message, cached: number): object {
  const { unit, call } = message
  const text = unit.plan.pieces.join('')
  return {
    ...messageHead(message),
    content: [
      call === undefined
        ? { type: 'text', text }
        : { type: 'tool_use', id: toolUseId(), name: call.name, input: inputOf(text) },
    ],
    ...endingOf(unit.plan, call),
    usage: usageOf(host, unit, cached, unit.plan.tokens.length),
  }
}

/** Arguments that were cut by the limit are no JSON, and become nothing. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function messageHead({ id, model }: Message) {
  return { id, type: 'message', role: 'assistant', model }
}

function toolUseId(): string {
  return `toolu_${newId()}`
}

function endingOf(plan: Plan, call: ToolCall | undefined) {
  const sequence = typeof plan.stopReason === 'string' ? plan.stopReason : null
  const reason =
    plan.finishReason === 'length'
      ? 'max_tokens'
      : sequence !== null
        ? 'stop_sequence'
        : call === undefined
          ? 'end_turn'
          : 'tool_use'
  return { stop_reason: reason, stop_sequence: sequence }
}

/** As Anthropic counts: tokens read from the cache are not among the input tokens. */
function usageOf(host: ServerHost, { prompt }: Unit, cached: number, generated: number) {
  const shown = host.settings.showsCachedTokens ? cached : 0
  return {
    input_tokens: prompt.promptTokens.length - shown,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: shown,
    output_tokens: generated,
  }
}

async function streamMessage(host: ServerHost, exchange: Exchange, message: Message): Promise<void> {
  const { unit, call } = message
  const { plan } = unit
  const stream = exchange.openStream()
  const write = (type: string, fields: object) =>
    stream.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  let hasBegun = false
  const begin = (cached: number) => {
    if (hasBegun) return
    hasBegun = true
    const head = { ...messageHead(message), content: [], stop_reason: null, stop_sequence: null }
    write('message_start', { message: { ...head, usage: usageOf(host, unit, cached, 0) } })
    const block =
      call === undefined
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: toolUseId(), name: call.name, input: {} }
    write('content_block_start', { index: 0, content_block: block })
  }
  const [cached] = await generateUnits(host, exchange, [unit], {
    onToken: (_unit, token, cachedTokens) => {
      begin(cachedTokens)
      const piece = plan.pieces[token]!
      const delta =
        call === undefined
          ? { type: 'text_delta', text: piece }
          : { type: 'input_json_delta', partial_json: piece }
      write('content_block_delta', { index: 0, delta })
    },
    onEnd: (_unit, cachedTokens) => begin(cachedTokens),
  })
  write('content_block_stop', { index: 0 })
  write('message_delta', {
    delta: endingOf(plan, call),
    usage: usageOf(host, unit, cached!, plan.tokens.length),
  })
  write('message_stop', {})
  stream.end()
}
