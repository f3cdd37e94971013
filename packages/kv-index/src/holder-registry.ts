import { checkRank } from './check-rank.js'

/**
 * Holders are numbers that the index gives to ranks and never to another rank while an edge may still name them: a rank that is
 * removed loses its holder at once, and edges drop it as they are swept.
 */
export class HolderRegistry {
  /** Rank of every holder, -1 = gone. */
  rankOf = new Int32Array(16).fill(-1)
  /** Device blocks of every holder. */
  blocksOf = new Float64Array(16)
  /** Blocks on all lower tiers of every holder. */
  lowerBlocksOf = new Float64Array(16)
  /** Device blocks of all ranks. */
  deviceBlocks = 0
  /** Blocks of all ranks on all lower tiers. */
  lowerBlocks = 0
  /** Holders that edges may still name although their rank is gone. */
  readonly dying: number[] = []
  /** Bumped when a holder joins or goes. */
  version = 0
  #holderOf = new Int32Array(16).fill(-1)
  readonly #free: number[] = []
  #count = 0

  /** Ranks with a holder. */
  get ranks(): number {
    return this.#count - this.#free.length - this.dying.length
  }

  /** Holder of a rank, -1 when it has none. */
  find(rank: number): number {
    return this.#holderOf[rank] ?? -1
  }

  /** Holder of a rank, new where it has none. Errors: `KV_INDEX_RANK_INVALID`. */
  of(rank: number): number {
    const known = this.find(rank)
    if (known >= 0) return known
    checkRank(rank)
    const holder = this.#free.pop() ?? this.#count++
    if (holder >= this.rankOf.length) {
      this.rankOf = longer(this.rankOf, new Int32Array(2 * holder).fill(-1))
      this.blocksOf = longer(this.blocksOf, new Float64Array(2 * holder))
      this.lowerBlocksOf = longer(this.lowerBlocksOf, new Float64Array(2 * holder))
    }
    if (rank >= this.#holderOf.length) {
      this.#holderOf = longer(this.#holderOf, new Int32Array(2 * rank).fill(-1))
    }
    this.version++
    this.#holderOf[rank] = holder
    this.rankOf[holder] = rank
    this.blocksOf[holder] = 0
    this.lowerBlocksOf[holder] = 0
    return holder
  }

  /** Takes the holder from a rank; the number, -1 when it had none. */
  retire(rank: number): number {
    const holder = this.find(rank)
    if (holder < 0) return -1
    this.version++
    this.#holderOf[rank] = -1
    this.rankOf[holder] = -1
    this.deviceBlocks -= this.blocksOf[holder]!
    this.lowerBlocks -= this.lowerBlocksOf[holder]!
    this.blocksOf[holder] = 0
    this.lowerBlocksOf[holder] = 0
    this.dying.push(holder)
    return holder
  }

  /** The first `count` dying holders are named nowhere any more. */
  free(count: number): void {
    this.#free.push(...this.dying.splice(0, count))
  }

  /** (rank, block) entries on all tiers. */
  get entries(): number {
    return this.deviceBlocks + this.lowerBlocks
  }

  /** Counts blocks gained (lost where negative) on a lower tier. */
  countLower(holder: number, blocks: number): void {
    if (this.rankOf[holder]! < 0) return
    this.lowerBlocksOf[holder]! += blocks
    this.lowerBlocks += blocks
  }

  /** Counts blocks gained (lost where negative) on the device tier. */
  count(holder: number, blocks: number): void {
    if (this.rankOf[holder]! < 0) return
    this.blocksOf[holder]! += blocks
    this.deviceBlocks += blocks
  }
}

function longer<T extends Int32Array | Float64Array>(old: T, grown: T): T {
  grown.set(old)
  return grown
}
