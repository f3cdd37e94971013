export type { LifetimeOptions } from './approximate/lifetime-options.js'
export * from './approximate/lifetime-retention.js'
export * from './approximate/lru-retention.js'
export * from './approximate/predicted-index.js'
export * from './approximate/prefix-state.js'
export type { PromptBlocks } from './approximate/prompt-blocks.js'
export * from './block-index.js'
export { RANK_LIMIT, checkRank } from './check-rank.js'
export * from './errors.js'
export * from './hash-words.js'
export * from './hashing/block-hasher.js'
export * from './hashing/block-hashes.js'
export { type BlockLayout, hashedBlocks } from './hashing/block-layout.js'
export type { TokenIds } from './hashing/checks.js'
export {
  type PromptObject,
  engineIdentifier,
  engineObjectHash,
  objectsByBlock,
  padToken,
  replaceImageTokens,
} from './hashing/multimodal.js'
export type { HashSeed } from './hashing/request-seed.js'
export { defaultSecretHex } from './hashing/secrets.js'
export * from './hashing/session-prefix.js'
export * from './hashing/tracking.js'
export type { DumpEvent, IndexDump } from './dump.js'
export * from './overlap-rows.js'
export * from './prefix-index.js'
export * from './tier.js'
