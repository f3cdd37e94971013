import type { BlockNames } from '../engine/block-names.js'
import type { GenerationRequest } from '../engine/serving.js'

/** What happened to the cache of a rank, before it is written in the form of an engine. Names are SHA-256 digests of 32 bytes. */
export type CacheEvent =
  | StoredBlocks
  | { readonly kind: 'removed'; readonly name: Uint8Array }
  | { readonly kind: 'cleared' }

/** Blocks of one request that follow each other and were cached in one pass. */
export interface StoredBlocks {
  readonly kind: 'stored'
  readonly request: GenerationRequest
  /** All of the request; block `i` is `blockSize` of them from `i * blockSize` on. */
  readonly tokens: Uint32Array
  readonly names: BlockNames
  readonly blockSize: number
  readonly firstBlock: number
  blockCount: number
}
