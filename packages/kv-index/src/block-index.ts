import type { HashWords } from './hash-words.js'

/** A run of blocks that continue one another, as an engine announces it. Borrowed for the call: callers reuse one object. */
export interface BlockRun {
  /** False = the run starts at the root, the parent halves are not read. */
  hasParent: boolean
  /** Engine hash of the block before the run. */
  parentLow: number
  parentHigh: number
  /** Engine hash of every block. */
  engine: HashWords
  /** Local hash of every block, see `BlockHasher`. */
  local: HashWords
  /** Index of the first block in both arrays. */
  start: number
  /** Blocks; 0 is legal. */
  count: number
}

/**
 * What a store did. `ok`, `duplicate_store` (every block was held already, by this rank, at this place), or why nothing was stored:
 * `parent_not_found` (this rank does not hold the parent on the device tier), `invalid_sequence` (the parent stands in the run itself),
 * `capacity` (the index is full).
 */
export type StoreOutcome = 'ok' | 'duplicate_store' | 'parent_not_found' | 'invalid_sequence' | 'capacity'

/** What a removal did: `block_not_found` = at least one device block was unknown to the rank, the others are gone. */
export type RemoveOutcome = 'ok' | 'block_not_found'

/**
 * Which rank holds which blocks. A rank is a small whole number that the caller gives out (a slot of the worker table) and may reuse
 * after `removeRank`; tiers are indexes into `TIERS`.
 */
export interface BlockIndex {
  readonly blockSize: number
  /** Holder entries on the device tier: the sum over ranks of the blocks they hold. */
  readonly currentSize: number
  /** Device entries of one rank; 0 when nobody knows it. */
  sizeOf(rank: number): number
  store(rank: number, tier: number, run: BlockRun): StoreOutcome
  /** Removes blocks by engine hash in the given order; unknown ones are skipped. */
  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome
  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean
  /** Everything of a rank on every tier (`cleared`, a restart, a rank that left). `O(1)`; memory comes back with later calls. */
  removeRank(rank: number): void
  /**
   * For every rank the blocks it holds of a prompt, from the left, tier after tier (host.md 3.3, 3.4), into `target`.
   * Overwrites what the last lookup wrote there. Allocates nothing warm.
   * @param local local hashes of the prompt's complete blocks
   * @param stopsEarly stop where one candidate is left, whose match may then be longer than told, and look at no lower tier: never for
   * metrics, projections or decisions that are recorded. Default false
   */
  lookup(local: HashWords, count: number, target: OverlapTarget, stopsEarly?: boolean): void
}

/**
 * Where a lookup writes: row-aligned columns of the host. Only rows with a match are written, and only those are cleared by the
 * next lookup; all blocks are whole numbers.
 */
export interface OverlapTarget {
  /** Row by rank; negative or past the end = nobody asks for this rank. Another array where something of it changes. */
  readonly rowOfRank: Int32Array
  readonly deviceBlocks: Float64Array
  /** Blocks beyond the device match. */
  readonly hostBlocks: Float64Array
  /** Blocks beyond the host match. */
  readonly diskBlocks: Float64Array
  /** Blocks beyond the disk match. */
  readonly externalBlocks: Float64Array
  /** Rows with a match on some tier, in no order; the first `count` entries. */
  readonly rows: Int32Array
  count: number
  /** Whether a row may have blocks beyond the device match. */
  hasLowerBlocks: boolean
}
