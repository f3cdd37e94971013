import { type AddedToken, AddedTokenMatcher } from './added-tokens.js'

/** What decides where texts may be cut, as it stands in a `tokenizer.json` and `tokenizer_config.json`. */
export interface CutFacts {
  readonly addedTokens: readonly AddedToken[]
  readonly normalizer: unknown
  readonly remove_space?: unknown
  readonly do_lowercase_and_remove_accent?: unknown
}

/**
 * Where a text may be cut so that its parts, tokenized alone, give the ids of the whole.
 *
 * A tokenizer first splits a text at its added tokens; what is between them is normalized, pre-tokenized and tokenized piece by
 * piece. So a part that starts at an added token and ends before another one depends on nothing else, if those tokens strip no
 * white space around them, are found before normalization (or there is none) and do not depend on their neighbours. As each part
 * but the first starts with a token, what a tokenizer prepends to the very first piece is prepended there alone.
 */
export class TextCuts {
  /** Why texts are tokenized as a whole; undefined = they are cut. */
  readonly wholeReason: string | undefined
  readonly #plain: AddedTokenMatcher
  readonly #normalized: AddedTokenMatcher | undefined
  readonly #boundaries: ReadonlySet<string>

  constructor(facts: CutFacts) {
    const { addedTokens, normalizer } = facts
    const isPlain = (token: AddedToken): boolean => normalizer === null || !isNormalized(token)
    const plain = addedTokens.filter(isPlain)
    const others = addedTokens.filter((token) => !isPlain(token))
    this.#plain = new AddedTokenMatcher(plain.map(({ content }) => content))
    const strips = addedTokens.some(({ lstrip, rstrip }) => lstrip === true || rstrip === true)
    const changesText = Boolean(facts.remove_space) || Boolean(facts.do_lowercase_and_remove_accent)
    const findsOthers = others.length > 0 && isIdentity(normalizer) && !strips && !changesText
    this.#normalized = findsOthers ? new AddedTokenMatcher(others.map(({ content }) => content)) : undefined
    const known = findsOthers ? addedTokens : plain
    this.#boundaries = new Set(known.filter(isBoundary).map(({ content }) => content))
    this.wholeReason = wholeReasonOf(addedTokens, this.#boundaries.size)
  }

  /** Where the parts of a text start, in order; the first is 0. `O(text)`. */
  starts(text: string): number[] {
    const starts = [0]
    if (this.wholeReason !== undefined) return starts
    let from = 0
    while (this.#plain.find(text, from, text.length)) {
      const { start, end } = this.#plain
      this.#addBetween(text, from, start, starts)
      this.#add(text, start, end, starts)
      from = end
    }
    this.#addBetween(text, from, text.length, starts)
    return starts
  }

  #addBetween(text: string, from: number, to: number, starts: number[]): void {
    const matcher = this.#normalized
    if (matcher === undefined) return
    let at = from
    while (at < to && matcher.find(text, at, to)) {
      this.#add(text, matcher.start, matcher.end, starts)
      at = matcher.end
    }
  }

  #add(text: string, start: number, end: number, starts: number[]): void {
    if (start > 0 && this.#boundaries.has(text.slice(start, end))) starts.push(start)
  }
}

function isNormalized({ normalized, special }: AddedToken): boolean {
  return normalized ?? special !== true
}

/** With letters and without white space around: line ends and runs of spaces are added tokens of some, and would make tiny parts. */
function isBoundary({ content, lstrip, rstrip }: AddedToken): boolean {
  return lstrip !== true && rstrip !== true && /\p{L}/u.test(content) && content.trim() === content
}

function isIdentity(normalizer: unknown): boolean {
  const { type, normalizers } = (normalizer ?? {}) as { type?: unknown; normalizers?: unknown }
  return type === 'Sequence' && Array.isArray(normalizers) && normalizers.length === 0
}

function wholeReasonOf(tokens: readonly AddedToken[], boundaries: number): string | undefined {
  const word = tokens.find(({ single_word: isWord }) => isWord === true)
  if (word !== undefined)
    return `the added token ${JSON.stringify(word.content)} is found as a single word only`
  if (boundaries === 0) return 'no added token is found in the text as it is and leaves its neighbours alone'
  return undefined
}
