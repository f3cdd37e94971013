import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EventPublishers } from './event-publishers.js'
import type { RunningPart } from './part-process.js'

/** What the engines tell when they run. */
export interface EngineFacts {
  readonly urls: readonly string[]
  /** Of each engine the event sockets of its ranks; empty = they tell nothing. */
  readonly eventEndpoints: readonly (readonly string[])[]
}

export interface EngineOptions {
  readonly engines: number
  readonly ranks: number
  readonly publishesEvents: boolean
}

/** What the engines do when told so. */
export type EngineOrder =
  /** Every rank publishes batches from now on. */
  | { readonly batchesPerSecond: number }
  /** The first rank of each engine says that it holds a prompt. */
  | { readonly holds: readonly number[] }

export const modelName = 'bench-model'
export const blockSize = 16
export const streamChunks = 200
/** Between the chunks of a stream: an engine that is quick, yet never ahead of who reads. */
const chunkEveryMs = 4

const answers = {
  chat: Buffer.from(
    '{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Four."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"total_tokens":42,"completion_tokens":2,"prompt_tokens_details":null}}',
  ),
  completion: Buffer.from(
    '{"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"bench-model","choices":[{"index":0,"text":"Four.","logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"total_tokens":42,"completion_tokens":2,"prompt_tokens_details":null}}',
  ),
}
const chunkHead =
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","choices":'
const chunk = `data: ${chunkHead}[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}\n\n`
const textChunk = `data: ${chunkHead}[{"index":0,"text":" word","logprobs":null,"finish_reason":null}]}\n\n`
const usageChunk = `data: ${chunkHead}[],"usage":{"prompt_tokens":40,"total_tokens":240,"completion_tokens":200}}\n\n`

/** Engines that answer at once with bytes that were ready before, and cost as little as a server can. */
export async function startInstantEngines(options: EngineOptions): Promise<RunningPart> {
  const { engines, ranks, publishesEvents } = options
  const all = Array.from({ length: engines }, () => startEngine(ranks))
  const urls = await Promise.all(all)
  const publishers = publishesEvents ? await EventPublishers.open(engines, ranks) : undefined
  const facts: EngineFacts = { urls, eventEndpoints: publishers?.endpoints ?? urls.map(() => []) }
  return {
    facts,
    take: (message) => {
      const order = message as EngineOrder
      if ('holds' in order) publishers!.store(order.holds)
      else publishers!.churn(order.batchesPerSecond)
      return {}
    },
  }
}

async function startEngine(ranks: number): Promise<string> {
  const metrics = Buffer.from(metricsText(ranks))
  const models = Buffer.from(
    JSON.stringify({ object: 'list', data: [{ id: modelName, object: 'model', max_model_len: 65_536 }] }),
  )
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.method === 'POST') takePost(request, response)
    else if (request.url === '/v1/models') sendBody(response, models, 'application/json')
    else if (request.url === '/metrics') sendBody(response, metrics, 'text/plain')
    else if (request.url === '/health') response.end()
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function takePost(request: IncomingMessage, response: ServerResponse): void {
  const isChat = request.url === '/v1/chat/completions'
  let last = ''
  request.on('data', (bytes: Buffer) => (last = bytes.toString('latin1', Math.max(0, bytes.length - 128))))
  request.on('end', () => {
    if (last.includes('"stream":true')) stream(response, isChat, last.includes('"include_usage":true'))
    else sendBody(response, isChat ? answers.chat : answers.completion, 'application/json')
  })
}

function sendBody(response: ServerResponse, body: Buffer, type: string): void {
  response.writeHead(200, { 'content-type': type, 'content-length': body.length })
  response.end(body)
}

function stream(response: ServerResponse, isChat: boolean, tellsUsage: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  let sent = 0
  const next = (): void => {
    response.write(isChat ? chunk : textChunk)
    if (++sent < streamChunks) setTimeout(next, chunkEveryMs)
    else response.end(`${tellsUsage ? usageChunk : ''}data: [DONE]\n\n`)
  }
  next()
}

function metricsText(ranks: number): string {
  const caches = Array.from(
    { length: ranks },
    (_, rank) =>
      `vllm:cache_config_info{block_size="${blockSize}",engine="${rank}",num_gpu_blocks="65536"} 1.0\n`,
  )
  return `process_start_time_seconds 1700000000.0\n${caches.join('')}`
}
