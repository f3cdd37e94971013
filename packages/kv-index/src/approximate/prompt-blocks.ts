import type { HashWords } from '../hash-words.js'

/** Hashes of the complete blocks of a prompt, or of a prompt and its output. Borrowed for the call; `BlockHashes` is of this shape. */
export interface PromptBlocks {
  /** Content hash of each block. */
  readonly local: HashWords
  /** Chained hash of each block and all before it. */
  readonly sequence: HashWords
  /** Blocks; both arrays may be longer. */
  readonly count: number
}
