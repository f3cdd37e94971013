import type { BlockHasher } from '@router/kv-index'

const seed = { low: 0, high: 0 }
// Bytes of a body's start that are looked at; each four times the one before.
const shortest = 512
// More than 64 KiB the hasher takes by a detour.
const longest = 32_768
const maxKeys = 4096

/**
 * Which thread has the text segments of a conversation: the one that last had the longest known start of its body. Starts of 512 bytes,
 * 2, 8 and 32 KiB are known by their hashes, the last 4,096 of them.
 */
export class Affinity {
  readonly #hasher: BlockHasher
  readonly #threads = new Map<number, number>()
  readonly #words = new Uint32Array(2)

  constructor(hasher: BlockHasher) {
    this.#hasher = hasher
  }

  /** Starts that are known. */
  get size(): number {
    return this.#threads.size
  }

  /** Keys of the starts of a body, the longest first; none for a body under 512 bytes. Some 10 us for 32 KiB. */
  keysOf(body: Uint8Array): number[] {
    const keys: number[] = []
    for (let length = shortest; length <= body.length && length <= longest; length *= 4) {
      this.#hasher.hashBytes(body.subarray(0, length), seed, this.#words, 0)
      keys.unshift((this.#words[1]! & 0x1f_ffff) * 2 ** 32 + this.#words[0]!)
    }
    return keys
  }

  /** The thread that has the longest of these starts; `undefined` = none is known. */
  threadOf(keys: readonly number[]): number | undefined {
    for (const key of keys) {
      const thread = this.#threads.get(key)
      if (thread !== undefined) return thread
    }
    return undefined
  }

  /** The thread now has these starts. */
  note(keys: readonly number[], thread: number): void {
    for (const key of keys) {
      this.#threads.delete(key)
      this.#threads.set(key, thread)
    }
    while (this.#threads.size > maxKeys) this.#threads.delete(this.#threads.keys().next().value!)
  }

  /** The thread has nothing any more. */
  forget(thread: number): void {
    for (const [key, holder] of this.#threads) if (holder === thread) this.#threads.delete(key)
  }
}
