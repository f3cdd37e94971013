import type { HashSeed, PromptBlocks } from '@router/kv-index'
import type { BodyReading } from './body/body-reading.js'
import type { ObjectScan } from './body/scan-object.js'
import type { PromptEndpoint } from './endpoint.js'

/** A request to read. Everything is borrowed, and the body must not change until the reading is there. */
export interface PromptRequest {
  readonly endpoint: PromptEndpoint
  /** JSON, as the client sent it. */
  readonly body: Uint8Array
  /** What `PromptReader.scan` found in it; absent = the reader looks for itself. */
  readonly scan?: ObjectScan | undefined
  /** Folder of the model's tokenizer; absent = there is none. */
  readonly tokenizer?: string | undefined
  /** Tokens per block of the partition: a whole number from 1 on. */
  readonly blockSize: number
  /** The partition's engines hash in the speculative layout, unless the body says otherwise. Default false. */
  readonly isEagle?: boolean | undefined
  /** Adapter that the model's name stands for; a selection body may name another. Empty = absent. */
  readonly loraName?: string | null | undefined
  /** Salt that came beside the body; goes before one in it. Empty = absent. */
  readonly cacheSalt?: string | null | undefined
  /** Whether `nvext` in the body counts. Default true. */
  readonly nvext?: boolean | undefined
  /** Under what name the bytes per token are learned; default: the model in the body. */
  readonly model?: string | undefined
}

/**
 * How much is known of what the engine will hash. `exact`: every block; `exact_before_media`: the blocks before the first media part;
 * `approximate`: none, there are content chunks only; `nothing`: such a request is not routed on its prompt.
 */
export const exactnesses = ['exact', 'exact_before_media', 'approximate', 'nothing'] as const

/** One of `exactnesses`. */
export type Exactness = (typeof exactnesses)[number]

/** Why a reading is not exact. The set may grow: keep a default branch. */
export const promptCauses = [
  /** The request has media parts, whose tokens are unknown. */
  'media',
  /** The client brought its own chat template. */
  'client_template',
  /** An Anthropic request, whose template is the engine's own. */
  'messages',
  /** The conversation goes on from a response that only an engine holds. */
  'previous_response',
  /** No folder was named, or what is needed is not in it: the tokenizer, or for a chat the template. */
  'tokenizer_missing',
  /** What is in the folder cannot be used. */
  'tokenizer_invalid',
  /** Tokens did not come within the budget, or too many prompts were waiting. */
  'tokenizer_slow',
  /** The body has more bytes than may be tokenized. */
  'too_large',
  /** The body is JSON, but no prompt: the engine will refuse it. */
  'prompt_invalid',
  /** The chat template refused the conversation. */
  'template_failed',
  /** The tokenizer failed, its thread was lost, or was lost so often that the folder is set aside. */
  'tokenizer_failed',
] as const

/** One of `promptCauses`. */
export type PromptCause = (typeof promptCauses)[number]

/** What a request can be routed on. Owned by the caller; arrays never change. */
export interface PromptReading {
  readonly exactness: Exactness
  /** Why it is not exact; absent where it is, and where nothing is hashed. */
  readonly cause: PromptCause | undefined
  /** What the tokenizer said, in words, where it failed. */
  readonly detail: string | undefined
  /** Ids of the first prompt, up to its first media part; absent where they are unknown. */
  readonly tokens: Uint32Array | undefined
  /**
   * Hashes as the engine makes them. Without complete blocks `count` is 0, which says nothing about the cache unless the reading is exact.
   * A selection body that has sequence hashes alone leaves `local` empty.
   */
  readonly blocks: PromptBlocks
  /** Hashes of content chunks of the whole prompt, each of 4 x blockSize bytes; there unless the reading is exact or of nothing. */
  readonly chunks: PromptBlocks | undefined
  /** Tokens of the first prompt. */
  readonly promptTokens: number
  /** Tokens of all prompts of the request: its load. */
  readonly allTokens: number
  /** Both are estimates. */
  readonly isEstimated: boolean
  /** Tokens that the tokenizer remembered. 0 where none was asked. */
  readonly reusedTokens: number
  /** Seed of blocks and chunks: adapter and salt. */
  readonly seed: HashSeed
  /** The salt that holds; absent where there is none. */
  readonly cacheSalt: string | undefined
  /** Under what name its bytes per token are learned; empty where neither request nor body names a model. */
  readonly model: string
  /** What else the body says: model, decodes, prompts, media parts, previous response. */
  readonly body: BodyReading
}
