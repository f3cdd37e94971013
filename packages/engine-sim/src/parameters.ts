import {
  duration,
  flag,
  limit,
  mostTokens,
  oneOf,
  orDefault,
  refuse,
  refuseUnknown,
  whole,
} from './checks.js'
import { type TimingTable, checkTimingTable } from './timing-table.js'

/**
 * How long a pass takes. `polynomial` needs nothing; `fixed` is per pass; `table` is measured; `external` asks the caller:
 * `prefillMs(requests, new tokens of the mean request, its cached tokens)`, `decodeMs(requests, mean context)`, both in ms, >= 0, called
 * only for a batch that is not empty, while a pass is formed: they must not call the engine.
 */
export type TimingModel =
  | { readonly type: 'polynomial' }
  | { readonly type: 'fixed'; readonly prefill_ms: number; readonly decode_ms: number }
  | TimingTable
  | {
      readonly type: 'external'
      readonly prefillMs: (batch: number, newTokens: number, prefixTokens: number) => number
      readonly decodeMs: (batch: number, meanContextTokens: number) => number
    }

/** Parameters of a vLLM-like engine, by the names they have in replay configurations. Missing = the default. */
export interface EngineParameters {
  readonly backend?: 'vllm' | undefined
  /** Blocks of the pool. Default 16,384. */
  readonly num_gpu_blocks?: number | undefined
  /** Tokens of a block, at least 2. Default 64. */
  readonly block_size?: number | undefined
  /** A prompt of so many tokens is rejected, and generation stops there. Default null: none. */
  readonly max_model_len?: number | null | undefined
  /** Running requests. Default 256; null = unlimited. */
  readonly max_num_seqs?: number | null | undefined
  /** Tokens of a pass. Default 8,192; null = unlimited. */
  readonly max_num_batched_tokens?: number | null | undefined
  readonly enable_prefix_caching?: boolean | undefined
  /** When false, a prompt starts only in a pass that has room for the rest of it. */
  readonly enable_chunked_prefill?: boolean | undefined
  /** Divides both parts of a pass. Default 1; 0 = unscaled. */
  readonly speedup_ratio?: number | undefined
  /** Divides the decode part further. */
  readonly decode_speedup_ratio?: number | undefined
  /** Who gives way when the pool is full: the request admitted last (`lifo`, default) or first. */
  readonly preemption_mode?: 'lifo' | 'fifo' | undefined
  readonly timing_model?: TimingModel | undefined
  // Replay configurations may say so; nothing else is built.
  readonly worker_type?: 'aggregated' | undefined
  readonly dp_size?: 1 | undefined
  readonly prefill_schedule_interval?: 1 | undefined
  readonly event_visibility?: 'pass_end' | undefined
}

/** Every parameter with its value; `Infinity` = no limit. */
export interface EngineSettings {
  readonly poolBlocks: number
  readonly blockSize: number
  readonly maxModelTokens: number
  readonly maxRunning: number
  readonly maxPassTokens: number
  readonly cachesPrefixes: boolean
  readonly chunksPrefill: boolean
  readonly prefillRatio: number
  readonly decodeRatio: number
  readonly preemptsFirst: boolean
  readonly timing: TimingModel
}

/** The most blocks of a pool, and the most tokens of a prompt with its outputs. */
export const limits = { poolBlocks: 16_777_216, tokens: mostTokens } as const

/** Parameters that are known, and have one value. */
const onlyValues = {
  backend: 'vllm',
  worker_type: 'aggregated',
  dp_size: 1,
  prefill_schedule_interval: 1,
  event_visibility: 'pass_end',
} as const

const names = [
  ...(Object.keys(onlyValues) as (keyof typeof onlyValues)[]),
  'num_gpu_blocks',
  'block_size',
  'max_model_len',
  'max_num_seqs',
  'max_num_batched_tokens',
  'enable_prefix_caching',
  'enable_chunked_prefill',
  'speedup_ratio',
  'decode_speedup_ratio',
  'preemption_mode',
  'timing_model',
] as const satisfies readonly (keyof EngineParameters)[]

/** Checks parameters, which may come from a file. Throws `ENGINE_SIM_PARAMETER_INVALID`. */
export function engineSettings(parameters: EngineParameters): EngineSettings {
  if (typeof parameters !== 'object' || parameters === null) refuse('parameters', parameters, 'an object')
  refuseUnknown('', parameters, names)
  for (const [name, only] of Object.entries(onlyValues)) {
    const value: unknown = orDefault(parameters[name as keyof typeof onlyValues], only)
    if (value !== only) refuse(name, value, `${only}: nothing else is built`)
  }
  const { preemption_mode: preemption = 'lifo' } = parameters
  oneOf('preemption_mode', preemption, ['lifo', 'fifo'])
  const { speedup_ratio: speedup = 1, decode_speedup_ratio: decodeSpeedup = 1 } = parameters
  duration('speedup_ratio', speedup)
  duration('decode_speedup_ratio', decodeSpeedup)
  duration('speedup_ratio x decode_speedup_ratio', speedup * decodeSpeedup)
  return {
    poolBlocks: whole('num_gpu_blocks', orDefault(parameters.num_gpu_blocks, 16_384), 1, limits.poolBlocks),
    blockSize: whole('block_size', orDefault(parameters.block_size, 64), 2, 65_536),
    maxModelTokens: limit('max_model_len', orDefault(parameters.max_model_len, null)),
    maxRunning: limit('max_num_seqs', orDefault(parameters.max_num_seqs, 256)),
    maxPassTokens: limit('max_num_batched_tokens', orDefault(parameters.max_num_batched_tokens, 8192)),
    cachesPrefixes: flag('enable_prefix_caching', orDefault(parameters.enable_prefix_caching, true)),
    chunksPrefill: flag('enable_chunked_prefill', orDefault(parameters.enable_chunked_prefill, true)),
    prefillRatio: speedup,
    decodeRatio: speedup * decodeSpeedup,
    preemptsFirst: preemption === 'fifo',
    timing: timingModel(orDefault(parameters.timing_model, { type: 'polynomial' })),
  }
}

function timingModel(model: TimingModel): TimingModel {
  if (typeof model !== 'object' || model === null) return refuse('timing_model', model, 'an object')
  const { type } = model
  oneOf('timing_model.type', type, ['polynomial', 'fixed', 'table', 'external'])
  if (type === 'fixed') {
    refuseUnknown('timing_model.', model, ['type', 'prefill_ms', 'decode_ms'])
    duration('timing_model.prefill_ms', model.prefill_ms)
    duration('timing_model.decode_ms', model.decode_ms)
  } else if (type === 'external') {
    refuseUnknown('timing_model.', model, ['type', 'prefillMs', 'decodeMs'])
    for (const name of ['prefillMs', 'decodeMs'] as const)
      if (typeof model[name] !== 'function') refuse(`timing_model.${name}`, model[name], 'a function')
  } else if (type === 'table') checkTimingTable(model)
  else refuseUnknown('timing_model.', model, ['type'])
  return model
}
