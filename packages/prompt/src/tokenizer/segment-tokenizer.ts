import { PromptError } from '../errors.js'
import { SegmentCache, ownText } from './segment-cache.js'
import type { TextCuts } from './text-cuts.js'
import type { LibraryTokenizer } from './tokenizer-library.js'

/** Characters after which the library's own cache of words is dropped: its keys hold on to the segments they come from. */
const wordCacheCharacters = 16_777_216

/** Ids of a text. */
export interface SegmentTokens {
  readonly ids: Uint32Array
  /** Leading ids that follow from the certain part of the text. */
  readonly exactTokens: number
  /** Ids that came out of the cache. */
  readonly reusedTokens: number
}

/** Tokenizes texts part by part where they may be cut, and remembers the parts. */
export class SegmentTokenizer {
  readonly #library: LibraryTokenizer
  readonly #cuts: TextCuts
  readonly #cache: SegmentCache
  #charactersSinceClearing = 0

  constructor(library: LibraryTokenizer, cuts: TextCuts, cacheBytes: number) {
    this.#library = library
    this.#cuts = cuts
    this.#cache = new SegmentCache(cacheBytes)
  }

  get cachedBytes(): number {
    return this.#cache.bytes
  }

  get cachedSegments(): number {
    return this.#cache.size
  }

  /**
   * Ids of a text between others. Of it `exactCharacters` are certain: their tokens are exact up to the last place where the text may
   * be cut. `O(text)` for parts that are known. Throws `PROMPT_TOKENIZATION_FAILED`.
   */
  tokenize(
    text: string,
    before: readonly number[],
    after: readonly number[],
    exactCharacters: number,
  ): SegmentTokens {
    const starts = this.#cuts.starts(text)
    const isExact = exactCharacters >= text.length
    const parts: Uint32Array[] = []
    let [count, exactTokens, reusedTokens] = [before.length + after.length, 0, 0]
    for (const [index, start] of starts.entries()) {
      if (start <= exactCharacters) exactTokens = count - after.length
      const part = text.slice(start, starts[index + 1])
      if (part === '') continue
      const known = this.#cache.get(part)
      if (known !== undefined) reusedTokens += known.length
      const ids = known ?? this.#tokenizePart(part)
      parts.push(ids)
      count += ids.length
    }
    const ids = new Uint32Array(count)
    ids.set(before)
    let at = before.length
    for (const part of parts) {
      ids.set(part, at)
      at += part.length
    }
    ids.set(after, at)
    return { ids, exactTokens: isExact ? count : exactTokens, reusedTokens }
  }

  #tokenizePart(part: string): Uint32Array {
    const text = ownText(part)
    const ids = this.#encode(text)
    this.#cache.add(text, ids)
    return ids
  }

  #encode(text: string): Uint32Array {
    this.#charactersSinceClearing += text.length
    if (this.#charactersSinceClearing > wordCacheCharacters) {
      this.#charactersSinceClearing = text.length
      this.#library.model.clear_cache?.()
    }
    try {
      return new Uint32Array(this.#library.encode(text, { add_special_tokens: false }).ids)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const message = `a text of ${text.length} characters cannot be tokenized: ${reason}`
      throw new PromptError('PROMPT_TOKENIZATION_FAILED', message, { cause })
    }
  }
}
