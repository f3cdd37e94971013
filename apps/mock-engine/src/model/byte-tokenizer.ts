/** The parts of a `tokenizer.json` with a byte-level BPE that are read here. */
export interface ByteTokenizerFile {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[]
  readonly model: { readonly vocab: Readonly<Record<string, number>>; readonly merges: readonly string[] }
}

const words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu
const utf8 = new TextEncoder()
const fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Words whose tokens are remembered; when there are more, all are forgotten. */
export const rememberedWords = 16_384
/** Longer words are rare, and not remembered. */
const longestRemembered = 32

/** A byte-level BPE as GPT-2 has it: every text has tokens, and every token stands for bytes. */
export class ByteTokenizer {
  readonly vocabularySize: number
  /** Bytes of the longest token. */
  readonly longestToken: number
  /** Token of each byte. */
  readonly #byteTokens = new Uint32Array(256)
  /** Bytes of each token. */
  readonly #bytes: Uint8Array[] = []
  /** What two tokens become, by `left * vocabularySize + right`: the rank of the merge, and the token. */
  readonly #merges = new Map<number, { readonly rank: number; readonly token: number }>()
  readonly #specialTokens: ReadonlyMap<string, number>
  readonly #special: RegExp
  readonly #remembered = new Map<string, readonly number[]>()

  constructor({ added_tokens: added, model }: ByteTokenizerFile) {
    const byteOf = bytesOfCharacters()
    for (const [text, token] of Object.entries(model.vocab))
      this.#bytes[token] = Uint8Array.from(text, (character) => byteOf.get(character)!)
    for (const [token, bytes] of this.#bytes.entries())
      if (bytes.length === 1) this.#byteTokens[bytes[0]!] = token
    for (const { id, content } of added) this.#bytes[id] = utf8.encode(content)
    this.vocabularySize = this.#bytes.length
    this.longestToken = this.#bytes.reduce((most, bytes) => Math.max(most, bytes.length), 0)
    this.#specialTokens = new Map(added.map(({ id, content }) => [content, id]))
    this.#special = new RegExp(`(${added.map(({ content }) => escaped(content)).join('|')})`, 'u')
    for (const [rank, merge] of model.merges.entries()) {
      const [left = '', right = ''] = merge.split(' ')
      const pair = this.#pair(model.vocab[left]!, model.vocab[right]!)
      this.#merges.set(pair, { rank, token: model.vocab[left + right]! })
    }
  }

  /** The tokens of any text; special tokens that stand in it count as such. Half of a surrogate pair counts as U+FFFD. */
  encode(text: string): Uint32Array {
    const tokens: number[] = []
    for (const part of text.split(this.#special)) {
      const special = this.#specialTokens.get(part)
      if (special !== undefined) tokens.push(special)
      else
        for (const [word] of part.matchAll(words))
          for (const token of this.#tokensOf(word)) tokens.push(token)
    }
    return Uint32Array.from(tokens)
  }

  /** The text of tokens, special ones included. What is no UTF-8 becomes U+FFFD, what is no token nothing. */
  decode(tokens: Uint32Array): string {
    const parts = Array.from(tokens, (token) => this.#bytes[token] ?? new Uint8Array())
    return fromUtf8.decode(Buffer.concat(parts))
  }

  /** Words that are remembered now, at most `rememberedWords`. */
  get rememberedCount(): number {
    return this.#remembered.size
  }

  #tokensOf(word: string): readonly number[] {
    const remembered = this.#remembered.get(word)
    if (remembered !== undefined) return remembered
    const tokens = this.#merged(word)
    if (word.length > longestRemembered) return tokens
    if (this.#remembered.size === rememberedWords) this.#remembered.clear()
    this.#remembered.set(word, tokens)
    return tokens
  }

  /** Merges, again and again, every pair of the lowest rank from the left. */
  #merged(word: string): readonly number[] {
    let parts: number[] = Array.from(utf8.encode(word), (byte) => this.#byteTokens[byte]!)
    for (;;) {
      let best: { readonly rank: number; readonly token: number } | undefined
      let bestPair = -1
      for (let index = 0; index + 1 < parts.length; index++) {
        const pair = this.#pair(parts[index]!, parts[index + 1]!)
        const merge = this.#merges.get(pair)
        if (merge === undefined || (best !== undefined && merge.rank >= best.rank)) continue
        best = merge
        bestPair = pair
      }
      if (best === undefined) return parts
      const merged: number[] = []
      for (let index = 0; index < parts.length; index++) {
        const isPair = index + 1 < parts.length && this.#pair(parts[index]!, parts[index + 1]!) === bestPair
        merged.push(isPair ? best.token : parts[index]!)
        if (isPair) index++
      }
      parts = merged
    }
  }

  #pair(left: number, right: number): number {
    return left * this.vocabularySize + right
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** The byte that each of GPT-2's printable stand-ins is for: printable Latin-1 is itself, the others follow from U+0100 on. */
function bytesOfCharacters(): Map<string, number> {
  const bytes = new Map<string, number>()
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    bytes.set(String.fromCodePoint(isPrintable ? byte : next++), byte)
  }
  return bytes
}
