import {
  type BlockIndex,
  type BlockRun,
  type DumpEvent,
  type HashWords,
  OverlapRows,
  type OverlapTarget,
  PrefixIndex,
  type PromptBlocks,
  RANK_LIMIT,
  type RemoveOutcome,
  type StoreOutcome,
} from '@router/kv-index'
import type { WorkerRank } from '@router/sdk'
import type { RankBlocks } from './fleet-request.js'

/** Of one partition. */
const maximumRanks = 1024
const maximumBlocks = 1 << 20

/**
 * Ranks that events tell of although no record has them: nothing is selected there, but reports and dumps show what they hold. They have an
 * index of their own, so that no selection pays for them. As a `BlockIndex` it is that of the partition, with the strays behind its ranks.
 */
export class StrayRanks implements BlockIndex {
  readonly #told: BlockIndex
  // Made with the first stray, given back with the last.
  #own: PrefixIndex | undefined
  // By number in the own index; `undefined` = free.
  #ranks: (WorkerRank | undefined)[] = []

  /** @param told what the ranks of the partition hold */
  constructor(told: BlockIndex) {
    this.#told = told
  }

  get blockSize(): number {
    return this.#told.blockSize
  }

  get currentSize(): number {
    return this.#told.currentSize + this.blocks
  }

  /** Strays. */
  get size(): number {
    return this.#ranks.reduce((count, rank) => (rank === undefined ? count : count + 1), 0)
  }

  /** Device blocks that they hold. */
  get blocks(): number {
    return this.#own?.currentSize ?? 0
  }

  /** What names a rank here; it is taken in if need be. `undefined` = there are too many. `O(strays)`. */
  slotOf(workerId: bigint, dpRank: number): number | undefined {
    const known = this.#find(workerId, dpRank)
    if (known >= 0) return RANK_LIMIT + known
    const free = this.#ranks.indexOf(undefined)
    const number = free < 0 ? this.#ranks.length : free
    if (number >= maximumRanks) return undefined
    this.#ranks[number] = { workerId, dpRank }
    this.#own ??= new PrefixIndex({ blockSize: this.blockSize, maxBlocks: maximumBlocks })
    return RANK_LIMIT + number
  }

  /** The strays of a worker. */
  ranksOf(workerId: bigint): number[] {
    return this.#ranks.flatMap((rank) => (rank?.workerId === workerId ? [rank.dpRank] : []))
  }

  /** Forgets a stray, if it is one. */
  forget(workerId: bigint, dpRank: number): void {
    const number = this.#find(workerId, dpRank)
    if (number < 0) return
    this.#own!.removeRank(number)
    this.#ranks[number] = undefined
    if (this.size > 0) return
    this.#ranks = []
    this.#own = undefined
  }

  /** Puts the strays that hold blocks of a prompt among other ranks; all in canonical order. A query. */
  among(ranks: readonly RankBlocks[], { local, count }: Pick<PromptBlocks, 'local' | 'count'>): RankBlocks[] {
    if (this.#own === undefined) return [...ranks]
    const rows = new OverlapRows(this.#ranks.length)
    this.#own.lookup(local, count, rows)
    const strays = Array.from(rows.rows.subarray(0, rows.count), (row) => ({
      ...this.#ranks[row]!,
      isKnown: true,
      deviceBlocks: rows.deviceBlocks[row]!,
      hostBlocks: rows.hostBlocks[row]!,
      diskBlocks: rows.diskBlocks[row]! + rows.externalBlocks[row]!,
    }))
    return [...ranks, ...strays].toSorted(byRank)
  }

  /** What they hold, as stores. `O(blocks)`. */
  dump(): (WorkerRank & { readonly event: DumpEvent })[] {
    const { events = [] } = this.#own?.dump() ?? {}
    return events.map((event) => ({ ...this.#ranks[event.rank]!, event }))
  }

  sizeOf(rank: number): number {
    return this.#indexOf(rank).sizeOf(rank % RANK_LIMIT)
  }

  store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    return this.#indexOf(rank).store(rank % RANK_LIMIT, tier, run)
  }

  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome {
    return this.#indexOf(rank).remove(rank % RANK_LIMIT, tier, engine, start, count)
  }

  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean {
    return this.#indexOf(rank).holds(rank % RANK_LIMIT, tier, engineLow, engineHigh)
  }

  removeRank(rank: number): void {
    this.#indexOf(rank).removeRank(rank % RANK_LIMIT)
  }

  /** That of the partition: strays take no part. */
  lookup(local: HashWords, count: number, target: OverlapTarget, stopsEarly?: boolean): void {
    this.#told.lookup(local, count, target, stopsEarly)
  }

  #find(workerId: bigint, dpRank: number): number {
    return this.#ranks.findIndex((rank) => rank?.workerId === workerId && rank.dpRank === dpRank)
  }

  #indexOf(rank: number): BlockIndex {
    return rank < RANK_LIMIT ? this.#told : this.#own!
  }
}

function byRank(one: WorkerRank, other: WorkerRank): number {
  if (one.workerId !== other.workerId) return one.workerId < other.workerId ? -1 : 1
  return one.dpRank - other.dpRank
}
