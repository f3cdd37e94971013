import type { HashWords } from '../hash-words.js'

// Of all that have no room yet: nobody can write into it.
const noWords: HashWords = new Uint32Array(0)

/** Hashes of a prompt's complete blocks, from the left. The caller owns it and may use it again and again: it only ever grows. */
export class BlockHashes {
  /** Content hash of each block; entries past `count` mean nothing. */
  local: HashWords = noWords
  /** Chained hash of each block and all before it; entries past `count` mean nothing. */
  sequence: HashWords = noWords
  /** Blocks. */
  count = 0

  /** Makes room for so many blocks, at least twice as many as before where there is too little; what is there stays. */
  reserve(blocks: number): void {
    if (this.local.length >= 2 * blocks) return
    const words = Math.max(2 * blocks, 2 * this.local.length)
    this.local = grown(this.local, words)
    this.sequence = grown(this.sequence, words)
  }
}

function grown(words: HashWords, length: number): HashWords {
  const more = new Uint32Array(length)
  more.set(words)
  return more
}
