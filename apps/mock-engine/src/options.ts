import { z } from 'zod'
import type { ServedEngineOptions } from './engine/engine-options.js'
import { MockEngineError } from './errors.js'
import { type Fault, parseFault } from './http/fault-schema.js'
import { faultLimit } from './http/faults.js'

const name = z.string().min(1)

const httpOptions = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(0),
  model: z.union([name, z.array(name).min(1)]).default('mock-model'),
  modelFolder: z.string().min(1).optional(),
  loraAdapters: z
    .array(z.union([name, z.strictObject({ name, path: name.optional() })]))
    .max(1000)
    .default([]),
  replyTokens: z.int().min(1).max(1_000_000).default(32),
  promptTokensDetails: z.boolean().default(true),
  embeddingDimensions: z.int().min(1).max(65_536).default(64),
  imageTokens: z.int().min(1).max(65_536).default(64),
  maxLogprobs: z.int().min(0).max(1000).default(20),
  requestIdHeaders: z.boolean().default(false),
  recordRequests: z.int().min(0).max(100_000).default(0),
  keepAliveMs: z.int().min(1).max(3_600_000).default(5000),
  seed: z.int().min(0).max(0xffff_ffff).default(0),
  faults: z.array(z.unknown()).max(faultLimit).default([]),
})

/** What a simulated server is like. Everything has a default; options of the engine itself are those of `ServedEngineOptions`. */
export interface MockEngineOptions extends Omit<ServedEngineOptions, 'model'> {
  /** Address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** 0 = any free one, which is the default. */
  readonly port?: number | undefined
  /** Name, or names, that requests ask for; answers carry the first. Default `mock-model`. */
  readonly model?: string | readonly string[] | undefined
  /** A local Hugging Face folder with the tokenizer and the chat template. Default: the model that comes with the package. */
  readonly modelFolder?: string | undefined
  /** LoRA adapters, at most 1,000. */
  readonly loraAdapters?:
    | readonly (string | { readonly name: string; readonly path?: string | undefined })[]
    | undefined
  /** Tokens of an answer that nothing else bounds. Default 32. */
  readonly replyTokens?: number | undefined
  /** Whether `usage` says how many prompt tokens were cached; vLLM needs a flag for it. Default true. */
  readonly promptTokensDetails?: boolean | undefined
  /** Default 64. */
  readonly embeddingDimensions?: number | undefined
  /** Tokens that one image takes in a prompt. Default 64. */
  readonly imageTokens?: number | undefined
  /** Default 20. */
  readonly maxLogprobs?: number | undefined
  /** Whether answers carry `X-Request-Id`. Default false, as in vLLM. */
  readonly requestIdHeaders?: boolean | undefined
  /** How many of the last requests are kept byte by byte. Default 0. */
  readonly recordRequests?: number | undefined
  /** Idle connections are closed after so many milliseconds. Default 5,000, as in uvicorn. */
  readonly keepAliveMs?: number | undefined
  /** Decides which requests a fault with a fraction meets. Default 0. */
  readonly seed?: number | undefined
  /** Faults from the start, at most 100. */
  readonly faults?: readonly Fault[] | undefined
}

/** Options with their defaults, the engine's apart. */
export type MockEngineSettings = ReturnType<typeof mockEngineSettings>

/** Fills in defaults and checks all but the engine's own options. Throws `MOCK_ENGINE_OPTION_INVALID`. */
export function mockEngineSettings(options: MockEngineOptions) {
  const engineOptions: Record<string, unknown> = {}
  const own: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue
    ;(engineOptionNames.has(key) ? engineOptions : own)[key] = value
  }
  const result = httpOptions.safeParse(own)
  if (!result.success) throw invalid(own, result.error.issues[0]!)
  const { faults, model, loraAdapters, ...rest } = result.data
  const models = typeof model === 'string' ? [model] : model
  const adapters = loraAdapters.map((adapter) =>
    typeof adapter === 'string'
      ? { name: adapter, path: adapter }
      : { ...adapter, path: adapter.path ?? adapter.name },
  )
  const names = [...models, ...adapters.map((adapter) => adapter.name)]
  const twice = names.find((each, at) => names.indexOf(each) !== at)
  if (twice !== undefined)
    throw new MockEngineError('MOCK_ENGINE_OPTION_INVALID', `model, loraAdapters: '${twice}' is named twice`)
  return {
    ...rest,
    models,
    adapters,
    faults: faults.map(checkedFault),
    engineOptions: engineOptions as Omit<ServedEngineOptions, 'model'>,
  }
}

const engineOptionNames = new Set<string>([
  'flavour',
  'ranks',
  'blockSize',
  'blocksPerRank',
  'maxRunning',
  'maxPassTokens',
  'maxModelTokens',
  'cachesPrefixes',
  'chunksPrefill',
  'speedup',
  'timing',
  'events',
] satisfies (keyof Omit<ServedEngineOptions, 'model'> | 'events')[])

function checkedFault(fault: unknown): Fault {
  try {
    return parseFault(fault)
  } catch (error) {
    throw new MockEngineError('MOCK_ENGINE_OPTION_INVALID', `faults: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function invalid(given: object, issue: z.core.$ZodIssue): MockEngineError {
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys' && path === '') {
    const known = [...Object.keys(httpOptions.shape), ...engineOptionNames]
    return new MockEngineError(
      'MOCK_ENGINE_OPTION_INVALID',
      `unknown option ${issue.keys.join(', ')}; accepted: ${known.join(', ')}`,
    )
  }
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], given)
  return new MockEngineError(
    'MOCK_ENGINE_OPTION_INVALID',
    `${path}: got ${JSON.stringify(value)}: ${issue.message}`,
  )
}
