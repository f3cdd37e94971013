import type { BlockIndex, BlockRun } from '../block-index.js'
import { checkRank } from '../check-rank.js'
import { KvIndexError } from '../errors.js'
import type { HashWords } from '../hash-words.js'
import { DEVICE } from '../tier.js'
import { CopyTable } from './copy-table.js'
import { NONE, grown } from './entry-pool.js'
import { LeaseTable } from './lease-table.js'
import type { LifetimeRetention } from './lifetime-retention.js'
import type { PromptBlocks } from './prompt-blocks.js'

/** How blocks of a rank are kept: by capacity, by lifetime for want of one, or not at all. */
export type RetentionMode = 'lru' | 'ttl' | 'ignored'

/** Sums over ranks, in blocks unless said otherwise. */
export interface LruStats {
  /** Ranks kept by capacity. */
  ranks: number
  /** Ranks that fell back to lifetime. */
  fallbackRanks: number
  /** How often a rank fell back. */
  fallbackActivations: number
  /** Attempts that were not released. */
  leases: number
  private: number
  /** Copies that an attempt refers to, and private blocks. */
  active: number
  /** Copies that nobody refers to. */
  inactive: number
  resident: number
  /** What ranks hold beyond their capacity, since it is in use. */
  overCapacity: number
  /** Copies evicted since the start. */
  evictedTotal: number
}

interface RankCopies {
  readonly mode: 'lru' | 'ttl'
  readonly incarnation: number
  /** Tells its leases and blocks from those of an earlier one; unique among all ranks. */
  readonly life: number
  capacityBlocks: number
  privateBlocks: number
  referenced: number
  evictable: number
  leases: number
}

/** The list of leases and of copies whose rank was cleared; those of rank r are list r + 1. */
const ORPHANS = 0

/**
 * Blocks that are believed to be on a rank as its engine keeps them: what requests in flight use, and beyond it as much as the
 * advertised capacity allows, released longest ago first out. A rank without capacity falls back to a lifetime. Blocks stand in the
 * index of `lifetime`; here are copies and leases, bounded by the capacities and what requests in flight refer to.
 */
export class LruRetention {
  readonly index: BlockIndex
  readonly lifetime: LifetimeRetention
  /** Sequence hashes that left the index with the last call, in order; the first `evictedCount`. Overwritten by the next call. */
  evicted: HashWords = new Uint32Array(128)
  evictedCount = 0
  readonly #ranks: (RankCopies | undefined)[] = []
  readonly #copies = new CopyTable()
  readonly #leases = new LeaseTable()
  #lives = 0
  #fallbackActivations = 0
  #evictedTotal = 0
  readonly #run: BlockRun = {
    hasParent: false,
    parentLow: 0,
    parentHigh: 0,
    engine: new Uint32Array(0),
    local: new Uint32Array(0),
    start: 0,
    count: 0,
  }

  constructor(lifetime: LifetimeRetention) {
    this.index = lifetime.index
    this.lifetime = lifetime
  }

  /** Copies in memory, those of cleared ranks included. */
  get copiesInUse(): number {
    return this.#copies.size
  }

  modeOf(rank: number): RetentionMode {
    return this.#ranks[rank]?.mode ?? 'ignored'
  }

  /**
   * The capacity that a rank advertises, in blocks; `undefined`, NaN or 0 = none, and the rank is kept by lifetime until its next
   * incarnation or reset. Another incarnation than before clears the rank first; less capacity evicts at once.
   * Error: `KV_INDEX_RANK_INVALID`.
   */
  setCapacity(rank: number, incarnation: number, capacityBlocks: number | undefined): void {
    checkRank(rank)
    this.evictedCount = 0
    const known = this.#ranks[rank]
    const hasCapacity = capacityBlocks !== undefined && capacityBlocks > 0
    if (known !== undefined && known.incarnation === incarnation) {
      if (known.mode === 'ttl') return
      if (hasCapacity) {
        known.capacityBlocks = capacityBlocks
        this.#evict(rank, known)
        return
      }
    }
    this.resetRank(rank)
    this.#enter(rank, incarnation, hasCapacity ? capacityBlocks : 0)
  }

  /**
   * A request was dispatched to a rank: refers to the blocks of the prompt, as far as its prefix is resident, and to new copies of
   * the others. On a rank kept by lifetime the prompt is inserted with that; an unknown rank or another incarnation is ignored.
   * `O(blocks)`; allocates only to grow.
   * @param attempt a safe integer >= 0, unique among those of the rank that were not released. Error: `KV_INDEX_ATTEMPT_DUPLICATE`
   * @param privateBlocks blocks that no other request can share, a partial last one included
   */
  acquire(
    rank: number,
    incarnation: number,
    attempt: number,
    blocks: PromptBlocks,
    privateBlocks: number,
    nowMs: number,
  ): RetentionMode {
    this.evictedCount = 0
    const owner = this.#ranks[rank]
    if (owner === undefined || owner.incarnation !== incarnation) return 'ignored'
    if (owner.mode === 'ttl') {
      this.lifetime.insert(rank, blocks, nowMs)
      return 'ttl'
    }
    if (this.#leases.find(owner.life, attempt) !== NONE) {
      const message = `attempt ${attempt} of rank ${rank} is not released yet; expected another number`
      throw new KvIndexError('KV_INDEX_ATTEMPT_DUPLICATE', message, { rank, attempt })
    }
    this.#dropOrphans(2 * blocks.count + 2)
    const lease = this.#leases.add(owner.life, attempt, rank + 1)
    owner.leases++
    const resident = this.#referResident(rank, owner, lease, blocks)
    this.#referNew(owner, lease, blocks, resident)
    this.#setPrivate(owner, lease, privateBlocks)
    this.#evict(rank, owner)
    this.#store(rank, blocks, 0)
    return 'lru'
  }

  /**
   * The request of an attempt wrote output: the blocks of its sequence from position `from` on are complete now, and get new copies.
   * Unknown attempts and ranks that are not kept by capacity are ignored.
   * @param blocks prompt and output
   * @param privateBlocks instead of those that the attempt had
   */
  materialize(
    rank: number,
    attempt: number,
    blocks: PromptBlocks,
    from: number,
    privateBlocks: number,
  ): void {
    this.evictedCount = 0
    const owner = this.#ranks[rank]
    const lease = owner === undefined ? NONE : this.#leases.find(owner.life, attempt)
    if (owner === undefined || lease === NONE) return
    this.#referNew(owner, lease, blocks, from)
    this.#setPrivate(owner, lease, privateBlocks)
    this.#evict(rank, owner)
    this.#store(rank, blocks, from)
  }

  /** The request of an attempt ended, however it did. A repeated or unknown one is ignored. */
  release(rank: number, attempt: number): void {
    this.evictedCount = 0
    const owner = this.#ranks[rank]
    const lease = owner === undefined ? NONE : this.#leases.find(owner.life, attempt)
    if (owner === undefined || lease === NONE) return
    const { references, evictable } = this.#copies
    const fence = evictable.tail[rank + 1]!
    for (let copy = this.#leases.pop(lease); copy !== NONE; copy = this.#leases.pop(lease)) {
      if (--references[copy]! > 0) continue
      this.#copies.offer(rank + 1, copy, fence)
      owner.referenced--
      owner.evictable++
    }
    this.#setPrivate(owner, lease, 0)
    this.#leases.delete(lease, rank + 1)
    owner.leases--
    this.#evict(rank, owner)
  }

  /** Forgets everything of a rank, which is ignored until its next capacity. `O(1)`; memory comes back with later calls. */
  resetRank(rank: number): void {
    this.evictedCount = 0
    this.lifetime.removeRank(rank)
    if (this.#ranks[rank] === undefined) return
    this.#copies.evictable.appendAll(ORPHANS, rank + 1)
    this.#leases.lists.appendAll(ORPHANS, rank + 1)
    this.#ranks[rank] = undefined
  }

  /** `O(ranks)`; allocates the answer. */
  stats(): LruStats {
    const sums = {
      ranks: 0,
      fallbackRanks: 0,
      leases: 0,
      private: 0,
      active: 0,
      inactive: 0,
      overCapacity: 0,
    }
    for (const owner of this.#ranks) {
      if (owner === undefined) continue
      if (owner.mode === 'ttl') sums.fallbackRanks++
      else sums.ranks++
      sums.leases += owner.leases
      sums.private += owner.privateBlocks
      sums.active += owner.referenced + owner.privateBlocks
      sums.inactive += owner.evictable
      sums.overCapacity += Math.max(0, residentBlocks(owner) - owner.capacityBlocks)
    }
    const resident = sums.active + sums.inactive
    const [fallbackActivations, evictedTotal] = [this.#fallbackActivations, this.#evictedTotal]
    return { ...sums, resident, fallbackActivations, evictedTotal }
  }

  #enter(rank: number, incarnation: number, capacityBlocks: number): void {
    while (this.#ranks.length <= rank) this.#ranks.push(undefined)
    this.#copies.evictable.growLists(rank + 2)
    this.#leases.lists.growLists(rank + 2)
    const mode = capacityBlocks > 0 ? 'lru' : 'ttl'
    if (mode === 'ttl') this.#fallbackActivations++
    this.#lives = (this.#lives + 1) >>> 0
    const nothing = { privateBlocks: 0, referenced: 0, evictable: 0, leases: 0 }
    this.#ranks[rank] = { mode, incarnation, life: this.#lives, capacityBlocks, ...nothing }
  }

  /** Refers to the first copies of the blocks that are resident from the left; returns how many. */
  #referResident(rank: number, owner: RankCopies, lease: number, { sequence, count }: PromptBlocks): number {
    for (let at = 0; at < count; at++) {
      const copy = this.#copies.firstOf(owner.life, sequence[2 * at]!, sequence[2 * at + 1]!)
      if (copy === NONE) return at
      if (this.#copies.references[copy] === 0) {
        this.#copies.evictable.unlink(rank + 1, copy)
        owner.evictable--
      }
      this.#refer(owner, lease, copy, at)
    }
    return count
  }

  #referNew(owner: RankCopies, lease: number, { sequence, count }: PromptBlocks, from: number): void {
    for (let at = from; at < count; at++) {
      const copy = this.#copies.add(owner.life, sequence[2 * at]!, sequence[2 * at + 1]!)
      this.#refer(owner, lease, copy, at)
    }
  }

  #refer(owner: RankCopies, lease: number, copy: number, position: number): void {
    if (this.#copies.references[copy]!++ === 0) owner.referenced++
    this.#copies.setPosition(copy, position)
    this.#leases.refer(lease, copy)
  }

  #setPrivate(owner: RankCopies, lease: number, privateBlocks: number): void {
    owner.privateBlocks += privateBlocks - this.#leases.privateBlocks[lease]!
    this.#leases.privateBlocks[lease] = privateBlocks
  }

  #evict(rank: number, owner: RankCopies): void {
    while (owner.evictable > 0 && residentBlocks(owner) > owner.capacityBlocks) {
      const copy = this.#copies.evictable.head[rank + 1]!
      this.#copies.evictable.unlink(rank + 1, copy)
      owner.evictable--
      this.#evictedTotal++
      if (this.#copies.delete(copy)) this.#noteEvicted(this.#copies.lowOf(copy), this.#copies.highOf(copy))
    }
    if (this.evictedCount > 0) this.index.remove(rank, DEVICE, this.evicted, 0, this.evictedCount)
  }

  #noteEvicted(low: number, high: number): void {
    const at = 2 * this.evictedCount++
    if (at === this.evicted.length) this.evicted = grown(this.evicted, 2 * at)
    this.evicted[at] = low
    this.evicted[at + 1] = high
  }

  /** From the root where it can: blocks that a full index refused earlier get another chance. */
  #store(rank: number, { local, sequence, count }: PromptBlocks, from: number): void {
    if (from >= count) return
    const run = this.#run
    run.hasParent = from > 0
    run.parentLow = from > 0 ? sequence[2 * from - 2]! : 0
    run.parentHigh = from > 0 ? sequence[2 * from - 1]! : 0
    run.engine = sequence
    run.local = local
    run.start = from
    run.count = count - from
    this.index.store(rank, DEVICE, run)
  }

  #dropOrphans(budget: number): void {
    const { evictable, references } = this.#copies
    const { lists } = this.#leases
    for (let left = budget; left > 0; left--) {
      const copy = evictable.head[ORPHANS]!
      const lease = lists.head[ORPHANS]!
      if (copy !== NONE) {
        evictable.unlink(ORPHANS, copy)
        this.#copies.delete(copy)
      } else if (lease !== NONE) {
        const referred = this.#leases.pop(lease)
        if (referred === NONE) this.#leases.delete(lease, ORPHANS)
        else if (--references[referred]! === 0) this.#copies.delete(referred)
      } else {
        return
      }
    }
  }
}

function residentBlocks(owner: RankCopies): number {
  return owner.referenced + owner.evictable + owner.privateBlocks
}
