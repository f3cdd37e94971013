import type { Flavour } from '../engine/serving.js'
import { addFaults, answerRestart, answerStats, listFaults, listRequests, removeFaults } from './admin.js'
import type { ErrorShape } from './api-error.js'
import { answerChat } from './chat.js'
import { answerCompletion } from './completions.js'
import type { Exchange } from './exchange.js'
import {
  answerHealth,
  answerHealthGenerate,
  answerMetrics,
  answerModelInfo,
  answerModels,
  answerResetCache,
  answerServerInfo,
  answerVersion,
} from './info.js'
import { answerCountTokens, answerMessages } from './messages.js'
import { answerEmbeddings, answerPooling, answerRerank, answerScore } from './pooling.js'
import { answerResponses, cancelResponse, retrieveResponse } from './responses.js'
import type { ServerHost } from './server-host.js'
import { answerDetokenize, answerTokenize } from './tokenizing.js'

/** Answers a request; `body` is what its JSON says, undefined without one. */
export type Handler = (host: ServerHost, exchange: Exchange, body: unknown) => void | Promise<void>

/** One endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly handle: Handler
  /** `model`: the API of the model, which faults without a path meet; `info`: about the server; `admin`: of the simulation, never faulty or recorded. */
  readonly group: 'model' | 'info' | 'admin'
  /** Absent = as the flavour. */
  readonly shape?: ErrorShape
}

const post = (handle: Handler, ...paths: string[]): Route[] =>
  paths.map((path) => ({ method: 'POST', path, handle, group: 'model' }))
const get = (handle: Handler, ...paths: string[]): Route[] =>
  paths.map((path) => ({ method: 'GET', path, handle, group: 'info' }))
const anthropic = (handle: Handler, path: string): Route => ({
  method: 'POST',
  path,
  handle,
  group: 'model',
  shape: 'anthropic',
})
const admin = (method: Route['method'], path: string, handle: Handler): Route => ({
  method,
  path,
  handle,
  group: 'admin',
})

const common: readonly Route[] = [
  ...post(answerChat, '/v1/chat/completions'),
  ...post(answerCompletion, '/v1/completions'),
  ...post(answerEmbeddings, '/v1/embeddings'),
  ...post(answerResponses, '/v1/responses'),
  ...post(cancelResponse, '/v1/responses/:id/cancel'),
  ...get(retrieveResponse, '/v1/responses/:id'),
  anthropic(answerMessages, '/v1/messages'),
  anthropic(answerCountTokens, '/v1/messages/count_tokens'),
  ...post(answerRerank, '/rerank', '/v1/rerank', '/v2/rerank'),
  ...post(answerScore, '/score', '/v1/score'),
  ...post(answerPooling, '/pooling'),
  ...post(answerTokenize, '/tokenize'),
  ...post(answerDetokenize, '/detokenize'),
  ...get(answerModels, '/v1/models'),
  ...get(answerHealth, '/health', '/ping'),
  { method: 'POST', path: '/ping', handle: answerHealth, group: 'info' },
  ...get(answerVersion, '/version'),
  ...get(answerMetrics, '/metrics'),
  admin('GET', '/stats', answerStats),
  admin('POST', '/admin/faults', addFaults),
  admin('GET', '/admin/faults', listFaults),
  admin('DELETE', '/admin/faults', removeFaults),
  admin('DELETE', '/admin/faults/:id', removeFaults),
  admin('POST', '/admin/restart', answerRestart),
  admin('GET', '/admin/requests', listRequests),
]

const own: Readonly<Record<Flavour, readonly Route[]>> = {
  vllm: [{ method: 'POST', path: '/reset_prefix_cache', handle: answerResetCache, group: 'info' }],
  sglang: [
    ...get(answerServerInfo, '/get_server_info', '/server_info'),
    ...get(answerModelInfo, '/get_model_info', '/model_info'),
    ...get(answerHealthGenerate, '/health_generate'),
    ...get(answerResetCache, '/flush_cache'),
    { method: 'POST', path: '/flush_cache', handle: answerResetCache, group: 'info' },
  ],
}

/** Every endpoint of a flavour. */
export function routesOf(flavour: Flavour): readonly Route[] {
  return [...common, ...own[flavour]]
}
