import * as tokenizers from '@huggingface/tokenizers'
import type { JsonObject } from './json-objects.js'

// The library's own declarations do not resolve in ES modules (their imports lack extensions): what is used of it stands here.

/** A tokenizer of the library. */
export interface LibraryTokenizer {
  /** Its model; those that remember words can forget them. */
  readonly model: { readonly clear_cache?: () => void }
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: number[] }
}

/** Builds a tokenizer from the contents of its two files. Throws an `Error` for parts it does not know. */
export function libraryTokenizer(tokenizer: JsonObject, config: JsonObject): LibraryTokenizer {
  const { Tokenizer } = tokenizers as unknown as {
    readonly Tokenizer: new (tokenizer: JsonObject, config: JsonObject) => LibraryTokenizer
  }
  return new Tokenizer(tokenizer, config)
}
