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
import { RouterError, WyRand } from '@router/sdk'
import type { SelectionExplanation } from '../explanation.js'
import { type BookingBudget, type PotentialLoad, effectivePrefillTokens } from '../load/booking.js'
import { LoadLedger } from '../load/load-ledger.js'
import type { SelectionRequest, SelectionResult } from '../request.js'
import type { Partition } from '../router-core.js'
import type { WorkerRecord } from '../worker-record.js'
import { EventIndex } from './event-index.js'
import { LiveBookings } from './live-bookings.js'
import { OverlapColumns } from './overlap-columns.js'
import type { PromptRequest, ReservedRequest } from './prompt-request.js'
import { RequestHashes } from './request-hashes.js'
import type { ResolvedConfig } from './router-config.js'
import { type PartitionSnapshot, snapshotOf } from './snapshot.js'

/** A worker, and how the router learns what it holds. */
export type RoutedWorker = WorkerRecord & {
  /**
   * Its engine tells what it holds: its cache state is unknown until the first event. Default false: the router believes what its own
   * decisions suggest.
   */
  readonly hasEvents?: boolean | undefined
}

/** What a partition's router shares with the others of its core. */
export interface PartitionServices {
  readonly config: ResolvedConfig
  readonly hasher: BlockHasher
  readonly budget: BookingBudget
  readonly nowMs: () => number
  readonly entropy: () => bigint
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
  readonly #config: ResolvedConfig
  readonly #nowMs: () => number
  readonly #overlaps: OverlapColumns
  readonly #hashes: RequestHashes
  readonly #bookings: LiveBookings
  readonly #workers = new Map<bigint, { hasEvents: boolean; incarnation: number }>()
  readonly #stopListening: () => void
  // Filled anew for each selection.
  readonly #request = {} as { -readonly [K in keyof SelectionRequest]: SelectionRequest[K] }

  constructor(partition: Partition, services: PartitionServices) {
    const { table, role } = partition
    const { config, hasher, budget, nowMs, entropy } = services
    const { blockSize, maxIndexBlocks, routerDefaults, bookingExpiry } = config
    const tracksBlocks = config.tracksActiveBlocks && role !== 'prefill'
    this.partition = partition
    this.blockSize = blockSize
    this.#config = config
    this.#nowMs = nowMs
    this.ledger = new LoadLedger({
      table,
      nowMs,
      budget,
      tracksBlocks,
      modelsPrefillTime: config.prefillMs !== undefined,
      ...(bookingExpiry === undefined ? {} : { expiry: bookingExpiry }),
    })
    this.prefix = new PrefixState({
      createIndex: () =>
        new PrefixIndex({
          blockSize,
          ...(maxIndexBlocks === undefined ? {} : { maxBlocks: maxIndexBlocks }),
        }),
      ...(config.approximate === undefined ? {} : { lifetime: config.approximate }),
      ...(config.approximateCachePolicy === undefined
        ? {}
        : { approximateCachePolicy: config.approximateCachePolicy }),
      ...(config.predictedTtlMs === undefined ? {} : { predictedTtlMs: config.predictedTtlMs }),
    })
    const weights = { host: routerDefaults.host_cache_hit_weight, disk: routerDefaults.disk_cache_hit_weight }
    this.#overlaps = new OverlapColumns(table, blockSize, weights)
    this.index = new EventIndex(this.prefix.index, this.#overlaps)
    this.#hashes = new RequestHashes(config, tracksBlocks, hasher, new WyRand(entropy()))
    this.#bookings = new LiveBookings(blockSize, config.tracksOutputBlocks, this.prefix.lru !== undefined)
    this.#stopListening = table.onSlots((dropped) => {
      for (const slot of dropped) this.prefix.removeRank(slot)
    })
  }

  /** Adds a worker or replaces its record; ranks that stay keep what is known of them. Error: `ROUTER_BAD_REQUEST`. */
  upsertWorker(worker: RoutedWorker): void {
    const { hasEvents = false, ...record } = worker
    const { table } = this.partition
    table.upsertWorker(record)
    const known = this.#workers.get(record.workerId)
    this.#workers.set(record.workerId, { hasEvents, incarnation: known?.incarnation ?? 0 })
    this.#setRanks(record.workerId)
  }

  /** Forgets a worker: its ranks' blocks, bookings and beliefs. False when it was unknown. */
  removeWorker(workerId: bigint): boolean {
    this.#workers.delete(workerId)
    return this.partition.table.removeWorker(workerId)
  }

  /** The worker's engine is another process now: nothing is inherited (host.md 2.10). False when it is unknown. */
  restartWorker(workerId: bigint): boolean {
    const worker = this.#workers.get(workerId)
    if (worker === undefined) return false
    worker.incarnation++
    this.ledger.dropWorker(workerId)
    this.#setRanks(workerId)
    return true
  }

  /** Slot of a rank, which names it in `index`. Error: `ROUTER_NOT_FOUND`. */
  slotOf(workerId: bigint, dpRank: number): number {
    const slot = this.partition.table.slotOf(workerId, dpRank)
    if (slot >= 0) return slot
    const message = `no rank ${dpRank} of worker ${workerId} in this partition`
    throw new RouterError('ROUTER_NOT_FOUND', message, { workerId, dpRank })
  }

  /** A rank's engine stored blocks. Error: `ROUTER_NOT_FOUND`; refusals are the outcome. */
  stored(workerId: bigint, dpRank: number, run: BlockRun, tier: number = DEVICE): StoreOutcome {
    return this.index.store(this.slotOf(workerId, dpRank), tier, run)
  }

  /** A rank's engine dropped blocks. Error: `ROUTER_NOT_FOUND`. */
  removed(workerId: bigint, dpRank: number, engine: HashWords, tier: number = DEVICE): RemoveOutcome {
    return this.index.remove(this.slotOf(workerId, dpRank), tier, engine, 0, engine.length >> 1)
  }

  /** A rank's engine dropped everything. Error: `ROUTER_NOT_FOUND`. */
  cleared(workerId: bigint, dpRank: number): void {
    this.index.removeRank(this.slotOf(workerId, dpRank))
  }

  /** Whether what a rank holds is known, as its event source says. Error: `ROUTER_NOT_FOUND`. */
  setCacheKnown(workerId: bigint, dpRank: number, isKnown: boolean): void {
    this.#overlaps.setKnown(this.slotOf(workerId, dpRank), isKnown)
  }

  /** Where a request would go now. A query: it leaves no trace. Errors: those of `Selector.select` and of hashing. */
  select(request: PromptRequest): SelectionResult {
    return this.partition.selector.select(this.#prepare(request, 'query'))
  }

  /**
   * Selects a rank and books the request there, or does neither. Errors: `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`, those of
   * `Selector.select` and of hashing.
   */
  reserve(request: ReservedRequest): SelectionResult {
    this.ledger.checkAdmission(request.requestId)
    const prepared = this.#prepare(request, 'tracked')
    const result = this.partition.selector.select(prepared)
    this.#book(request, prepared, result)
    if (request.isDispatched !== false) this.noteDispatched(request.requestId, this.#hashes.blocks)
    return result
  }

  /** The request went out: a rank without events is believed to hold its blocks from now on. False when it is not booked. */
  noteDispatched(requestId: string, blocks: PromptBlocks): boolean {
    const slot = this.ledger.slotOf(requestId)
    if (slot < 0) return false
    this.#bookings.dispatch(this.prefix, requestId, slot, blocks, this.#nowMs())
    return true
  }

  /** The first token came. False when its prefill is not booked (any more). */
  markPrefillCompleted(requestId: string): boolean {
    return this.ledger.markPrefillCompleted(requestId)
  }

  /** So many tokens were generated so far: a sign of life, and blocks where output blocks are tracked. False when not booked. */
  noteOutput(requestId: string, generatedTokens: number): boolean {
    if (!this.ledger.touch(requestId)) return false
    this.#bookings.noteOutput(this.ledger, requestId, generatedTokens)
    return true
  }

  /** Frees a request, however it ended. False when it is not booked (any more). */
  free(requestId: string): boolean {
    if (!this.ledger.free(requestId)) return false
    this.#bookings.release(this.prefix, requestId)
    return true
  }

  /** Takes a selection apart. A query, whatever the policy. Errors: those of hashing. */
  explain(request: PromptRequest): SelectionExplanation {
    return this.partition.selector.explain(this.#prepare(request, 'query'))
  }

  /** The load of every rank with this request. */
  potentialLoads(request: PromptRequest): PotentialLoad[] {
    this.#prepare(request, 'query')
    const { cache } = this.partition.table.columns.views
    const { tracked, trackedCount, promptTokens } = this.#hashes
    return this.ledger.potentialLoads({
      promptTokens,
      tracksPrefillTokens: request.tracksPrefillTokens ?? this.#config.tracksPrefillTokens,
      ...(tracked === undefined ? {} : { hashes: tracked, hashCount: trackedCount }),
      cachedTokens: (slot) => cache!.estimateTokens[this.partition.table.rowOfSlot[slot]!]! || 0,
    })
  }

  /** What is due: expired bookings and blocks, memory of ranks that left. To be called every now and then; bounded work. */
  tick(): void {
    this.ledger.sweep()
    this.#bookings.releaseGone(this.prefix, this.ledger)
    this.prefix.expire(this.#nowMs(), 10_000)
  }

  /** Everything that a query must leave as it was, as plain values. `O(ranks)`, allocates. */
  snapshot(): PartitionSnapshot {
    return snapshotOf(this.partition, this.ledger, this.prefix, (slot) => this.#overlaps.isKnown(slot))
  }

  dispose(): void {
    this.#stopListening()
    this.ledger.dispose()
  }

  /** State of the ranks as one more request finds it, in the columns; and the request as the selector takes it. */
  #prepare(request: PromptRequest, mode: SelectionRequest['mode']): SelectionRequest {
    const hashes = this.#hashes
    hashes.take(request, mode === 'query')
    const overlaps = this.#overlaps
    overlaps.begin()
    this.prefix.lookup(hashes.blocks.local, hashes.blocks.count, this.#nowMs(), overlaps)
    overlaps.finish()
    this.ledger.project(hashes.tracked, hashes.trackedCount)
    const prepared = this.#request
    prepared.mode = mode
    prepared.promptTokens = hashes.promptTokens
    prepared.blockSize = this.blockSize
    prepared.prefixHashes = hashes.prefixHashes
    prepared.hasTierMatches = overlaps.count > 0
    prepared.tracksPrefillTokens = request.tracksPrefillTokens ?? this.#config.tracksPrefillTokens
    prepared.sharedHits = request.sharedHits
    prepared.allowedWorkerIds = request.allowedWorkerIds
    prepared.pinnedWorker = request.pinnedWorker
    prepared.affinityTarget = request.affinityTarget
    prepared.requiredTaints = request.requiredTaints
    prepared.preferredTaints = request.preferredTaints
    prepared.policyClass = request.policyClass
    prepared.sessionContext = request.sessionContext
    prepared.expectedOutputTokens = request.expectedOutputTokens
    prepared.priorityJump = request.priorityJump
    prepared.strictPriority = request.strictPriority
    prepared.routerTemperatureOverride = request.routerTemperatureOverride
    prepared.requiredCacheHits = request.requiredCacheHits
    return prepared
  }

  #book(request: ReservedRequest, { tracksPrefillTokens }: SelectionRequest, result: SelectionResult): void {
    const { promptTokens, tracked, trackedCount } = this.#hashes
    const { slot, cachedTokens } = result
    const prefillTokens = effectivePrefillTokens(promptTokens, cachedTokens, tracksPrefillTokens)
    this.ledger.add({
      requestId: request.requestId,
      slot,
      hashes: tracked,
      hashCount: trackedCount,
      prefillTokens,
      tracksPrefillTokens,
      prefillDurationMs: this.#config.prefillMs?.(prefillTokens, Math.min(cachedTokens, promptTokens)),
      expectedOutputTokens: request.expectedOutputTokens,
      lora: request.loraName ?? undefined,
      isRelayed: request.isRelayed,
    })
    this.#bookings.add(request.requestId, slot, promptTokens)
  }

  #setRanks(workerId: bigint): void {
    const { table } = this.partition
    const { hasEvents, incarnation } = this.#workers.get(workerId)!
    const worker = table.workers[table.workerIndexOf(workerId)]!
    const { dataParallelStartRank: first, dataParallelSize: size, totalKvBlocks } = worker
    for (let dpRank = first; dpRank < first + size; dpRank++) {
      const slot = table.slotOf(workerId, dpRank)
      const isAnew = this.prefix.setRank(slot, { hasEvents, incarnation, capacityBlocks: totalKvBlocks })
      if (isAnew) this.#overlaps.setKnown(slot, !hasEvents)
    }
  }
}
