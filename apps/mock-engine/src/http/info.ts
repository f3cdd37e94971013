import type { ServedEngine } from '../engine/serving.js'
import { newId, planAnswer } from './answers.js'
import type { Exchange } from './exchange.js'
import { generateUnits } from './generation.js'
import type { ServerHost, ServerSettings } from './server-host.js'

/** Versions of the engines that the server looks like. */
export const simulatedVersions = { vllm: '0.11.2', sglang: '0.5.6' } as const

/** `GET /v1/models`: the base model under each of its names, then the adapters. */
export function answerModels({ engine, models }: ServerHost, exchange: Exchange): void {
  const { flavour, startedAtSeconds, maxModelTokens } = engine
  const entry = (id: string, root: string, parent: string | null, length: number | null) => ({
    id,
    object: 'model',
    created: Math.floor(startedAtSeconds),
    owned_by: flavour,
    root,
    parent,
    max_model_len: length,
    ...(flavour === 'vllm' ? { permission: [permission(Math.floor(startedAtSeconds))] } : {}),
  })
  exchange.send(200, {
    object: 'list',
    data: [
      ...models.names.map((name) => entry(name, models.root, null, maxModelTokens)),
      ...models.adapters.map(({ name, path }) => entry(name, path, models.main, null)),
    ],
  })
}

function permission(created: number): object {
  return {
    id: `modelperm-${newId()}`,
    object: 'model_permission',
    created,
    allow_create_engine: false,
    allow_sampling: true,
    allow_logprobs: true,
    allow_search_indices: false,
    allow_view: true,
    allow_fine_tuning: false,
    organization: '*',
    group: null,
    is_blocking: false,
  }
}

/** `GET /version`. */
export function answerVersion({ engine }: ServerHost, exchange: Exchange): void {
  exchange.send(200, { version: simulatedVersions[engine.flavour] })
}

/** `GET /health` and `/ping`: a bare status. */
export function answerHealth({ faults }: ServerHost, exchange: Exchange): void {
  exchange.send(faults.healthStatus, undefined)
}

/** SGLang's `GET /health_generate`: answers once a token was made, so never while the engine hangs. */
export async function answerHealthGenerate(host: ServerHost, exchange: Exchange): Promise<void> {
  const { model } = host.engine
  const promptTokens = model.encode('health', true)
  const plan = planAnswer(host, promptTokens, 1, {}, undefined, 0)
  await generateUnits(host, exchange, [{ prompt: { promptTokens }, plan }])
  exchange.send(200, undefined)
}

/** `GET /metrics`. */
export async function answerMetrics({ metrics }: ServerHost, exchange: Exchange): Promise<void> {
  exchange.send(200, await metrics.text(), metrics.contentType)
}

/** `POST /reset_prefix_cache`, SGLang's `/flush_cache`: nothing happens while requests run, as in the real ones. */
export function answerResetCache({ engine }: ServerHost, exchange: Exchange): void {
  const isDone = engine.resetPrefixCache()
  if (engine.flavour === 'vllm') exchange.send(200, undefined)
  else if (isDone) exchange.send(200, 'Cache flushed.\n', 'text/plain; charset=utf-8')
  else exchange.send(400, 'Cache not flushed: requests are running.\n', 'text/plain; charset=utf-8')
}

/** SGLang's `GET /get_model_info`. */
export function answerModelInfo({ models }: ServerHost, exchange: Exchange): void {
  exchange.send(200, {
    model_path: models.root,
    tokenizer_path: models.root,
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: 'default',
  })
}

/** SGLang's `GET /get_server_info`: its arguments, then what it found out. */
export function answerServerInfo({ engine, models, settings }: ServerHost, exchange: Exchange): void {
  const { blockSize, blocksPerRank, ranks, maxPassTokens, maxModelTokens, maxRunning } = engine
  const poolTokens = blockSize * blocksPerRank
  exchange.send(200, {
    model_path: models.root,
    tokenizer_path: models.root,
    served_model_name: models.main,
    context_length: maxModelTokens,
    tp_size: 1,
    dp_size: ranks,
    enable_dp_attention: ranks > 1,
    page_size: blockSize,
    max_running_requests: maxRunning,
    max_total_tokens: poolTokens,
    max_prefill_tokens: maxPassTokens,
    chunked_prefill_size: maxPassTokens,
    disable_radix_cache: !settings.cachesPrefixes,
    enable_metrics: true,
    kv_events_config: kvEventsConfig(engine, settings),
    status: 'ready',
    max_total_num_tokens: poolTokens,
    max_req_input_len: maxModelTokens - 1,
    internal_states: engine.facts().map(({ runningRequests }) => ({
      effective_max_running_requests_per_dp: maxRunning,
      load: runningRequests,
    })),
    version: simulatedVersions.sglang,
  })
}

/** As SGLang's flag of the same name would say it; the port is the real one where any was asked for. */
function kvEventsConfig({ eventSockets }: ServedEngine, { events }: ServerSettings): string | null {
  const [first] = eventSockets
  if (events === undefined || first === undefined) return null
  const real = (asked: string, opened: string) => (/:(?:0|\*)$/u.test(asked) ? opened : asked)
  const { endpoint, replayEndpoint, topic = '' } = events
  return JSON.stringify({
    publisher: 'zmq',
    topic,
    endpoint: real(endpoint, first.endpoint),
    ...(replayEndpoint === undefined || first.replayEndpoint === undefined
      ? {}
      : { replay_endpoint: real(replayEndpoint, first.replayEndpoint) }),
  })
}
