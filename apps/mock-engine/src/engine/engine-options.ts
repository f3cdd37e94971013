import { type EngineParameters, EngineSimError, type TimingModel, engineSettings } from '@router/engine-sim'
import { MockEngineError } from '../errors.js'
import { hashForms } from '../events/batch-encoding.js'
import type { EventOptions } from '../events/rank-publisher.js'
import type { Flavour, ServedModel } from './serving.js'

/** What a simulated engine is like. Only the model has no default. */
export interface ServedEngineOptions {
  readonly model: ServedModel
  /** Default `vllm`. */
  readonly flavour?: Flavour | undefined
  /** Data-parallel ranks, each with a pool and a queue of its own, 1 to 1,024. Default 1. */
  readonly ranks?: number | undefined
  /**
   * Tokens of a block, 2 to 65,536, in both flavours: pages of one token, as SGLang has them unless told otherwise, are not simulated.
   * Default 16.
   */
  readonly blockSize?: number | undefined
  /** Blocks of the pool of a rank, 1 to 2^24. Default 2,048. */
  readonly blocksPerRank?: number | undefined
  /** Requests that run at once on a rank. Default 256. */
  readonly maxRunning?: number | undefined
  /** Tokens of one pass. Default 8,192. */
  readonly maxPassTokens?: number | undefined
  /** Prompts of so many tokens are rejected, generation stops there. Default 32,768, or what a pool holds if that is less. */
  readonly maxModelTokens?: number | undefined
  /** Default true. */
  readonly cachesPrefixes?: boolean | undefined
  /** Default true. */
  readonly chunksPrefill?: boolean | undefined
  /** How many times faster than real time, above 0. Default 1. */
  readonly speedup?: number | undefined
  /** How long a pass takes. Default `{ type: 'polynomial' }`. */
  readonly timing?: TimingModel | undefined
  /** Where KV events go. Default: nowhere. */
  readonly events?: EventOptions | undefined
}

const defaultModelTokens = 32_768

/** `options` with every default filled in and checked. Throws `MOCK_ENGINE_OPTION_INVALID`. */
export function servedEngineSettings(options: ServedEngineOptions) {
  const blockSize = whole('blockSize', options.blockSize ?? 16, 2, 65_536)
  const blocksPerRank = whole('blocksPerRank', options.blocksPerRank ?? 2048, 1, 2 ** 24)
  const { flavour = 'vllm', speedup = 1, maxModelTokens } = options
  if (flavour !== 'vllm' && flavour !== 'sglang') refuse('flavour', flavour, 'vllm, sglang')
  if (!(speedup > 0 && speedup < Infinity)) refuse('speedup', speedup, 'a finite number above 0')
  const { hashes, lossSeed = 1 } = options.events ?? {}
  if (hashes !== undefined && !hashForms.includes(hashes))
    refuse('events.hashes', hashes, hashForms.join(', '))
  if (!Number.isSafeInteger(lossSeed)) refuse('events.lossSeed', lossSeed, 'a whole number')
  const settings = {
    model: options.model,
    flavour,
    ranks: whole('ranks', options.ranks ?? 1, 1, 1024),
    blockSize,
    blocksPerRank,
    maxRunning: whole('maxRunning', options.maxRunning ?? 256, 1, 65_536),
    maxPassTokens: whole('maxPassTokens', options.maxPassTokens ?? 8192, 1, 2 ** 30),
    maxModelTokens:
      maxModelTokens === undefined
        ? Math.min(defaultModelTokens, blockSize * blocksPerRank)
        : whole('maxModelTokens', maxModelTokens, 1, 2 ** 30),
    cachesPrefixes: options.cachesPrefixes ?? true,
    chunksPrefill: options.chunksPrefill ?? true,
    speedup,
    timing: options.timing ?? ({ type: 'polynomial' } as const),
    events: options.events,
  }
  try {
    engineSettings(rankParameters(settings))
  } catch (error) {
    if (!EngineSimError.isInstance(error)) throw error
    throw new MockEngineError('MOCK_ENGINE_OPTION_INVALID', error.message, { cause: error })
  }
  return settings
}

/** `servedEngineSettings` of some options. */
export type ServedEngineSettings = ReturnType<typeof servedEngineSettings>

/** The same for the engine of a rank. Its passes are unscaled: the clock runs faster instead. */
export function rankParameters(settings: Omit<ServedEngineSettings, 'model' | 'events'>): EngineParameters {
  return {
    block_size: settings.blockSize,
    num_gpu_blocks: settings.blocksPerRank,
    max_num_seqs: settings.maxRunning,
    max_num_batched_tokens: settings.maxPassTokens,
    max_model_len: settings.maxModelTokens,
    enable_prefix_caching: settings.cachesPrefixes,
    enable_chunked_prefill: settings.chunksPrefill,
    timing_model: settings.timing,
  }
}

function whole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    refuse(name, value, `a whole number from ${least} to ${most}`)
  return value
}

/** Throws `MOCK_ENGINE_OPTION_INVALID` for an option of the engine. */
export function refuse(name: string, value: unknown, accepted: string): never {
  throw new MockEngineError(
    'MOCK_ENGINE_OPTION_INVALID',
    `${name}: expected ${accepted}, got ${String(value)}`,
  )
}
