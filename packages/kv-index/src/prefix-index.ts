import type { BlockIndex, BlockRun, OverlapTarget, RemoveOutcome, StoreOutcome } from './block-index.js'
import { DeviceLookup } from './device-lookup.js'
import { DeviceTier } from './device-tier.js'
import { type IndexDump, dumpOf, restoreInto } from './dump.js'
import { KvIndexError } from './errors.js'
import type { HashWords } from './hash-words.js'
import { HolderRegistry } from './holder-registry.js'
import { LowerTier } from './lower-tier.js'
import { LowerWalk } from './lower-walk.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import { MAX_HOLDERS } from './pool/edge-holders.js'
import { includes } from './run-words.js'
import { Seats } from './seats.js'
import { DEVICE, TIERS } from './tier.js'

export interface PrefixIndexOptions {
  /** Tokens a block; whole, positive. */
  readonly blockSize: number
  /** The most (rank, block) entries on all tiers together. Default 2^24. */
  readonly maxBlocks?: number
}

/** Sizes of an index, for gauges. */
export interface PrefixIndexStats {
  /** (rank, block) entries by tier; those of ranks that were removed count on lower tiers until they are swept. */
  readonly entries: Readonly<Record<(typeof TIERS)[number], number>>
  /** Different blocks held by somebody, all tiers. */
  readonly liveBlocks: number
  /** Room for blocks, all tiers. */
  readonly allocatedBlocks: number
  /** Runs of blocks, all tiers. */
  readonly edges: number
  /** Ranks that hold something or did since they were last removed. */
  readonly ranks: number
  /** Removed ranks whose memory has not come back yet. */
  readonly dyingRanks: number
  /** Names that one rank has at several places. */
  readonly ambiguousNames: number
  /** What the columns, records and tables take; the heap objects around them are not counted. */
  readonly bytes: number
}

/** Edges swept with every store and removal while there is something to sweep. */
const SWEEP_SHARE = 64
const DEFAULT_MAX_BLOCKS = 2 ** 24

/**
 * The prefix index of one partition (host.md 3): which rank holds which blocks on which tier. Runs of blocks are edges of a tree for all
 * ranks together; see `docs/state.md`.
 *
 * Bounds: `maxBlocks` entries, then stores answer `capacity`; 32,768 ranks. Deviations: a rank that names one content twice
 * has two chains of it, each with blocks of its own.
 */
export class PrefixIndex implements BlockIndex {
  readonly blockSize: number
  #maxBlocks: number
  readonly #registry = new HolderRegistry()
  readonly #device = new DeviceTier(this.#registry)
  readonly #lookup = new DeviceLookup(this.#device.tree, this.#registry)
  // Built with the first block of their tier; index 0 stays empty.
  readonly #lower: (LowerTier | undefined)[] = TIERS.map(() => undefined)
  readonly #walk = new LowerWalk(this.#registry)
  readonly #seats = new Seats()
  // Dying holders that were dying when the current sweep began, and the tier it is at.
  #swept = 0
  #sweepTier = 0

  /** Errors: `KV_INDEX_BLOCK_SIZE_INVALID`, `KV_INDEX_OPTION_INVALID`. */
  constructor(options: PrefixIndexOptions) {
    const { blockSize, maxBlocks = DEFAULT_MAX_BLOCKS } = options
    if (!Number.isInteger(blockSize) || blockSize <= 0) {
      throw new KvIndexError(
        'KV_INDEX_BLOCK_SIZE_INVALID',
        `blockSize ${String(blockSize)} is no whole number above 0`,
        { value: blockSize },
      )
    }
    this.blockSize = blockSize
    this.#maxBlocks = checkedMaximum(maxBlocks)
  }

  /** The most (rank, block) entries on all tiers together. Setting it drops nothing. Error: `KV_INDEX_OPTION_INVALID`. */
  get maxBlocks(): number {
    return this.#maxBlocks
  }

  set maxBlocks(maxBlocks: number) {
    this.#maxBlocks = checkedMaximum(maxBlocks)
  }

  get currentSize(): number {
    return this.#registry.deviceBlocks
  }

  sizeOf(rank: number): number {
    const holder = this.#registry.find(rank)
    return holder < 0 ? 0 : this.#registry.blocksOf[holder]!
  }

  /** Errors: `KV_INDEX_RANK_INVALID`, `KV_INDEX_TIER_INVALID`, `KV_INDEX_RUN_INVALID`. `O(blocks)`, and the edges that already hold part of the run. */
  store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    checkTier(tier)
    checkRun(run)
    const holder = this.#registry.of(rank)
    if (this.#registry.dying.length > 0) this.sweep(SWEEP_SHARE + run.count)
    if (run.hasParent && includes(run.engine, run.start, run.count, run.parentLow, run.parentHigh)) {
      return 'invalid_sequence'
    }
    const { entries } = this.#registry
    if (entries + run.count > this.maxBlocks && entries + this.#newBlocks(rank, tier, run) > this.maxBlocks) {
      return 'capacity'
    }
    if (tier === DEVICE) return this.#device.store(holder, run)
    const lower = (this.#lower[tier] ??= new LowerTier(this.#registry))
    lower.store(holder, run)
    return 'ok'
  }

  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome {
    const holder = this.#registry.find(rank)
    if (this.#registry.dying.length > 0) this.sweep(SWEEP_SHARE + count)
    if (tier === DEVICE) {
      const isComplete = holder < 0 ? count === 0 : this.#device.remove(holder, engine, start, count)
      return isComplete ? 'ok' : 'block_not_found'
    }
    if (holder >= 0) this.#lower[tier]?.remove(holder, engine, start, count)
    return 'ok'
  }

  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean {
    const holder = this.#registry.find(rank)
    if (holder < 0) return false
    if (tier === DEVICE) return this.#device.names.placeOf(holder, engineLow | 0, engineHigh | 0) >= 0
    return this.#lower[tier]?.holds(holder, engineLow | 0, engineHigh | 0) ?? false
  }

  removeRank(rank: number): void {
    const holder = this.#registry.retire(rank)
    if (holder < 0) return
    this.#device.names.forgetHolder(holder)
    if (this.#registry.dying.length >= MAX_HOLDERS / 2) this.sweep()
  }

  lookup(local: HashWords, count: number, target: OverlapTarget, stopsEarly = false): void {
    clear(target)
    if (count === 0) return
    const hasLower = !stopsEarly && this.#registry.lowerBlocks > 0
    this.#lookup.walk(local, count, target, hasLower, stopsEarly)
    if (hasLower) this.#extend(local, count, target)
  }

  /**
   * Gives back what removed ranks held, about `edges` runs at a time (default all). Stores and removals do it along the way; an idle
   * host may call it.
   * @returns whether something is left to do
   */
  sweep(edges = Number.POSITIVE_INFINITY): boolean {
    const { dying } = this.#registry
    let left = edges
    while (dying.length > 0 && left > 0) {
      if (this.#swept === 0) {
        this.#swept = dying.length
        this.#sweepTier = 0
      }
      const tier = this.#sweepTier === DEVICE ? this.#device : this.#lower[this.#sweepTier]
      if (tier?.sweep(left) === true) return true
      // A tier that came to its end used part of the share; a quarter is taken for the whole of it.
      if (Number.isFinite(edges)) left -= Math.ceil(edges / 4)
      if (++this.#sweepTier < TIERS.length) continue
      this.#registry.free(this.#swept)
      this.#swept = 0
    }
    return dying.length > 0
  }

  /**
   * The rank with the most entries beyond its capacity, on all tiers, for a host that must make room; -1 = no rank holds any.
   * @param capacityOf advertised blocks by rank; missing or NaN = 0
   */
  heaviestRank(capacityOf: ArrayLike<number> = []): number {
    const { rankOf, blocksOf, lowerBlocksOf } = this.#registry
    let heaviest = -1
    let most = Number.NEGATIVE_INFINITY
    for (const [holder, rank] of rankOf.entries()) {
      const held = blocksOf[holder]! + lowerBlocksOf[holder]!
      if (rank < 0 || held === 0) continue
      const beyond = held - (capacityOf[rank] || 0)
      if (beyond <= most) continue
      heaviest = rank
      most = beyond
    }
    return heaviest
  }

  /** Everything that matches, as stores (host.md 3.7). `O(entries)`, allocates all of it. */
  dump(): IndexDump {
    return dumpOf(this.blockSize, this.#registry, this.#device, this.#lower)
  }

  /**
   * Stores a dump; what is held already stays as it is. Nothing is stored when the dump cannot be.
   * @param rankOf the rank to store under, by rank of the dump; `undefined` = leave it out. Default: the same
   * Errors: `KV_INDEX_DUMP_INVALID`, also for another block size or a dump that was cut short.
   */
  restore(dump: IndexDump, rankOf: (rank: number) => number | undefined = (rank) => rank): void {
    restoreInto(this, dump, rankOf)
  }

  stats(): PrefixIndexStats {
    const { tree, names } = this.#device
    const tiers = [tree, ...this.#lower.flatMap((tier) => tier?.blocks ?? [])]
    const slots = names.capacity + tree.childEntries
    const lowerSlots = this.#lower.reduce((sum, tier) => sum + (tier?.blocks.tableEntries ?? 0), 0)
    const sumOf = (size: (tier: (typeof tiers)[number]) => number) =>
      tiers.reduce((sum, tier) => sum + size(tier), 0)
    return {
      entries: {
        device: this.#registry.deviceBlocks,
        host_pinned: this.#lower[1]?.heldBlocks ?? 0,
        disk: this.#lower[2]?.heldBlocks ?? 0,
        external: this.#lower[3]?.heldBlocks ?? 0,
      },
      liveBlocks: names.size + this.#lower.reduce((sum, tier) => sum + (tier?.blocks.liveBlocks ?? 0), 0),
      allocatedBlocks: sumOf(({ pool }) => pool.capacity),
      edges: sumOf(({ edges }) => edges),
      ranks: this.#registry.ranks,
      dyingRanks: this.#registry.dying.length,
      ambiguousNames: names.ambiguous,
      bytes: 8 * (slots + lowerSlots) + sumOf(({ pool, records }) => 20 * pool.capacity + 4 * records.words),
    }
  }

  /** Blocks of a run that the rank does not hold by name. */
  #newBlocks(rank: number, tier: number, { engine, start, count }: BlockRun): number {
    let blocks = 0
    for (let at = 2 * start; at < 2 * (start + count); at += 2) {
      if (!this.holds(rank, tier, engine[at]!, engine[at + 1]!)) blocks++
    }
    return blocks
  }

  /** Lower tiers, each from where the faster ones ended. */
  #extend(local: HashWords, count: number, target: OverlapTarget): void {
    const seats = this.#seats
    const { ends, endHolders, twinEnds } = this.#lookup
    target.hasLowerBlocks = true
    seats.reset(target.deviceBlocks.length)
    const { engine } = this.#device.tree.pool
    for (let index = 0; index < target.count; index++) {
      const row = target.rows[index]!
      const end = ends[row]!
      const names = engine[end >>> BLOCK_SHIFT]!
      const at = 2 * (end & BLOCK_MASK)
      seats.enter(row, endHolders[row]!, target.deviceBlocks[row]!, names[at]!, names[at + 1]!)
    }
    for (let twin = 0; twin < twinEnds.length; twin += 4) {
      const row = twinEnds[twin]!
      if (twinEnds[twin + 3] !== target.deviceBlocks[row]) continue
      const end = twinEnds[twin + 2]!
      const names = engine[end >>> BLOCK_SHIFT]!
      const at = 2 * (end & BLOCK_MASK)
      seats.enter(row, twinEnds[twin + 1]!, twinEnds[twin + 3]!, names[at]!, names[at + 1]!)
    }
    for (let tier = DEVICE + 1; tier < TIERS.length; tier++) {
      const lower = this.#lower[tier]
      if (lower === undefined || lower.blocks.edges === 0) continue
      this.#walk.walk(lower.blocks, local, count, seats, target.rowOfRank)
      seats.settle(columnOf(target, tier), target)
    }
  }
}

function checkedMaximum(maxBlocks: number): number {
  if (Number.isInteger(maxBlocks) && maxBlocks > 0 && maxBlocks <= 2 ** 30) return maxBlocks
  throw new KvIndexError(
    'KV_INDEX_OPTION_INVALID',
    `maxBlocks ${String(maxBlocks)} is no whole number from 1 to ${2 ** 30}`,
    { option: 'maxBlocks', value: maxBlocks, accepted: 'a whole number from 1 to 2^30' },
  )
}

function checkTier(tier: number): void {
  if (TIERS[tier] !== undefined) return
  const message = `tier ${String(tier)} is none of 0 to ${TIERS.length - 1}: ${TIERS.join(', ')}`
  throw new KvIndexError('KV_INDEX_TIER_INVALID', message, { tier })
}

function checkRun({ engine, local, start, count }: BlockRun): void {
  const present = Math.min(engine.length, local.length) >> 1
  if (start >= 0 && count >= 0 && start + count <= present) return
  const message = `a run of ${String(count)} blocks from ${String(start)} on does not lie in the ${present} hashes given`
  throw new KvIndexError('KV_INDEX_RUN_INVALID', message, { start, count, present })
}

function columnOf(target: OverlapTarget, tier: number): Float64Array {
  if (tier === 1) return target.hostBlocks
  return tier === 2 ? target.diskBlocks : target.externalBlocks
}

function clear(target: OverlapTarget): void {
  const { rows, deviceBlocks, hostBlocks, diskBlocks, externalBlocks } = target
  const { count } = target
  for (let index = 0; index < count; index++) deviceBlocks[rows[index]!] = 0
  for (let index = 0; target.hasLowerBlocks && index < count; index++) {
    const row = rows[index]!
    hostBlocks[row] = 0
    diskBlocks[row] = 0
    externalBlocks[row] = 0
  }
  target.hasLowerBlocks = false
  target.count = 0
}
