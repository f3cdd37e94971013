import type { BlockIndex, OverlapTarget } from '../block-index.js'
import { checkRank } from '../check-rank.js'
import type { HashWords } from '../hash-words.js'
import type { LifetimeOptions } from './lifetime-options.js'
import { LifetimeRetention } from './lifetime-retention.js'
import { LruRetention } from './lru-retention.js'
import { PredictedIndex } from './predicted-index.js'
import type { PromptBlocks } from './prompt-blocks.js'

/** How a partition knows what its ranks hold. */
export interface PrefixStateOptions {
  /** Makes an empty index of the block size of the partition; called two times, three with predictions. */
  readonly createIndex: () => BlockIndex
  /** For ranks without events, and for content chunks. */
  readonly lifetime?: LifetimeOptions
  /** `router_approximate_cache_policy` for ranks without events. Default `ttl`. */
  readonly approximateCachePolicy?: 'ttl' | 'lru'
  /** `router_predicted_ttl_secs` in ms; absent = decisions about ranks with events enter nothing. */
  readonly predictedTtlMs?: number
}

/** One rank and one life of its engine. */
export interface RankSource {
  /** Its engine tells what it holds. */
  readonly hasEvents: boolean
  readonly incarnation: number
  /** Advertised capacity in blocks; `undefined`, NaN or 0 = none. Matters to LRU retention. */
  readonly capacityBlocks?: number | undefined
}

/** A selection that was dispatched. Borrowed for the call: callers reuse one object. */
export interface DispatchedPrompt {
  readonly rank: number
  /** Names the booking until `noteReleased`: a safe integer >= 0, unique among those of the rank. */
  readonly attempt: number
  readonly blocks: PromptBlocks
  /** Blocks that no other request can share, a partial last one included. */
  readonly privateBlocks: number
}

/**
 * Which rank holds which prefix, in one lookup: ranks with events as their engines tell, which the caller stores in `index`; ranks
 * without events as the decisions about them suggest, in the same index; and both by content chunks, whose hashes stand in an index
 * of their own. The caller says what was dispatched and what time it is.
 */
export class PrefixState {
  /** Of ranks with events the caller's, of all others this object's. */
  readonly index: BlockIndex
  /** Keeps ranks without events. */
  readonly lifetime: LifetimeRetention
  /** Keeps ranks without events by capacity; absent with policy `ttl`. */
  readonly lru: LruRetention | undefined
  /** Absent = no predictions. */
  readonly predicted: PredictedIndex | undefined
  /** Content chunks, of ranks with events too; insert and look up here. */
  readonly chunks: LifetimeRetention
  readonly #sources: (RankSource | undefined)[] = []

  /** Error: `KV_INDEX_OPTION_INVALID`. */
  constructor(options: PrefixStateOptions) {
    const { createIndex, lifetime = {}, predictedTtlMs: ttlMs } = options
    this.index = createIndex()
    this.lifetime = new LifetimeRetention(this.index, lifetime)
    this.lru = options.approximateCachePolicy === 'lru' ? new LruRetention(this.lifetime) : undefined
    this.predicted =
      ttlMs === undefined ? undefined : new PredictedIndex(createIndex(), { ...lifetime, ttlMs })
    this.chunks = new LifetimeRetention(createIndex(), lifetime)
  }

  /**
   * A rank joined, or something of this changed. What was known of it is forgotten when it lives anew or its source is another; a
   * new capacity alone evicts at most. Error: `KV_INDEX_RANK_INVALID`.
   * @returns whether the rank began anew
   */
  setRank(rank: number, source: RankSource): boolean {
    checkRank(rank)
    const known = this.#sources[rank]
    const isSame = known?.incarnation === source.incarnation && known.hasEvents === source.hasEvents
    if (!isSame) this.removeRank(rank)
    while (this.#sources.length <= rank) this.#sources.push(undefined)
    this.#sources[rank] = { ...source }
    if (!source.hasEvents) this.lru?.setCapacity(rank, source.incarnation, source.capacityBlocks)
    return !isSame
  }

  /** Everything of a rank in every index; it is unknown until the next `setRank`. `O(1)`. */
  removeRank(rank: number): void {
    if (rank < this.#sources.length) this.#sources[rank] = undefined
    this.lru?.resetRank(rank)
    this.lifetime.removeRank(rank)
    this.chunks.removeRank(rank)
    this.predicted?.removeRank(rank)
  }

  /**
   * A selection by token blocks was dispatched. Queries and what was refused, cancelled or failed before are not. An unknown rank is
   * ignored. Error: `KV_INDEX_ATTEMPT_DUPLICATE`, with LRU retention only.
   */
  noteDispatched(prompt: DispatchedPrompt, nowMs: number): void {
    const { rank, attempt, blocks, privateBlocks } = prompt
    const source = this.#sources[rank]
    if (source === undefined) return
    if (source.hasEvents) this.predicted?.insert(rank, blocks, nowMs)
    else if (this.lru === undefined) this.lifetime.insert(rank, blocks, nowMs)
    else this.lru.acquire(rank, source.incarnation, attempt, blocks, privateBlocks, nowMs)
  }

  /** The request of an attempt completed the blocks from position `from` on. Matters to LRU retention; see there. */
  noteOutput({ rank, attempt, blocks, privateBlocks }: DispatchedPrompt, from: number): void {
    this.lru?.materialize(rank, attempt, blocks, from, privateBlocks)
  }

  /** The request of an attempt ended, however it did. Matters to LRU retention; idempotent. */
  noteReleased(rank: number, attempt: number): void {
    this.lru?.release(rank, attempt)
  }

  /**
   * What is due leaves, at most `budget` blocks of each kind; true = nothing due is left. To be called every now and then, so that
   * a lookup after a quiet time finds little to do.
   */
  expire(nowMs: number, budget?: number): boolean {
    const isDone = this.lifetime.expire(nowMs, budget)
    const areChunksDone = this.chunks.expire(nowMs, budget)
    const arePredictionsDone = this.predicted?.expire(nowMs, budget) ?? true
    return isDone && areChunksDone && arePredictionsDone
  }

  /** What every rank holds of a prompt by its token blocks. See `BlockIndex.lookup`. */
  lookup(local: HashWords, count: number, nowMs: number, target: OverlapTarget): void {
    this.lifetime.lookup(local, count, nowMs, target)
    this.predicted?.raise(local, count, nowMs, target)
  }
}
