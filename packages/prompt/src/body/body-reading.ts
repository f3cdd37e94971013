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
  /** Route `tokens`: the ids of the first prompt, its last `truncateTokens` where those are given. */
  readonly tokens: Uint32Array | undefined
  /**
   * Route `hashes` (selection API): words of local and of sequence hashes, as `HashWords`, and the prompt's tokens. `local` is empty
   * where the body has sequence hashes alone, which suffice for a reservation.
   */
  readonly hashes:
    | { readonly local: Uint32Array; readonly sequence: Uint32Array; readonly promptTokens: number }
    | undefined
  /** Selection API: objects by block, unsigned, of `block_mm_infos`; a block without objects has an empty list. */
  readonly objectsByBlock: readonly (readonly bigint[])[] | undefined
  /** Tokens of all prompts, truncated as the body says, where all are given as ids. */
  readonly allTokens: number | undefined
  /** Prompts in a list; 1 for every other request. */
  readonly prompts: number
  /** Media parts of the conversation; their tokens are unknown. */
  readonly mediaParts: number
  /**
   * Where the long strings of media parts lie in the body (URLs, data), from after the opening quote to before the closing one: start and
   * end by turns, ascending. A tokenizer need not see them. Short ones may be left out; empty without media.
   */
  readonly mediaSpans: readonly number[]
  /** The client brought its own chat template, which is never executed. */
  readonly hasOwnTemplate: boolean
  /** Decodes of each prompt: the larger of `n` and `best_of`, 1 to 16,384. */
  readonly decodes: number
  /** Bounds the prompt: `truncate_prompt_tokens` from 1 on. Absent for -1, which means the length of the model. */
  readonly truncateTokens: number | undefined
  /** `nvext.cache_salt`, else the top-level `cache_salt`. Absent where empty. */
  readonly cacheSalt: string | undefined
  /** Selection API: `lora_name`. Absent where empty. */
  readonly loraName: string | undefined
  /** Selection API: `is_eagle`. Absent = as the partition says. */
  readonly isEagle: boolean | undefined
  /** `previous_response_id` of a responses request. */
  readonly previousResponseId: string | undefined
  /**
   * Bytes of the prompt text that content chunks are cut from, media left out, all prompts of a list counted: the base of estimates.
   * 0 where the prompt is given as ids or hashes.
   */
  readonly textBytes: number
}
