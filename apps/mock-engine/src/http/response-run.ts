import { newId } from './answers.js'
import { ClientGone } from './exchange.js'
import { type Unit, type Waiter, generateUnits } from './generation.js'
import { callMessage } from './response-conversation.js'
import type { ResponseEvent, ResponseRecord } from './response-store.js'
import type { ServerHost } from './server-host.js'
import type { ToolCall } from './tool-choice.js'

/** A response that is to be generated. */
export interface ResponseRun {
  readonly record: ResponseRecord
  readonly unit: Unit
  readonly call: ToolCall | undefined
}

/** Generates a response: tells each event and keeps the record up to date. Rejects as `generateUnits` does; the record says why. */
export async function runResponse(
  host: ServerHost,
  waiter: Waiter,
  run: ResponseRun,
  emit: (event: ResponseEvent) => void,
): Promise<void> {
  const { record, unit } = run
  const output = run.call === undefined ? new TextOutput() : new CallOutput(run.call)
  let sequence = 0
  const tell = (type: string, fields: object) => emit({ type, sequence_number: sequence++, ...fields })
  tell('response.created', { response: record.response })
  if (record.response.status === 'queued') record.response = { ...record.response, status: 'in_progress' }
  tell('response.in_progress', { response: record.response })
  let hasBegun = false
  const begin = () => {
    if (!hasBegun) output.begin(tell)
    hasBegun = true
  }
  try {
    const [cached] = await generateUnits(host, waiter, [unit], {
      onToken: (_unit, token) => {
        begin()
        output.add(unit.plan.pieces[token]!, tell)
      },
    })
    begin()
    const isWhole = unit.plan.finishReason === 'stop'
    const status = isWhole ? 'completed' : 'incomplete'
    const item = output.end(status, tell)
    record.answer = [output.message]
    record.response = {
      ...record.response,
      status,
      incomplete_details: isWhole ? null : { reason: 'max_output_tokens' },
      output: [item],
      usage: usageOf(host, unit, cached!),
    }
    tell(`response.${status}`, { response: record.response })
  } catch (error) {
    if (error instanceof ClientGone) record.response = { ...record.response, status: 'cancelled' }
    else {
      const failure = { code: 'server_error', message: (error as Error).message }
      record.response = { ...record.response, status: 'failed', error: failure }
      tell('response.failed', { response: record.response })
    }
    throw error
  }
}

type Tell = (type: string, fields: object) => void

/** A message, as the events tell it. */
class TextOutput {
  readonly #id = `msg_${newId()}`
  #text = ''

  get message(): Readonly<Record<string, unknown>> {
    return { role: 'assistant', content: this.#text }
  }

  begin(tell: Tell): void {
    const item = this.#item('in_progress', [])
    tell('response.output_item.added', { output_index: 0, item })
    tell('response.content_part.added', { ...this.#place(), part: this.#part() })
  }

  add(piece: string, tell: Tell): void {
    this.#text += piece
    tell('response.output_text.delta', { ...this.#place(), delta: piece, logprobs: [] })
  }

  end(status: string, tell: Tell): object {
    tell('response.output_text.done', { ...this.#place(), text: this.#text, logprobs: [] })
    tell('response.content_part.done', { ...this.#place(), part: this.#part() })
    const item = this.#item(status, [this.#part()])
    tell('response.output_item.done', { output_index: 0, item })
    return item
  }

  #place() {
    return { item_id: this.#id, output_index: 0, content_index: 0 }
  }

  #part() {
    return { type: 'output_text', text: this.#text, annotations: [], logprobs: [] }
  }

  #item(status: string, content: readonly object[]) {
    return { id: this.#id, type: 'message', role: 'assistant', status, content }
  }
}

/** A call of a function, as the events tell it. */
class CallOutput {
  readonly #id = `fc_${newId()}`
  readonly #callId = `call_${newId()}`
  readonly #name: string
  #arguments = ''

  constructor({ name }: ToolCall) {
    this.#name = name
  }

  get message(): Readonly<Record<string, unknown>> {
    return callMessage(this.#callId, this.#name, this.#arguments)
  }

  begin(tell: Tell): void {
    tell('response.output_item.added', { output_index: 0, item: this.#item('in_progress') })
  }

  add(piece: string, tell: Tell): void {
    this.#arguments += piece
    tell('response.function_call_arguments.delta', { item_id: this.#id, output_index: 0, delta: piece })
  }

  end(status: string, tell: Tell): object {
    const done = { item_id: this.#id, output_index: 0, name: this.#name, arguments: this.#arguments }
    tell('response.function_call_arguments.done', done)
    const item = this.#item(status)
    tell('response.output_item.done', { output_index: 0, item })
    return item
  }

  #item(status: string) {
    const [id, callId, name] = [this.#id, this.#callId, this.#name]
    return { id, type: 'function_call', call_id: callId, name, arguments: this.#arguments, status }
  }
}

function usageOf(host: ServerHost, { prompt, plan }: Unit, cached: number): object {
  const [input, output] = [prompt.promptTokens.length, plan.tokens.length]
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: host.settings.showsCachedTokens ? cached : 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}
