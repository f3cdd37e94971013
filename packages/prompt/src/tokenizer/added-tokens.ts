/** An added token of a `tokenizer.json`. */
export interface AddedToken {
  readonly id: number
  readonly content: string
  readonly special?: boolean
  readonly normalized?: boolean
  readonly lstrip?: boolean
  readonly rstrip?: boolean
  readonly single_word?: boolean
}

interface TrieNode {
  readonly next: Map<number, TrieNode>
  isEnd: boolean
}

/** Finds added tokens in a text as tokenizers do: from the left, the longest at each place. */
export class AddedTokenMatcher {
  /** Where the last match starts. */
  start = 0
  /** Where the last match ends. */
  end = 0
  readonly #root: TrieNode = { next: new Map(), isEnd: false }
  readonly #isFirst = new Uint8Array(65_536)
  // Most tokenizers have a single one, which `indexOf` finds fastest.
  readonly #onlyFirst: string | undefined

  constructor(contents: readonly string[]) {
    for (const content of contents) {
      let node = this.#root
      for (let index = 0; index < content.length; index++) {
        const unit = content.charCodeAt(index)
        let next = node.next.get(unit)
        if (next === undefined) {
          next = { next: new Map(), isEnd: false }
          node.next.set(unit, next)
        }
        node = next
      }
      if (content !== '') node.isEnd = true
    }
    const firsts = [...this.#root.next.keys()]
    for (const first of firsts) this.#isFirst[first] = 1
    this.#onlyFirst = firsts.length === 1 ? String.fromCharCode(firsts[0]!) : undefined
  }

  /** Whether there is a match in `[from, to)`, then in `start` and `end`. `O(to - from)`; allocates nothing. */
  find(text: string, from: number, to: number): boolean {
    for (let at = this.#candidate(text, from, to); at < to; at = this.#candidate(text, at + 1, to)) {
      let node: TrieNode | undefined = this.#root
      let end = -1
      for (let index = at; index < to; index++) {
        node = node.next.get(text.charCodeAt(index))
        if (node === undefined) break
        if (node.isEnd) end = index + 1
      }
      if (end < 0) continue
      this.start = at
      this.end = end
      return true
    }
    return false
  }

  #candidate(text: string, from: number, to: number): number {
    if (this.#onlyFirst !== undefined && to === text.length) {
      const at = text.indexOf(this.#onlyFirst, from)
      return at < 0 ? to : at
    }
    const isFirst = this.#isFirst
    for (let at = from; at < to; at++) if (isFirst[text.charCodeAt(at)] === 1) return at
    return to
  }
}
