import {
  type BlockHasher,
  type BlockIndex,
  type BlockRun,
  DEVICE,
  type HashWords,
  PrefixIndex,
  PrefixState,
  type PromptBlocks,
  type RemoveOutcome,
  type StoreOutcome,
} from '@router/kv-index'
import { RouterError, SelectionError, type WorkerRank, WyRand } from '@router/sdk'
import { bad } from '../load/booking-checks.js'
import type { BookingBudget, PotentialLoad } from '../load/booking.js'
import { LoadLedger } from '../load/load-ledger.js'
import type { SelectionRequest, SelectionResult } from '../request.js'
import type { Partition } from '../router-core.js'
import {
  checkBlocks,
  checkExpectedOutput,
  checkGenerated,
  checkRun,
  checkTier,
  checkWords,
} from './checks.js'
import { EventIndex } from './event-index.js'
import { type RoutedExplanation, explained, selectFor } from './explained-selection.js'
import { LiveBookings } from './live-bookings.js'
import { OverlapColumns } from './overlap-columns.js'
import { PromptLookup } from './prompt-lookup.js'
import {
  type MutableRequest,
  type PromptRequest,
  type RankBooking,
  type ReservedRequest,
  takeCallerFields,
} from './prompt-request.js'
import { type RankOverlap, overlapsOfWorker, rankOverlaps } from './rank-overlaps.js'
import { RequestBookings } from './request-bookings.js'
import { RequestHashes } from './request-hashes.js'
import { type ResolvedConfig, retentionOf } from './router-config.js'
import { type PartitionSnapshot, snapshotOf } from './snapshot.js'
import { StageTimes } from './stage-times.js'
import { type RoutedWorker, WorkerSources } from './worker-sources.js'

/** Blocks, entries or runs that one `tick` gives back of each kind. */
const sweptAtOnce = 10_000
/** Entries of the index for a block that ranks advertise, where the bound follows those. */
const capacityShare = 4

/** What a partition's router shares with the others of its core. */
export interface PartitionServices {
  readonly config: ResolvedConfig
  readonly hasher: BlockHasher
  readonly budget: BookingBudget
  readonly nowMs: () => number
  readonly entropy: () => bigint
  readonly onRankDropped?: ((rank: WorkerRank) => void) | undefined
}

/**
 * From state to decision, for one partition and role: it keeps what the ranks hold (index) and do (books), selects over both, and
 * books what it selected. One owner, called serially; it does no I/O. See `docs/state.md`.
 */
export class PartitionRouter {
  readonly partition: Partition
  readonly blockSize: number
  readonly ledger: LoadLedger
  readonly prefix: PrefixState
  /** The exact index, for whoever applies engine events; ranks are slots of the table (`slotOf`). */
  readonly index: BlockIndex
  /** Of the last `select` or `reserve`. */
  readonly stages: StageTimes
  readonly #config: ResolvedConfig
  readonly #nowMs: () => number
  readonly #overlaps: OverlapColumns
  readonly #lookup: PromptLookup
  readonly #hashes: RequestHashes
  readonly #live: LiveBookings
  readonly #bookings: RequestBookings
  readonly #workers: WorkerSources
  readonly #indexes: PrefixIndex[] = []
  #isSelecting = false
  #isDisposed = false
  // Filled anew for each selection.
  readonly #request = {} as MutableRequest

  constructor(partition: Partition, services: PartitionServices) {
    const { table, role } = partition
    const { config, hasher, budget, nowMs, entropy, onRankDropped } = services
    const { blockSize, maxIndexBlocks, routerDefaults, bookingExpiry } = config
    const tracksBlocks = config.tracksActiveBlocks && role !== 'prefill'
    this.partition = partition
    this.blockSize = blockSize
    this.#config = config
    this.#nowMs = nowMs
    this.stages = new StageTimes(nowMs)
    const isFixed = maxIndexBlocks !== undefined && maxIndexBlocks !== 0
    const indexOptions = { blockSize, ...(isFixed ? { maxBlocks: maxIndexBlocks } : {}) }
    this.prefix = new PrefixState({
      createIndex: () => {
        const index = new PrefixIndex(indexOptions)
        this.#indexes.push(index)
        return index
      },
      ...retentionOf(config),
    })
    const weights = { host: routerDefaults.host_cache_hit_weight, disk: routerDefaults.disk_cache_hit_weight }
    this.#overlaps = new OverlapColumns(table, blockSize, weights)
    this.#lookup = new PromptLookup(table, this.prefix, this.#overlaps)
    const index = this.#indexes[0]!
    this.index = new EventIndex(index, this.#overlaps, () => this.#workers.dropHeaviest(index))
    this.#hashes = new RequestHashes(config, tracksBlocks, hasher, new WyRand(entropy()))
    // Listens to the table from here on: what may throw for its options comes before.
    this.ledger = new LoadLedger({
      table,
      nowMs,
      budget,
      tracksBlocks,
      modelsPrefillTime: config.prefillMs !== undefined,
      ...(bookingExpiry === undefined ? {} : { expiry: bookingExpiry }),
    })
    const { ledger, prefix } = this
    const defaultMaximum = index.maxBlocks
    const onCapacity = (blocks: number) => {
      index.maxBlocks = blocks > 0 ? Math.min(capacityShare * blocks, 2 ** 30) : defaultMaximum
    }
    this.#workers = new WorkerSources({
      table,
      ledger,
      prefix,
      overlaps: this.#overlaps,
      onRankDropped,
      ...(maxIndexBlocks === 0 ? { onCapacity } : {}),
    })
    const tracksOutput = tracksBlocks && config.tracksOutputBlocks
    this.#live = new LiveBookings(prefix, ledger, { blockSize, tracksOutput })
    this.#bookings = new RequestBookings(config, ledger, this.#live, this.#hashes)
  }

  /**
   * Adds a worker or replaces its record; ranks that stay keep what is known of them, unless `incarnationId` is another than before.
   * Error: `ROUTER_BAD_REQUEST`.
   */
  upsertWorker(worker: RoutedWorker): void {
    if (this.#isDisposed) throw new TypeError('a router takes no workers after dispose()')
    this.#workers.upsert(worker)
  }

  /** Forgets a worker: its ranks' blocks, bookings and beliefs. False when it was unknown. */
  removeWorker(workerId: bigint): boolean {
    return this.partition.table.removeWorker(workerId)
  }

  /** The worker's engine is another process now: nothing is inherited (host.md 2.10). False when it is unknown. */
  restartWorker(workerId: bigint): boolean {
    return this.#workers.restart(workerId)
  }

  /** Slot of a rank, `undefined` = the partition has no such rank (any more): what `WorkerEvents` asks for as `slotOf`. */
  findSlot(workerId: bigint, dpRank: number): number | undefined {
    const slot = this.partition.table.slotOf(workerId, dpRank)
    return slot < 0 ? undefined : slot
  }

  /** Slot of a rank, which names it in `index`. Error: `ROUTER_NOT_FOUND`. */
  slotOf(workerId: bigint, dpRank: number): number {
    const slot = this.findSlot(workerId, dpRank)
    if (slot !== undefined) return slot
    const message = `no rank ${dpRank} of worker ${workerId} in this partition`
    throw new RouterError('ROUTER_NOT_FOUND', message, { workerId, dpRank })
  }

  /** A rank's engine stored blocks. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`; refusals are the outcome. */
  stored(workerId: bigint, dpRank: number, run: BlockRun, tier: number = DEVICE): StoreOutcome {
    checkRun(run)
    checkTier(tier)
    return this.index.store(this.#eventSlot(workerId, dpRank), tier, run)
  }

  /** A rank's engine dropped blocks. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`. */
  removed(workerId: bigint, dpRank: number, engine: HashWords, tier: number = DEVICE): RemoveOutcome {
    checkWords('engine', engine)
    checkTier(tier)
    return this.index.remove(this.#eventSlot(workerId, dpRank), tier, engine, 0, engine.length >> 1)
  }

  /** A rank's engine dropped everything. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`. */
  cleared(workerId: bigint, dpRank: number): void {
    this.index.removeRank(this.#eventSlot(workerId, dpRank))
  }

  /** Whether what a rank holds is known, as its event source says. Errors: `ROUTER_NOT_FOUND`, `ROUTER_BAD_REQUEST`. */
  setCacheKnown(workerId: bigint, dpRank: number, isKnown: boolean): void {
    this.#overlaps.setKnown(this.#eventSlot(workerId, dpRank), isKnown)
  }

  /** Where a request would go now. A query: it leaves no trace. Errors: those of `Selector.select` and of hashing. */
  select(request: PromptRequest): SelectionResult {
    this.#enter()
    try {
      return this.partition.selector.select(this.#prepare(request, 'query'))
    } finally {
      this.stages.scheduled()
      this.#isSelecting = false
    }
  }

  /**
   * Selects a rank and books the request there, or does neither. Errors: `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`, those of
   * `Selector.select` and of hashing.
   */
  reserve(request: ReservedRequest): SelectionResult {
    const { requestId } = request
    if (typeof requestId !== 'string') throw bad('requestId', requestId, 'a string')
    this.ledger.checkAdmission(requestId)
    this.#enter()
    try {
      const prepared = this.#prepare(request, 'tracked')
      const result = selectFor(this.partition, prepared, request.onExplained)
      this.#bookings.addSelected(request, prepared, result, this.stages.sinceMs)
      this.stages.scheduled()
      return result
    } catch (error) {
      this.#hashes.takeBack()
      throw error
    } finally {
      this.#isSelecting = false
    }
  }

  /**
   * Books a request on the rank that its caller chose, whatever policy, taints and load say. Errors, each leaving everything as it was:
   * `ROUTER_NOT_FOUND`, `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`, `ROUTER_BAD_REQUEST`.
   */
  book(booking: RankBooking): void {
    const slot = this.slotOf(booking.workerId, booking.dpRank)
    this.#bookings.addAt(slot, booking)
    const { requestId, blocks, isDispatched } = booking
    if (isDispatched !== false && blocks.local.length > 0)
      this.#live.dispatch(requestId, slot, blocks, this.#nowMs())
  }

  /**
   * The request went out: a rank without events is believed to hold its blocks from now on, and every rank its content chunks. False when it
   * is not booked. Error: `ROUTER_BAD_REQUEST`.
   */
  noteDispatched(requestId: string, blocks: PromptBlocks, chunks?: PromptBlocks): boolean {
    const slot = this.ledger.slotOf(requestId)
    if (slot < 0) return false
    checkBlocks(blocks)
    if (chunks !== undefined) checkBlocks(chunks)
    this.#live.dispatch(requestId, slot, blocks, this.#nowMs(), chunks)
    return true
  }

  /** The first token came. False when its prefill is not booked (any more). */
  markPrefillCompleted(requestId: string): boolean {
    return this.ledger.markPrefillCompleted(requestId)
  }

  /**
   * So many tokens were generated so far, at most 2^24: a sign of life, and blocks where output blocks are tracked. False when not
   * booked. Error: `ROUTER_BAD_REQUEST`.
   * @param blocks prompt and output, hashed: a rank retained by LRU is believed to hold the new ones. Absent = unknown
   */
  noteOutput(requestId: string, generatedTokens: number, blocks?: PromptBlocks): boolean {
    checkGenerated(generatedTokens)
    if (blocks !== undefined) checkBlocks(blocks)
    if (!this.ledger.touch(requestId)) return false
    this.#live.noteOutput(requestId, generatedTokens, blocks)
    return true
  }

  /** Frees a request, however it ended. False when it is not booked (any more). */
  free(requestId: string): boolean {
    if (!this.ledger.free(requestId)) return false
    this.#live.release(requestId)
    return true
  }

  /** Takes a selection apart. A query, whatever the policy. Errors: those of hashing. */
  explain(request: PromptRequest): RoutedExplanation {
    return this.#ask(request, (prepared) => explained(this.partition, prepared))
  }

  /** The load of every rank with this request. A query. Errors: those of hashing. */
  potentialLoads(request: PromptRequest): PotentialLoad[] {
    return this.#ask(request, ({ tracksPrefillTokens = true }) => {
      const { rowOfSlot, columns } = this.partition.table
      const { estimateTokens } = columns.views.cache!
      const { tracked, trackedCount, promptTokens } = this.#hashes
      return this.ledger.potentialLoads({
        promptTokens,
        tracksPrefillTokens,
        ...(tracked === undefined ? {} : { hashes: tracked, hashCount: trackedCount }),
        // NaN where the cache state is unknown.
        cachedTokens: (slot) => estimateTokens[rowOfSlot[slot]!]! || 0,
      })
    })
  }

  /** What every rank holds of a prompt, in canonical order. A query. Errors: those of hashing. */
  overlaps(request: PromptRequest): RankOverlap[] {
    const { table } = this.partition
    return this.#ask(request, () => rankOverlaps(table, 0, table.count))
  }

  /** The same of one worker and the request of the last call, while no worker joins or leaves; empty when it is unknown. */
  lastOverlapsOf(workerId: bigint): RankOverlap[] {
    return overlapsOfWorker(this.partition.table, workerId)
  }

  /** What is due: expired bookings and blocks, memory of ranks that left. To be called every now and then; bounded work. */
  tick(): void {
    this.ledger.sweep()
    this.#live.releaseGone()
    this.prefix.expire(this.#nowMs(), sweptAtOnce)
    for (const index of this.#indexes) index.sweep(sweptAtOnce)
  }

  /** Everything that a query must leave as it was, as plain values. What is due by now leaves first. `O(ranks)`, allocates. */
  snapshot(): PartitionSnapshot {
    this.prefix.expire(this.#nowMs())
    return snapshotOf(this.partition, this.ledger, this.prefix, (slot) => this.#overlaps.isKnown(slot))
  }

  /** Drops everything and gives it back. The router selects no more. */
  dispose(): void {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#workers.dispose()
    this.ledger.dispose()
  }

  /** A selection begins; whoever calls says when it ends. A policy that routes while it is asked would change its own columns. */
  #enter(): void {
    if (this.#isSelecting) {
      const message = 'a selection was started from inside a selection'
      throw new SelectionError('ROUTER_SELECTION_REENTERED', message)
    }
    if (this.#isDisposed) throw new TypeError('a router selects no more after dispose()')
    this.#isSelecting = true
  }

  /** A query that may allocate. */
  #ask<T>(request: PromptRequest, answer: (prepared: SelectionRequest) => T): T {
    this.#enter()
    try {
      return answer(this.#prepare(request, 'query'))
    } finally {
      this.#isSelecting = false
    }
  }

  /** State of the ranks as one more request finds it, in the columns; and the request as the selector takes it. */
  #prepare(request: PromptRequest, mode: SelectionRequest['mode']): SelectionRequest {
    // First: whoever fails from here on takes the draws of this request back, and not those of the one before.
    const hashes = this.#hashes
    this.stages.begin()
    hashes.take(request, mode === 'query')
    checkExpectedOutput(request.expectedOutputTokens)
    const hasMatches = this.#lookup.run(hashes.blocks, request, this.stages.hashed())
    this.stages.matched()
    this.ledger.project(hashes.tracked, hashes.trackedCount)
    const prepared = this.#request
    prepared.mode = mode
    prepared.promptTokens = hashes.promptTokens
    prepared.blockSize = this.blockSize
    prepared.prefixHashes = hashes.prefixHashes
    prepared.hasTierMatches = hasMatches
    prepared.tracksPrefillTokens = request.tracksPrefillTokens ?? this.#config.tracksPrefillTokens
    takeCallerFields(prepared, request)
    return prepared
  }

  /** Slot of a rank whose engine tells what it holds. */
  #eventSlot(workerId: bigint, dpRank: number): number {
    const slot = this.slotOf(workerId, dpRank)
    if (this.#workers.hasEvents(workerId)) return slot
    const message = `worker ${workerId} was added without hasEvents: what it holds is not told but believed`
    throw new RouterError('ROUTER_BAD_REQUEST', message, { workerId })
  }
}
