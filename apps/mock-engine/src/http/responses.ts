import type { z } from 'zod'
import { newId, nowSeconds, planAnswer } from './answers.js'
import { badRequest, notFound } from './api-error.js'
import { parseBody, responsesBody } from './bodies.js'
import { ClientGone, type EventStream, type Exchange } from './exchange.js'
import type { Waiter } from './generation.js'
import { conversationPrompt, enginePrompt, outputRoom } from './prompts.js'
import { chatToolsOf, inputMessages, toolChoiceOf } from './response-conversation.js'
import { type ResponseRun, runResponse } from './response-run.js'
import type { ResponseEvent, ResponseRecord } from './response-store.js'
import type { ServerHost } from './server-host.js'
import { structuredText } from './structured.js'
import { chosenCall } from './tool-choice.js'

type ResponsesBody = z.infer<typeof responsesBody>

/** `POST /v1/responses`. */
export async function answerResponses(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(responsesBody, given, exchange.request.shape)
  const run = prepareResponse(host, exchange, body)
  const { record } = run
  if (body.store !== false) host.responses.add(record)
  if (record.isBackground) {
    const queued = record.response
    const task = { gone: record.task.signal, phase: undefined } satisfies Waiter
    const done = runResponse(host, task, run, (event) => {
      record.events.push(event)
      for (const listener of record.listeners) listener(event)
    }).catch(() => {})
    void done.then(() => record.listeners.forEach((listener) => listener(undefined)))
    if (body.stream === true) streamRecord(exchange, record, -1)
    else exchange.send(200, queued)
    return
  }
  if (body.stream === true) {
    const stream = exchange.openStream()
    await runResponse(host, exchange, run, (event) => writeEvent(stream, event)).catch((error: unknown) => {
      // Other failures were told as an event.
      if (error instanceof ClientGone) throw error
    })
    stream.end()
  } else {
    await runResponse(host, exchange, run, () => {})
    exchange.send(200, record.response)
  }
}

/** `GET /v1/responses/{id}`, with `stream=true` the events of a response in the background from `starting_after` on. */
export function retrieveResponse(host: ServerHost, exchange: Exchange): void {
  const record = storedResponse(host, exchange)
  const { stream, starting_after: after } = exchange.request.query
  if (stream !== 'true') {
    exchange.send(200, record.response)
    return
  }
  if (!record.isBackground)
    throw badRequest('Only a response in the background can be streamed later.', 'stream')
  if (after !== undefined && !/^\d+$/u.test(after))
    throw badRequest(`starting_after: got '${after}', accepted: the number of an event`, 'starting_after')
  streamRecord(exchange, record, after === undefined ? -1 : Number(after))
}

/** `POST /v1/responses/{id}/cancel`. */
export function cancelResponse(host: ServerHost, exchange: Exchange): void {
  const record = storedResponse(host, exchange)
  if (!record.isBackground) throw badRequest('Cannot cancel a synchronous response.', 'response_id')
  const { status } = record.response
  if (status === 'queued' || status === 'in_progress') {
    record.response = { ...record.response, status: 'cancelled' }
    record.task.abort()
  }
  exchange.send(200, record.response)
}

function storedResponse(host: ServerHost, exchange: Exchange): ResponseRecord {
  const id = exchange.request.parameters['id'] ?? ''
  const record = host.responses.find(id)
  if (record === undefined) throw notFound(`Response with id '${id}' not found.`, 'response_id')
  return record
}

function streamRecord(exchange: Exchange, record: ResponseRecord, after: number): void {
  const stream = exchange.openStream()
  for (const event of record.events) if (event.sequence_number > after) writeEvent(stream, event)
  const isOver = record.response.status !== 'queued' && record.response.status !== 'in_progress'
  if (isOver) {
    stream.end()
    return
  }
  const listener = (event: ResponseEvent | undefined) => {
    if (event === undefined) stream.end()
    else if (event.sequence_number > after) writeEvent(stream, event)
  }
  record.listeners.add(listener)
  exchange.gone.addEventListener('abort', () => record.listeners.delete(listener))
}

function writeEvent(stream: EventStream, event: ResponseEvent): void {
  stream.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function prepareResponse(host: ServerHost, exchange: Exchange, body: ResponsesBody): ResponseRun {
  const served = host.models.find(body.model)
  const isBackground = body.background === true
  if (isBackground && body.store === false)
    throw badRequest('background can only be used when `store` is true', 'background')
  const earlier = earlierResponse(host, body)
  const conversation = [
    ...(earlier === undefined ? [] : [...earlier.conversation, ...earlier.answer]),
    ...inputMessages(body.input),
  ]
  const { instructions } = body
  const system = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []
  const { tools, choice } = toolChoiceOf(body)
  const call = chosenCall(tools, choice)
  const rendered = conversationPrompt(host, {
    messages: [...system, ...conversation],
    tools: chatToolsOf(body),
  })
  const prompt = enginePrompt(host, exchange, rendered, served, body)
  const room = outputRoom(host, prompt.promptTokens.length, body.max_output_tokens)
  const fixed = call?.arguments ?? formatText(body)
  const plan = planAnswer(host, prompt.promptTokens, room, {}, fixed, 0)
  const id = body.request_id ?? `resp_${newId()}`
  const record: ResponseRecord = {
    id,
    isBackground,
    bytes: (earlier?.bytes ?? 0) + exchange.request.bytes + plan.tokens.length * eventBytes,
    conversation,
    response: {
      ...emptyResponse(body, id, served.name, room),
      status: isBackground ? 'queued' : 'in_progress',
    },
    answer: [],
    task: new AbortController(),
    events: [],
    listeners: new Set(),
  }
  return { record, unit: { prompt, plan }, call }
}

/** The response whose conversation this one goes on with. */
function earlierResponse(host: ServerHost, body: ResponsesBody): ResponseRecord | undefined {
  const id = body.previous_response_id
  if (id === undefined || id === null) return undefined
  const record = host.responses.find(id)
  if (record === undefined) throw notFound(`Response with id '${id}' not found.`, 'previous_response_id')
  return record
}

/** About what an event takes, of which there is one a token. */
const eventBytes = 256

function formatText(body: ResponsesBody): string | undefined {
  const format = body.text?.format
  if (format === undefined || format === null) return undefined
  return structuredText({ response_format: { type: String(format['type']), json_schema: format } })
}

function emptyResponse(body: ResponsesBody, id: string, model: string, room: number): object {
  return {
    id,
    object: 'response',
    created_at: nowSeconds(),
    background: body.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? room,
    max_tool_calls: null,
    metadata: body.metadata ?? null,
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    prompt: null,
    reasoning: null,
    service_tier: 'auto',
    temperature: body.temperature ?? 1,
    text: body.text ?? null,
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_logprobs: null,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
  }
}
