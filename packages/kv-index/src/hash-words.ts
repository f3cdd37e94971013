/**
 * 64-bit hashes as interleaved 32-bit halves: hash i is `words[2 * i]` (low) and `words[2 * i + 1]` (high). The form of every hash
 * that a loop reads; bigints exist at the edges only.
 */
export type HashWords = Uint32Array

const LOW = 0xffff_ffffn

/** The hash at an index as a bigint, unsigned. Allocates. */
export function hashAt(words: HashWords, index: number): bigint {
  return hashOf(words[2 * index]!, words[2 * index + 1]!)
}

/** Both halves as one bigint, unsigned. Allocates. */
export function hashOf(low: number, high: number): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
}

/** Low half of a 64-bit integer, signed or not. */
export function lowOf(hash: bigint): number {
  return Number(hash & LOW)
}

/** High half of a 64-bit integer, signed or not. */
export function highOf(hash: bigint): number {
  return Number((hash >> 32n) & LOW)
}

/** Words of bigints, signed or not. */
export function hashWords(hashes: readonly bigint[]): HashWords {
  const words = new Uint32Array(hashes.length * 2)
  for (const [index, hash] of hashes.entries()) {
    words[2 * index] = lowOf(hash)
    words[2 * index + 1] = highOf(hash)
  }
  return words
}

/** Bigints of words, unsigned. `count` defaults to all. */
export function hashesOf(words: HashWords, count = words.length >> 1): bigint[] {
  return Array.from({ length: count }, (_, index) => hashAt(words, index))
}
