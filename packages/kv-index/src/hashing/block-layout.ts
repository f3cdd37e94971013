import { KvIndexError } from '../errors.js'

/** How tokens are cut into blocks. */
export interface BlockLayout {
  /** Tokens per block: a whole number from 1 on. */
  readonly blockSize: number
  /**
   * The layout of speculative decoding: a block's hash also covers the first token after it. Default false.
   */
  readonly isEagle?: boolean | undefined
}

/** Blocks of so many tokens that have a hash: the complete ones. A partial tail has none. Throws `KV_INDEX_BLOCK_SIZE_INVALID`. */
export function hashedBlocks(tokenCount: number, { blockSize, isEagle = false }: BlockLayout): number {
  checkBlockSize(blockSize)
  const covered = isEagle ? tokenCount - 1 : tokenCount
  return covered < blockSize ? 0 : Math.floor(covered / blockSize)
}

/** Tokens that the hash of a block covers. */
export function windowTokens({ blockSize, isEagle = false }: BlockLayout): number {
  return isEagle ? blockSize + 1 : blockSize
}

/** Throws `KV_INDEX_BLOCK_SIZE_INVALID`. */
export function checkBlockSize(blockSize: number): void {
  if (Number.isSafeInteger(blockSize) && blockSize >= 1) return
  throw new KvIndexError(
    'KV_INDEX_BLOCK_SIZE_INVALID',
    `block size ${String(blockSize)}: expected a whole number of tokens from 1 on`,
    { value: blockSize },
  )
}
