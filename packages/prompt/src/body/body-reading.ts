import type { PromptEndpoint } from '../endpoint.js'

/**
 * How a request is to be routed: on given token ids, on given hashes, on tokens that a tokenizer must find, on content chunks only, or
 * on nothing (its load counts all the same).
 */
export type PromptRoute = 'tokens' | 'hashes' | 'tokenize' | 'content' | 'nothing'

/** What a body says of its prompt, read from its bytes without a tokenizer and without parsing long strings. */
export interface BodyReading {
  readonly endpoint: PromptEndpoint
  readonly route: PromptRoute
  /** Top-level `model` (selection: `model_name`), where there is one. */
  readonly model: string | undefined
  /** Route `tokens`: the ids of the first prompt. */
  readonly tokens: Uint32Array | undefined
  /** Route `hashes` (selection API): interleaved words of local and sequence hashes, and the prompt's tokens. */
  readonly hashes:
    | { readonly local: Uint32Array; readonly sequence: Uint32Array; readonly promptTokens: number }
    | undefined
  /** Selection API: objects by block, `mm_routing_info` or `block_mm_infos`. */
  readonly objectsByBlock: readonly (readonly bigint[])[] | undefined
  /** Tokens of all prompts, where all are given as ids. */
  readonly allTokens: number | undefined
  /** Prompts in a list; 1 for every other request. */
  readonly prompts: number
  /** Media parts of the conversation; their tokens are unknown. */
  readonly mediaParts: number
  /** The client brought its own chat template, which is never executed. */
  readonly hasOwnTemplate: boolean
  /** Decodes of the prompt: `n` or `best_of`, at least 1. */
  readonly decodes: number
  /** Bounds the prompt: `truncate_prompt_tokens`. */
  readonly truncateTokens: number | undefined
  readonly cacheSalt: string | undefined
  /** `previous_response_id` of a responses request. */
  readonly previousResponseId: string | undefined
  /** Bytes of text that a tokenizer would see, media left out: the base of estimates. */
  readonly textBytes: number
}
