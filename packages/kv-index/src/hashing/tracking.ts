import { type HashWords, highOf, lowOf } from '../hash-words.js'
import type { BlockHashes } from './block-hashes.js'
import { checkHashes } from './checks.js'

/** A stream of random u64 values; the random generators of the contract fit. */
export interface RandomWords {
  /** Draws one. */
  step(): void
  /** Halves of the last one, unsigned. */
  readonly low: number
  readonly high: number
}

/**
 * Hashes by which load accounting tells shared prompt blocks, one per block from the left. One object serves request after request:
 * each call replaces what is there and allocates nothing warm.
 */
export class TrackingHashes {
  /** Entries past `count` mean nothing. */
  words: HashWords = new Uint32Array(0)
  /** Blocks. */
  count = 0
  /**
   * Whether each hash stands for all blocks before it too. Only then may one hash stand for a prefix; otherwise hashes are compared
   * block by block.
   */
  isChained = true

  /** The default: the sequence hashes of the prompt's complete blocks. */
  setPublic({ sequence, count }: BlockHashes): void {
    this.#reset(count, true)
    for (let word = 0; word < 2 * count; word++) this.words[word] = sequence[word]!
  }

  /** Reuse is not assumed: one draw a block, so that nothing is ever shared. */
  setUnshared(count: number, random: RandomWords): void {
    this.#reset(count, false)
    for (let block = 0; block < count; block++) {
      random.step()
      this.words[2 * block] = random.low
      this.words[2 * block + 1] = random.high
    }
  }

  /** What a client sent, signed or unsigned: any 64-bit values, chained or not. Throws `KV_INDEX_HASH_INVALID`. */
  setGiven(hashes: readonly bigint[]): void {
    checkHashes(hashes)
    this.#reset(hashes.length, false)
    for (const [block, hash] of hashes.entries()) {
      this.words[2 * block] = lowOf(hash)
      this.words[2 * block + 1] = highOf(hash)
    }
  }

  #reset(count: number, isChained: boolean): void {
    if (this.words.length < 2 * count)
      this.words = new Uint32Array(Math.max(2 * count, 2 * this.words.length))
    this.count = count
    this.isChained = isChained
  }
}
