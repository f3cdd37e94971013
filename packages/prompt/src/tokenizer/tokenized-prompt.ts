/** What a tokenizer finds in a body. */
export interface TokenizedPrompt {
  /** Ids of the first prompt, its special tokens included, truncated as the body says. */
  readonly tokens: Uint32Array
  /** Leading `tokens` that the engine is certain to have: all of them, or those before the first media part. */
  readonly exactTokens: number
  /** Tokens of all prompts of the body, for the load. Media count as nothing here. */
  readonly allTokens: number
  /** Tokens that came out of the cache of segments. */
  readonly reusedTokens: number
  /** Whether the prompt had to be tokenized as a whole, because this tokenizer allows no cutting. */
  readonly isWhole: boolean
}
