import { BlockHasher, BlockHashes } from '@router/kv-index'
import type { PromptEndpoint } from '../endpoint.js'
import { PromptError } from '../errors.js'
import type { TokenizedPrompt } from '../tokenizer/tokenized-prompt.js'
import { folderStamp } from './folder-stamp.js'
import type { PromptLayout, ThreadAnswer, ThreadPrompt, ThreadRequest } from './messages.js'

/** What a thread needs of a tokenizer. */
export interface ThreadTokenizer {
  /** One more than its largest token id. */
  readonly vocabularySize: number
  readonly read: (endpoint: PromptEndpoint, body: Uint8Array) => TokenizedPrompt
}

/** What a thread does with what it is sent: keeps tokenizers, the last used ones, and turns bodies into tokens and block hashes. */
export class JobRunner {
  readonly #load: (folder: string) => Promise<ThreadTokenizer>
  readonly #maxTokenizers: number
  readonly #tokenizers = new Map<string, ThreadTokenizer>()
  readonly #hasher = new BlockHasher()
  readonly #hashes = new BlockHashes()

  constructor(load: (folder: string) => Promise<ThreadTokenizer>, maxTokenizers: number) {
    this.#load = load
    this.#maxTokenizers = maxTokenizers
  }

  /** Never rejects. One call at a time. */
  async answer({ id, folder, prompt }: ThreadRequest): Promise<ThreadAnswer> {
    let tokenizer = this.#tokenizers.get(folder)
    if (tokenizer === undefined) {
      // Before the files are read: what changes from now on makes another stamp.
      const stamp = await folderStamp(folder)
      try {
        tokenizer = await this.#load(folder)
      } catch (error) {
        const code = PromptError.isInstance(error) ? error.code : 'PROMPT_TOKENIZER_INVALID'
        return { id, kind: 'unavailable', code, message: textOf(error), stamp }
      }
    }
    this.#keep(folder, tokenizer)
    const { vocabularySize } = tokenizer
    if (prompt === undefined) return { id, kind: 'loaded', vocabularySize }
    try {
      const read = tokenizer.read(prompt.endpoint, prompt.body)
      return { id, kind: 'done', prompt: this.#hashed(read, prompt.layout), vocabularySize }
    } catch (error) {
      const code = PromptError.isInstance(error) ? error.code : undefined
      return { id, kind: 'failed', code, message: textOf(error) }
    }
  }

  #hashed(read: TokenizedPrompt, layout: PromptLayout): ThreadPrompt {
    const { tokens, exactTokens } = read
    const hashes = this.#hashes
    this.#hasher.hash(tokens.subarray(0, exactTokens), layout, hashes)
    return {
      // They are given away, and a tokenizer may remember its own.
      tokens: tokens.slice(),
      exactTokens,
      allTokens: read.allTokens,
      reusedTokens: read.reusedTokens,
      isWhole: read.isWhole,
      local: hashes.local.slice(0, 2 * hashes.count),
      sequence: hashes.sequence.slice(0, 2 * hashes.count),
      blockCount: hashes.count,
    }
  }

  /** As the last used one. */
  #keep(folder: string, tokenizer: ThreadTokenizer): void {
    this.#tokenizers.delete(folder)
    this.#tokenizers.set(folder, tokenizer)
    if (this.#tokenizers.size > this.#maxTokenizers)
      this.#tokenizers.delete(this.#tokenizers.keys().next().value!)
  }
}

/** What need not be copied on the way to the receiver. */
export function transferable(answer: ThreadAnswer): ArrayBuffer[] {
  if (answer.kind !== 'done') return []
  const { tokens, local, sequence } = answer.prompt
  return [tokens, local, sequence].map(({ buffer }) => buffer as ArrayBuffer)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
