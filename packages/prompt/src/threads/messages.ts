import type { HashSeed, HashWords } from '@router/kv-index'
import type { PromptEndpoint } from '../endpoint.js'
import type { PromptErrorCode } from '../errors.js'
import type { TokenizedPrompt } from '../tokenizer/tokenized-prompt.js'

/** How the blocks of a prompt are hashed: facts of the partition and the seed of the request. */
export interface PromptLayout {
  readonly blockSize: number
  readonly isEagle: boolean
  readonly seed: HashSeed
}

/** A prompt to tokenize. */
export interface TokenizeJob {
  /** Where the tokenizer lies; equal names share one. */
  readonly folder: string
  readonly endpoint: PromptEndpoint
  /** The body in pieces that follow each other; must not change until the job is answered or dropped. */
  readonly body: readonly Uint8Array[]
  readonly layout: PromptLayout
}

/** What a thread is sent: a job with a body of its own, or only a folder to load. */
export interface ThreadRequest {
  readonly id: number
  readonly folder: string
  readonly prompt:
    | { readonly endpoint: PromptEndpoint; readonly body: Uint8Array; readonly layout: PromptLayout }
    | undefined
}

/** What a thread makes of a prompt; all arrays are owned by the receiver. */
export interface ThreadPrompt extends TokenizedPrompt {
  /** Content hashes of the complete blocks of the exact tokens. */
  readonly local: HashWords
  /** Chained hashes of the same blocks. */
  readonly sequence: HashWords
  readonly blockCount: number
}

/** What a thread answers. */
export type ThreadAnswer = { readonly id: number } & (
  | { readonly kind: 'done'; readonly prompt: ThreadPrompt; readonly vocabularySize: number }
  | { readonly kind: 'loaded'; readonly vocabularySize: number }
  /** The folder has no tokenizer that can be used; `stamp` tells its files apart from later ones. */
  | {
      readonly kind: 'unavailable'
      readonly code: PromptErrorCode
      readonly message: string
      readonly stamp: string
    }
  /** The tokenizer is there, but not for this prompt; `code` is absent for what nobody expected. */
  | { readonly kind: 'failed'; readonly code: PromptErrorCode | undefined; readonly message: string }
)

/** Settings of a thread, the same for all of a pool. */
export interface ThreadSettings {
  /** Bytes of text segments that each tokenizer remembers. */
  readonly cacheBytes: number
  /** Characters that a chat template may write. */
  readonly maxTextCharacters: number
  /** Tokenizers that a thread keeps; the one that was used longest ago goes. */
  readonly maxTokenizers: number
}
