import { type BlockIndex, PrefixIndex } from '@router/kv-index'

/** More than any row stores. */
const maxBlocks = 2 ** 25

/** A new, empty index. */
export function createIndex(): BlockIndex {
  return new PrefixIndex({ blockSize: 16, maxBlocks })
}
