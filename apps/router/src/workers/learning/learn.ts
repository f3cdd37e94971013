import type { EngineFacts } from '../../fleet/engine-facts.js'
import type { EngineReply } from '../engine-client.js'
import { readModels, readSglangInfo, readStartSeconds, readVllmMetrics } from './read-facts.js'

/** What an engine told, or why it did not. */
export type Lesson =
  | { readonly facts: EngineFacts; readonly startedAtSeconds: number | undefined }
  | { readonly why: string }

/**
 * Asks an engine for its models, sizes and start time: `/v1/models`, `/metrics`, and SGLang's server information where the metrics are not
 * vLLM's. What an engine does not have is unknown; what it does not answer now makes the lesson fail, so that it is asked again.
 * @param ask GET of a path of the engine
 * @param host of its URL
 */
export async function learn(ask: (path: string) => Promise<EngineReply>, host: string): Promise<Lesson> {
  const [list, metrics] = await Promise.all([ask('/v1/models'), ask('/metrics')])
  const trouble = troubleOf('/v1/models', list) ?? troubleOf('/metrics', metrics)
  if (trouble !== undefined) return { why: trouble }
  const text = bodyOf(metrics)
  const startedAtSeconds = readStartSeconds(text)
  const models = isRegularAnswer(list) ? readModels(list.body) : []
  if (models === undefined) return { why: 'GET /v1/models: the answer is no list of models' }
  const vllm = readVllmMetrics(text)
  if (vllm !== undefined) return { facts: { ...vllm, models }, startedAtSeconds }
  const info = await ask('/get_server_info')
  const newer = isRegularAnswer(info) ? info : await ask('/server_info')
  const unanswered = troubleOf('/get_server_info', newer)
  if (unanswered !== undefined) return { why: unanswered }
  return { facts: { ...readSglangInfo(bodyOf(newer), host), models }, startedAtSeconds }
}

/** Why a reply says nothing, not even that there is nothing. */
function troubleOf(path: string, reply: EngineReply): string | undefined {
  if (reply.failure !== undefined) return `GET ${path}: ${reply.detail}`
  const { status } = reply
  const isKey = status === 401 || status === 403
  return isKey || status === 429 || status >= 500 ? `GET ${path}: status ${status}` : undefined
}

/** Whether an engine answered with what was asked for. */
export function isRegularAnswer(
  reply: EngineReply,
): reply is { readonly status: number; readonly body: string } {
  return reply.failure === undefined && reply.status >= 200 && reply.status <= 299
}

function bodyOf(reply: EngineReply): string {
  return isRegularAnswer(reply) ? reply.body : ''
}
