import type { PromptEndpoint } from '@router/prompt'
import { type TokenUsage, mergeUsage, usageIn } from './usage.js'

/** An event that is not complete after so many bytes is let through as it comes. */
const longestHeldEvent = 1024 * 1024
const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22

/** Fields whose non-empty value is generated text; the first is the common one. */
const contentFields: Partial<Record<PromptEndpoint, readonly string[]>> = {
  chat: ['"content":', '"reasoning_content":', '"reasoning":', '"tool_calls":', '"refusal":'],
  completions: ['"text":', '"token_ids":'],
}
/** Types of the last event of a whole stream, where it has no `[DONE]`. */
const lastTypes: Partial<Record<PromptEndpoint, readonly string[]>> = {
  responses: ['"response.completed"', '"response.incomplete"', '"response.failed"'],
  messages: ['"message_stop"'],
}
/** Types of events that carry generated text. */
const contentTypes: Partial<Record<PromptEndpoint, string>> = {
  responses: '.delta"',
  messages: '"content_block_delta"',
}

/**
 * Watches a stream of events as it passes, without parsing it: counts content chunks, finds usage and errors, and takes out the usage chunk
 * that only the router asked for. Events pass whole: the beginning of one is kept until its end comes, at most 1 MiB.
 */
export class StreamWatch {
  /** Events with generated text. */
  contentChunks = 0
  usage: TokenUsage | undefined
  /** The engine said that it was done. */
  isDone = false
  /** The engine reported an error: nothing that follows passes. */
  hasError = false
  /** What passed last was not the end of an event. */
  isWithinEvent = false
  /** Id of a response that the engine keeps. */
  responseId: string | undefined
  readonly #endpoint: PromptEndpoint
  readonly #stripsUsage: boolean
  readonly #fields: readonly string[]
  readonly #type: string | undefined
  readonly #lastEvent: (contentChunks: number) => string | undefined
  #held: Buffer | undefined

  /** @param lastEvent an event that goes before `[DONE]`; asked for once, when that is there */
  constructor(
    endpoint: PromptEndpoint,
    stripsUsage: boolean,
    lastEvent: (contentChunks: number) => string | undefined = () => undefined,
  ) {
    this.#endpoint = endpoint
    this.#stripsUsage = stripsUsage
    this.#lastEvent = lastEvent
    this.#fields = contentFields[endpoint] ?? []
    this.#type = contentTypes[endpoint]
  }

  /** What of these bytes may pass, in order, usually the bytes themselves; empty = nothing yet. */
  push(chunk: Buffer): Buffer {
    const data = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = undefined
    if (this.hasError) return data.subarray(0, 0)
    let pieces: Buffer[] | undefined
    // What passes of the current run of events begins here.
    let from = 0
    let start = 0
    for (let end = eventEnd(data, 0); end >= 0; end = eventEnd(data, start)) {
      const wasDone = this.isDone
      const passes = this.#look(data, start, end)
      const own = this.isDone && !wasDone ? this.#lastEvent(this.contentChunks) : undefined
      if (!passes || own !== undefined) {
        pieces ??= []
        pieces.push(data.subarray(from, start))
        if (own !== undefined) pieces.push(Buffer.from(own))
        from = passes ? start : end
      }
      start = end
      if (this.hasError) break
    }
    let passed = start
    if (!this.hasError && start < data.length) {
      if (data.length - start > longestHeldEvent) passed = data.length
      else this.#held = data.subarray(start)
    }
    if (passed > 0) this.isWithinEvent = passed > start
    const last = from === 0 && passed === data.length ? data : data.subarray(from, passed)
    return pieces === undefined ? last : Buffer.concat([...pieces, last])
  }

  /** The rest when the stream ended as it should: an event without an end. */
  rest(): Buffer | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** False = the event must not pass. */
  #look(data: Buffer, start: number, end: number): boolean {
    const event = start === 0 && end === data.length ? data : data.subarray(start, end)
    const at = payloadStart(event)
    if (at < 0) return true
    if (this.#isContent(event)) {
      this.contentChunks++
      return true
    }
    if (event[at] === 0x5b && event.toString('latin1', at, at + 6) === '[DONE]') {
      this.isDone = true
      return true
    }
    if (isError(event, at)) {
      this.hasError = true
      return true
    }
    return this.#endpoint === 'chat' || this.#endpoint === 'completions'
      ? this.#lookAtUsage(event)
      : this.#lookAtTyped(event)
  }

  #lookAtUsage(event: Buffer): boolean {
    if (!event.includes('"usage":')) return true
    const usage = usageIn(event)
    this.usage = mergeUsage(this.usage, usage)
    const isUsageAlone = event.includes('"choices":[]') || event.includes('"choices": []')
    return !(this.#stripsUsage && usage !== undefined && isUsageAlone)
  }

  #lookAtTyped(event: Buffer): boolean {
    if (this.#endpoint === 'responses') this.responseId ??= responseIdIn(event)
    if (event.includes('"usage":')) this.usage = mergeUsage(this.usage, usageIn(event))
    this.isDone ||= lastTypes[this.#endpoint]?.some((type) => event.includes(type)) ?? false
    return true
  }

  #isContent(event: Buffer): boolean {
    if (this.#type !== undefined) return event.includes(this.#type)
    return this.#fields.some((field) => hasValue(event, field))
  }
}

/** Id of a kept response, as an answer or its first event has it. */
export function responseIdIn(bytes: Buffer): string | undefined {
  return /"id"\s*:\s*"(resp_[\w-]{1,250})"/.exec(bytes.toString('latin1', 0, 4096))?.[1]
}

/** Behind the empty line that ends the event at `from`; -1 = it is not there yet. */
function eventEnd(data: Buffer, from: number): number {
  for (let at = data.indexOf(newline, from); at >= 0; at = data.indexOf(newline, at + 1)) {
    if (data[at + 1] === newline) return at + 2
    if (data[at + 1] === carriageReturn && data[at + 2] === newline) return at + 3
  }
  return -1
}

/** Where the data of an event begins; -1 = it has none. */
function payloadStart(event: Buffer): number {
  let at = 0
  // No other field has four letters and this first one.
  if (event[0] !== 0x64 || event[4] !== 0x3a) {
    at = event.indexOf('\ndata:') + 1
    if (at === 0) return -1
  }
  at += 5
  return event[at] === space ? at + 1 : at
}

function isError(event: Buffer, at: number): boolean {
  if (event.toString('latin1', 0, 12) === 'event: error') return true
  return /^\{\s*"error"\s*:\s*[^\sn]/.test(event.toString('latin1', at, at + 40))
}

/** Whether some value of a field is a list or text with something in it. */
function hasValue(event: Buffer, field: string): boolean {
  for (let at = event.indexOf(field); at >= 0; at = event.indexOf(field, at)) {
    at += field.length
    if (event[at] === space) at++
    const opening = event[at]
    if (opening === quote && event[at + 1] !== quote) return true
    if (opening === 0x5b && event[at + 1] !== 0x5d && field !== '"content":') return true
  }
  return false
}
