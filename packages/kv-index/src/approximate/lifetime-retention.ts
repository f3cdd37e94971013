import type { BlockIndex, BlockRun, OverlapTarget } from '../block-index.js'
import type { HashWords } from '../hash-words.js'
import { DEVICE } from '../tier.js'
import { NONE, grown } from './entry-pool.js'
import { KeyPool } from './key-pool.js'
import { type LifetimeOptions, lifetimeOptions } from './lifetime-options.js'
import { LinkedLists } from './linked-lists.js'
import type { PromptBlocks } from './prompt-blocks.js'
import { RemovalBatch } from './removal-batch.js'

/** Expiries are whole multiples of this, in ms. */
const TICK_MS = 100

/** Blocks that one insertion prunes, or four times as many as it brings: no call waits for a fifth of a million. */
const PRUNED_AT_ONCE = 2048

/** More than there ever are; a small integer, which no code path puts on the heap. */
const UNLIMITED = 0x7fff_ffff

/** The only list by expiry. */
const ALL = 0

/** The list of entries whose rank was removed; those of rank r are list r + 1. */
const ORPHANS = 0

/** What is kept of a rank. */
interface RankLife {
  /** Tells the entries of this life from those of an earlier one; unique among all ranks. */
  life: number
  count: number
}

/**
 * Blocks that are believed to be on a rank because it was sent a prompt with them: each lives `ttlMs` since its last insertion, up to
 * the next full 100 ms of the clock that is passed in. Once there are more than `maxBlocks`, those with the least life left go until
 * the target is reached, 2,048 of them or more with each insertion. The blocks themselves stand in `index`, where other ranks may
 * stand too; here is only the bookkeeping: at most `maxBlocks` and one prompt, and as much again of ranks that were removed just now.
 * The clock never runs backwards here: an earlier time counts as the latest one seen.
 */
export class LifetimeRetention {
  readonly index: BlockIndex
  readonly options: Required<LifetimeOptions>
  readonly #keys = new KeyPool()
  #expiryMs = new Float64Array(this.#keys.capacity)
  #depth = new Uint32Array(this.#keys.capacity)
  #rank = new Uint32Array(this.#keys.capacity)
  /** All entries, by expiry; of one prompt the deepest first. */
  readonly #byExpiry = new LinkedLists(this.#keys.capacity, 1)
  readonly #byRank = new LinkedLists(this.#keys.capacity, 1)
  readonly #ranks: (RankLife | undefined)[] = []
  #lives = 0
  #size = 0
  #isPruning = false
  #nowMs = -Infinity
  readonly #removals: RemovalBatch
  readonly #run: BlockRun = {
    hasParent: false,
    parentLow: 0,
    parentHigh: 0,
    engine: new Uint32Array(0),
    local: new Uint32Array(0),
    start: 0,
    count: 0,
  }

  /** Error: `KV_INDEX_OPTION_INVALID`. */
  constructor(index: BlockIndex, options: LifetimeOptions = {}) {
    this.index = index
    this.options = lifetimeOptions(options)
    this.#removals = new RemovalBatch(index)
  }

  /** Blocks of all ranks, those included that are due but not yet expired. */
  get size(): number {
    return this.#size
  }

  /** Blocks of one rank. */
  sizeOf(rank: number): number {
    return this.#ranks[rank]?.count ?? 0
  }

  /** Entries in memory, those of removed ranks included. */
  get entriesInUse(): number {
    return this.#keys.size
  }

  /**
   * The rank was sent a prompt: its complete blocks are stored for it from the root, each under its sequence hash, and their life
   * starts anew. Where the index is full nothing new is stored. `O(blocks)`; allocates only to grow. Error: `KV_INDEX_RANK_INVALID`.
   */
  insert(rank: number, blocks: PromptBlocks, nowMs: number): void {
    const { sequence, count } = blocks
    this.expire(nowMs)
    if (count === 0) return
    const isStored = this.#store(rank, blocks)
    const expiryMs = Math.ceil((this.#nowMs + this.options.ttlMs) / TICK_MS) * TICK_MS
    const owner = this.#ownerOf(rank)
    for (let depth = count - 1; depth >= 0; depth--) {
      const low = sequence[2 * depth]!
      const high = sequence[2 * depth + 1]!
      let entry = this.#keys.find(owner.life, low, high)
      if (entry !== NONE) this.#byExpiry.unlink(ALL, entry)
      else if (isStored) entry = this.#add(rank, owner, low, high)
      else continue
      this.#expiryMs[entry] = expiryMs
      this.#depth[entry] = depth
      this.#byExpiry.append(ALL, entry)
    }
    this.#dropOrphans(2 * count)
    if (this.#size > this.options.maxBlocks) this.#isPruning = true
    if (this.#isPruning) this.#prune(Math.max(PRUNED_AT_ONCE, 4 * count))
  }

  /**
   * Removes blocks whose expiry has come, earliest first, at most `budget` of them; returns whether none is left that is due.
   * Without a budget none is, as it must be before the index answers.
   */
  expire(nowMs: number, budget = UNLIMITED): boolean {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    for (let left = budget; left > 0 && this.#isDue(this.#byExpiry.head[ALL]!); left--)
      this.#drop(this.#byExpiry.head[ALL]!)
    this.#removals.flush()
    return !this.#isDue(this.#byExpiry.head[ALL]!)
  }

  /** Expires what is due, then asks the index. */
  lookup(local: HashWords, count: number, nowMs: number, target: OverlapTarget): void {
    this.expire(nowMs)
    this.index.lookup(local, count, target)
  }

  /** Everything of a rank, also what others stored for it in the index. `O(1)`; memory comes back with later insertions. */
  removeRank(rank: number): void {
    this.index.removeRank(rank)
    const owner = this.#ranks[rank]
    if (owner === undefined) return
    this.#size -= owner.count
    this.#byRank.appendAll(ORPHANS, rank + 1)
    this.#ranks[rank] = undefined
  }

  #isDue(entry: number): boolean {
    return entry !== NONE && this.#expiryMs[entry]! <= this.#nowMs
  }

  #store(rank: number, { local, sequence, count }: PromptBlocks): boolean {
    const run = this.#run
    run.engine = sequence
    run.local = local
    run.count = count
    const outcome = this.index.store(rank, DEVICE, run)
    return outcome === 'ok' || outcome === 'duplicate_store'
  }

  #ownerOf(rank: number): RankLife {
    const known = this.#ranks[rank]
    if (known !== undefined) return known
    while (this.#ranks.length <= rank) this.#ranks.push(undefined)
    this.#byRank.growLists(rank + 2)
    this.#lives = (this.#lives + 1) >>> 0
    return (this.#ranks[rank] = { life: this.#lives, count: 0 })
  }

  #add(rank: number, owner: RankLife, low: number, high: number): number {
    const entry = this.#keys.add(owner.life, low, high)
    if (this.#keys.capacity > this.#depth.length) this.#grow()
    this.#rank[entry] = rank
    this.#byRank.append(rank + 1, entry)
    owner.count++
    this.#size++
    return entry
  }

  /** Forgets an entry; one of a live rank leaves the index with the next flush. */
  #drop(entry: number): void {
    const rank = this.#rank[entry]!
    const owner = this.#ranks[rank]
    if (owner !== undefined && this.#isLive(entry)) {
      this.#removals.add(rank, this.#keys.low[entry]!, this.#keys.high[entry]!)
      this.#byRank.unlink(rank + 1, entry)
      owner.count--
      this.#size--
    } else {
      this.#byRank.unlink(ORPHANS, entry)
    }
    this.#byExpiry.unlink(ALL, entry)
    this.#keys.delete(entry)
  }

  #dropOrphans(budget: number): void {
    const { head } = this.#byRank
    for (let left = budget; left > 0 && head[ORPHANS] !== NONE; left--) this.#drop(head[ORPHANS]!)
  }

  /** Towards the target: expiry after expiry, of the last one the deepest blocks. */
  #prune(budget: number): void {
    const { maxBlocks, pruneTargetRatio } = this.options
    const target = Math.floor(maxBlocks * pruneTargetRatio)
    const end = Math.max(target, this.#size - budget)
    while (this.#size > end) this.#pruneFirstExpiry(this.#size - end)
    this.#isPruning = this.#size > target
    this.#removals.flush()
  }

  /** Drops at most `excess` blocks of the earliest expiry, by depth, then key, then rank. */
  #pruneFirstExpiry(excess: number): void {
    const cut = this.#depthCut(excess)
    const atCut: number[] = []
    const expiryMs = this.#expiryMs[this.#byExpiry.head[ALL]!]!
    let entry = this.#byExpiry.head[ALL]!
    while (entry !== NONE && this.#expiryMs[entry] === expiryMs) {
      const next = this.#byExpiry.next[entry]!
      if (this.#depth[entry]! > cut.depth || !this.#isLive(entry)) this.#drop(entry)
      else if (this.#depth[entry] === cut.depth) atCut.push(entry)
      entry = next
    }
    if (cut.count === 0) return
    atCut.sort((a, b) => this.#byKey(a, b))
    for (const one of atCut.slice(0, cut.count)) this.#drop(one)
  }

  /** Of the earliest expiry: blocks deeper than `depth` are at most `excess`, and with `count` more of that depth as many, or all. */
  #depthCut(excess: number): { depth: number; count: number } {
    const countAt: number[] = []
    const expiryMs = this.#expiryMs[this.#byExpiry.head[ALL]!]!
    let entry = this.#byExpiry.head[ALL]!
    for (; entry !== NONE && this.#expiryMs[entry] === expiryMs; entry = this.#byExpiry.next[entry]!) {
      if (!this.#isLive(entry)) continue
      while (countAt.length <= this.#depth[entry]!) countAt.push(0)
      countAt[this.#depth[entry]!]!++
    }
    let depth = countAt.length - 1
    let count = excess
    while (depth >= 0 && countAt[depth]! <= count) count -= countAt[depth--]!
    return { depth, count: depth < 0 ? 0 : count }
  }

  #isLive(entry: number): boolean {
    return this.#ranks[this.#rank[entry]!]?.life === this.#keys.scope[entry]
  }

  #byKey(a: number, b: number): number {
    const { high, low } = this.#keys
    return high[a]! - high[b]! || low[a]! - low[b]! || this.#rank[a]! - this.#rank[b]!
  }

  #grow(): void {
    const { capacity } = this.#keys
    this.#expiryMs = grown(this.#expiryMs, capacity)
    this.#depth = grown(this.#depth, capacity)
    this.#rank = grown(this.#rank, capacity)
    this.#byExpiry.growMembers(capacity)
    this.#byRank.growMembers(capacity)
  }
}
