import type { HashWords } from '@router/kv-index'

const FIRST_ITEMS = 4096
const KEPT_ITEMS = 1 << 20

/**
 * Hashes and tokens of one batch, one event behind the other. Never larger than the payload allows: each hash and token takes at
 * least a byte of it.
 */
export class EventBuffers {
  hashes: HashWords = new Uint32Array(2 * FIRST_ITEMS)
  /** Hashes in use. */
  hashEnd = 0
  tokens: Uint32Array = new Uint32Array(FIRST_ITEMS)
  #moved: HashWords = new Uint32Array(2 * FIRST_ITEMS)
  /** Tokens in use. */
  tokenEnd = 0

  /** Empties both, and gives back what only a huge batch needs. */
  clear(): void {
    this.hashEnd = 0
    this.tokenEnd = 0
    if (this.hashes.length > 2 * KEPT_ITEMS) {
      this.hashes = new Uint32Array(2 * FIRST_ITEMS)
      this.#moved = new Uint32Array(2 * FIRST_ITEMS)
    }
    if (this.tokens.length > KEPT_ITEMS) this.tokens = new Uint32Array(FIRST_ITEMS)
  }

  /** Makes room for so many more hashes. */
  reserveHashes(count: number): void {
    const needed = 2 * (this.hashEnd + count)
    if (needed > this.hashes.length) this.hashes = grown(this.hashes, needed)
  }

  /** So many hashes, moved to the front of an array of which nothing else counts. */
  hashesFrom(start: number, count: number): HashWords {
    if (start === 0) return this.hashes
    if (this.#moved.length < 2 * count) this.#moved = new Uint32Array(4 * count)
    for (let word = 0; word < 2 * count; word++) this.#moved[word] = this.hashes[2 * start + word]!
    return this.#moved
  }

  /** Makes room for so many more tokens. */
  reserveTokens(count: number): void {
    const needed = this.tokenEnd + count
    if (needed > this.tokens.length) this.tokens = grown(this.tokens, needed)
  }
}

function grown(words: Uint32Array, needed: number): Uint32Array {
  const larger = new Uint32Array(Math.max(needed, 2 * words.length))
  larger.set(words)
  return larger
}
