import type { BlockIndex } from '@router/kv-index'
import { NaiveIndex } from '../../../packages/kv-index/test/support/naive-index.js'

/** A new, empty index with room for everything that a row stores. */
export function createIndex(): BlockIndex {
  return new NaiveIndex({ blockSize: 16 })
}
