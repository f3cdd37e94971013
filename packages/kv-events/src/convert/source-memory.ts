import { type BlockRun, DEVICE, HOST_PINNED, type HashWords, hashOf } from '@router/kv-index'
import type { AttentionKind } from './attention-kinds.js'
import { SaltTable } from './salt-table.js'

/** Groups remembered per rank; the one that was first learned goes first. */
export const MAX_GROUPS_PER_RANK = 64
/** Ambiguous hashes remembered per rank, the oldest goes first. */
export const MAX_AMBIGUOUS_PER_RANK = 4096
/** Ranks remembered per source, the oldest goes first: a source serves one worker, or a few. */
export const MAX_RANKS = 1024

/** Whether a rank holds a block, see `BatchContext.holds`. */
export interface BlockHolding {
  holds(dpRank: number, tier: number, engineLow: number, engineHigh: number): boolean
}

/**
 * What the events of one source teach beyond their batch: the attention kind of each (rank, group), the salt of blocks that are
 * held, and the hashes that stand for two salts. Nothing is kept for a rank that uses neither groups nor salts.
 */
export class SourceMemory {
  readonly #ranks = new Map<number, RankMemory>()
  #isRefused = false
  #ambiguousDropped = 0
  /** Per block of the store that is under way: 1 = the rank held it without a salt. Only salted stores use it. */
  #heldWithoutSalt = new Uint8Array(0)

  /** Ambiguous hashes that were forgotten because there were too many. */
  get ambiguousDropped(): number {
    return this.#ambiguousDropped
  }

  /** Ranks about which anything is remembered; at most `MAX_RANKS`. */
  get rankCount(): number {
    return this.#ranks.size
  }

  /** Kinds, salts and ambiguous hashes that are remembered, of all ranks. `O(ranks)`. */
  get size(): number {
    let size = 0
    for (const { kinds, salts, ambiguous } of this.#ranks.values())
      size += kinds.size + (salts?.size ?? 0) + ambiguous.size
    return size
  }

  /** A new life of the rank's engine: everything about the rank is forgotten. */
  forgetRank(dpRank: number): void {
    this.#ranks.delete(dpRank)
  }

  /** As `forgetRank`, for every rank of the source. */
  forgetAll(): void {
    this.#ranks.clear()
  }

  /**
   * The rank holds no block any more, because its engine said so or because the index dropped it: salts and ambiguous hashes go,
   * kinds stay. The reader calls it for `cleared`.
   */
  onCleared(dpRank: number): void {
    const rank = this.#ranks.get(dpRank)
    if (rank === undefined) return
    rank.salts = undefined
    rank.ambiguous.clear()
    if (rank.kinds.size === 0) this.#ranks.delete(dpRank)
  }

  /** To be called during `EventSink.stored` when the index refuses the store: it then teaches no salts. */
  storeRefused(): void {
    this.#isRefused = true
  }

  /** Kind of a group, as its latest store gave it. */
  kindOf(dpRank: number, group: number): AttentionKind | undefined {
    return this.#ranks.get(dpRank)?.kinds.get(group)
  }

  learnKind(dpRank: number, group: number, kind: AttentionKind): void {
    const { kinds } = this.#rankOf(dpRank)
    if (!kinds.has(group) && kinds.size >= MAX_GROUPS_PER_RANK) kinds.delete(first(kinds))
    kinds.set(group, kind)
  }

  /** Whether some block of the rank has a salt: then stores and removals are followed block by block. */
  hasSalts(dpRank: number): boolean {
    return this.#ranks.get(dpRank)?.salts !== undefined
  }

  /** Salt of a block of the device or host tier; absent = it has none, or is not held. */
  saltOf(dpRank: number, low: number, high: number): string | undefined {
    return this.#ranks.get(dpRank)?.salts?.get(low, high)
  }

  /** Whether the hash was stored with different salts, or with and without one, since the last `cleared`. */
  isAmbiguous(dpRank: number, low: number, high: number): boolean {
    const ambiguous = this.#ranks.get(dpRank)?.ambiguous
    return ambiguous !== undefined && ambiguous.size > 0 && ambiguous.has(hashOf(low, high))
  }

  /** Before a store of the device or host tier, or a part of one, is handed on. */
  willStore(dpRank: number, run: BlockRun, salt: string | undefined, holding: BlockHolding): void {
    this.#isRefused = false
    if (salt === undefined) return
    if (this.#heldWithoutSalt.length < run.count) this.#heldWithoutSalt = new Uint8Array(run.count * 2)
    const salts = this.#ranks.get(dpRank)?.salts
    for (let index = 0; index < run.count; index++) {
      const low = run.engine[2 * (run.start + index)]!
      const high = run.engine[2 * (run.start + index) + 1]!
      const isUnsalted =
        salts?.get(low, high) === undefined &&
        (holding.holds(dpRank, DEVICE, low, high) || holding.holds(dpRank, HOST_PINNED, low, high))
      this.#heldWithoutSalt[index] = isUnsalted ? 1 : 0
    }
  }

  /** After it was handed on; the arguments are those of `willStore`. */
  didStore(dpRank: number, run: BlockRun, salt: string | undefined): void {
    if (this.#isRefused) return
    const rank = salt === undefined ? this.#ranks.get(dpRank) : this.#rankOf(dpRank)
    if (rank === undefined || (salt === undefined && rank.salts === undefined)) return
    for (let index = 0; index < run.count; index++) {
      const low = run.engine[2 * (run.start + index)]!
      const high = run.engine[2 * (run.start + index) + 1]!
      const known = rank.salts?.get(low, high)
      if (known === undefined ? salt !== undefined && this.#heldWithoutSalt[index] === 1 : known !== salt)
        this.#markAmbiguous(rank, low, high)
      else if (salt !== undefined && known === undefined && !this.isAmbiguous(dpRank, low, high))
        (rank.salts ??= new SaltTable()).set(low, high, salt)
    }
    if (rank.salts?.size === 0) rank.salts = undefined
  }

  /** After a removal of the device or host tier was handed on: a block that is gone from both has no salt any more. */
  didRemove(dpRank: number, engine: HashWords, start: number, count: number, holding: BlockHolding): void {
    const rank = this.#ranks.get(dpRank)
    if (rank?.salts === undefined) return
    for (let index = start; index < start + count; index++) {
      const low = engine[2 * index]!
      const high = engine[2 * index + 1]!
      if (rank.salts.get(low, high) === undefined) continue
      if (!holding.holds(dpRank, DEVICE, low, high) && !holding.holds(dpRank, HOST_PINNED, low, high))
        rank.salts.delete(low, high)
    }
    if (rank.salts.size > 0) return
    rank.salts = undefined
    if (rank.kinds.size === 0 && rank.ambiguous.size === 0) this.#ranks.delete(dpRank)
  }

  #markAmbiguous(rank: RankMemory, low: number, high: number): void {
    rank.salts?.delete(low, high)
    const { ambiguous } = rank
    const hash = hashOf(low, high)
    if (!ambiguous.has(hash) && ambiguous.size >= MAX_AMBIGUOUS_PER_RANK) {
      ambiguous.delete(first(ambiguous))
      this.#ambiguousDropped++
    }
    ambiguous.add(hash)
  }

  #rankOf(dpRank: number): RankMemory {
    let rank = this.#ranks.get(dpRank)
    if (rank === undefined) {
      if (this.#ranks.size >= MAX_RANKS) this.#ranks.delete(first(this.#ranks))
      rank = { kinds: new Map(), salts: undefined, ambiguous: new Set() }
      this.#ranks.set(dpRank, rank)
    }
    return rank
  }
}

interface RankMemory {
  readonly kinds: Map<number, AttentionKind>
  /** Absent = no block has one. */
  salts: SaltTable | undefined
  readonly ambiguous: Set<bigint>
}

/** The key that has been in it for longest; it must not be empty. */
function first<K>(keys: Map<K, unknown> | Set<K>): K {
  return keys.keys().next().value as K
}
