import type { EngineFacts, EngineModel } from '../../fleet/engine-facts.js'
import { metricSamples } from './metric-samples.js'

/** Names that are kept of an engine, and characters of each. */
const maximumModels = 4096
const maximumNameLength = 512
/** Tokens a block; more is not believed. */
const largestBlockSize = 65_536

type Json = Readonly<Record<string, unknown>>

/** Names of `/v1/models`, models before their adapters; `undefined` = that is no list of models. */
export function readModels(body: string): EngineModel[] | undefined {
  const data = objectFrom(body)?.['data']
  if (!Array.isArray(data)) return undefined
  const models = data.slice(0, maximumModels).flatMap((entry: unknown): EngineModel[] => {
    const { id, root, parent, max_model_len: length, created, owned_by: owner } = (entry ?? {}) as Json
    const name = textFrom(id)
    if (name === undefined) return []
    return [
      {
        id: name,
        root: textFrom(root),
        parent: textFrom(parent),
        maxModelLen: countFrom(length),
        createdSeconds: countFrom(created),
        ownedBy: textFrom(owner),
      },
    ]
  })
  return models.toSorted((a, b) => Number(a.parent !== undefined) - Number(b.parent !== undefined))
}

/** `process_start_time_seconds` of metrics. */
export function readStartSeconds(metrics: string): number | undefined {
  return metricSamples(metrics, 'process_start_time_seconds')[0]?.value
}

/** What vLLM says in `vllm:cache_config_info`, one sample an engine core; `undefined` = these are not its metrics. */
export function readVllmMetrics(metrics: string): Omit<EngineFacts, 'models'> | undefined {
  const samples = metricSamples(metrics, 'vllm:cache_config_info')
  const [first] = samples
  if (first === undefined) return undefined
  const ranks = samples.map(({ labels }) => countFrom(labels.get('engine')) ?? 0).toSorted((a, b) => a - b)
  const start = ranks[0]!
  const areOne = ranks.every((rank, at) => rank === start + at)
  return {
    engine: 'vllm',
    blockSize: blockSizeFrom(first.labels.get('block_size')),
    totalKvBlocks: smallest(samples.map(({ labels }) => positive(labels.get('num_gpu_blocks')))),
    ...(areOne ? { dataParallelStartRank: start, dataParallelSize: ranks.length } : {}),
  }
}

/**
 * What SGLang says of itself in its server information; `undefined` = it is none. Without a limit of its own for prefill it reports the
 * pool, which is no limit.
 * @param host of the worker's URL, for event addresses that only name a port
 */
export function readSglangInfo(body: string, host: string): Omit<EngineFacts, 'models'> | undefined {
  const info = objectFrom(body)
  const blockSize = blockSizeFrom(info?.['page_size'])
  if (info === undefined || blockSize === undefined) return undefined
  const poolTokens = positive(info['max_total_num_tokens'])
  const passTokens = positive(info['max_prefill_tokens']) ?? poolTokens
  const events = objectFrom(textFrom(info['kv_events_config']) ?? '') ?? {}
  const publishes = events['publisher'] === undefined || events['publisher'] === 'zmq'
  return {
    engine: 'sglang',
    blockSize,
    totalKvBlocks: poolTokens === undefined ? undefined : Math.floor(poolTokens / blockSize),
    maxNumBatchedTokens: passTokens,
    maxNumSeqs: positive(info['max_running_requests']),
    dataParallelSize: positive(info['dp_size']),
    kvEventsEndpoint: publishes ? reachable(events['endpoint'], host) : undefined,
    replayEndpoint: publishes ? reachable(events['replay_endpoint'], host) : undefined,
    isCapacitySuspicious: poolTokens !== undefined && passTokens !== undefined && passTokens >= poolTokens,
  }
}

/** The address that others use for one that the engine binds; `undefined` = it binds none. */
function reachable(endpoint: unknown, host: string): string | undefined {
  const [, port] = /^tcp:\/\/(?:\*|\[?::\]?|0\.0\.0\.0):(\d{1,5})$/.exec(textFrom(endpoint) ?? '') ?? []
  return port === undefined ? undefined : `tcp://${host}:${port}`
}

function objectFrom(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

function textFrom(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maximumNameLength ? value : undefined
}

function countFrom(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

function positive(value: unknown): number | undefined {
  return countFrom(value) || undefined
}

function blockSizeFrom(value: unknown): number | undefined {
  const size = positive(value)
  return size === undefined || size > largestBlockSize ? undefined : size
}

function smallest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
