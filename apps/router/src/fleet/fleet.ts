import {
  type PotentialLoad,
  type PromptRequest,
  type RoutedExplanation,
  type RouterCore,
  type SelectionResult,
  createRouterCore,
} from '@router/core'
import { BlockHasher, type PromptBlocks } from '@router/kv-index'
import { type PolicyBundle, RouterError } from '@router/sdk'
import { type FleetPartition, type PartitionName, keyOf } from './fleet-partition.js'
import { FleetPartitions } from './fleet-partitions.js'
import {
  type BookingTerms,
  type ExplicitReservation,
  type FleetPrompt,
  type FleetRequest,
  type OverlapReport,
  type Placement,
  type Reservation,
  type Selection,
  requestOfCore,
} from './fleet-request.js'
import type { FleetSettings } from './fleet-settings.js'
import type { FleetWarning } from './fleet-worker.js'
import { FleetWorkers } from './fleet-workers.js'
import { SelectionCache } from './selection-cache.js'
import type { DeliveredSelection, SelectionListener } from './selection-measures.js'
import { type HashedBlocks, type MadeSelection, placementOf, selectionOf } from './selection-of.js'

const defaultMaximumPartitions = 1024

/** What a fleet is made of, and what it may use of the world. */
export interface FleetOptions {
  readonly policy: PolicyBundle
  /** Monotonic clock, milliseconds. */
  readonly clock: () => number
  /** Seeds, 64 bits each. */
  readonly random: () => bigint
  readonly settings?: FleetSettings
  readonly onWarning?: (warning: FleetWarning) => void
  /** Addresses of a host name, for event URLs; default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
}

/**
 * Workers, where requests go among them, and what is in flight: what every front door of the router shares. Plain calls, no HTTP; its
 * only sockets are those on which engines tell what they hold. Call `tick` about once a second.
 */
export class Fleet {
  readonly workers: FleetWorkers
  readonly core: RouterCore
  readonly settings: FleetSettings
  readonly selectionCache: SelectionCache
  readonly #clock: () => number
  readonly #hasher = new BlockHasher()
  readonly #partitions: FleetPartitions
  readonly #hasLimits: boolean
  readonly #listeners = new Set<SelectionListener>()
  readonly #tracksPrefillTokens: boolean

  /** Errors: those of `createRouterCore`. */
  constructor(options: FleetOptions) {
    const { policy, clock, random, settings = {}, onWarning = () => undefined } = options
    this.settings = settings
    this.#clock = clock
    const { busyThresholds = {}, maximumRequestsPerRank = Infinity } = settings
    this.#hasLimits = maximumRequestsPerRank < Infinity || Object.keys(busyThresholds).length > 0
    this.#tracksPrefillTokens = settings.core?.tracksPrefillTokens ?? true
    this.core = createRouterCore({
      policy,
      clock,
      random,
      ...(settings.core === undefined ? {} : { config: settings.core }),
      onWarning: ({ code, message, workerId, dpRank }) => onWarning({ code, message, workerId, dpRank }),
      onRankDropped: (rank) => this.workers.rankDropped(rank),
    })
    const { maximumPartitions = defaultMaximumPartitions } = settings
    this.#partitions = new FleetPartitions(this.core, maximumPartitions, clock)
    this.selectionCache = new SelectionCache(settings.selectionCache)
    this.workers = new FleetWorkers({
      settings,
      clock,
      onWarning,
      resolve: options.resolve,
      findPartition: (name) => this.#partitions.find(name),
      partitionOf: (name, shape) => this.#partitions.obtain(name, shape),
      forgetPartition: (partition) => this.#partitions.forget(partition),
    })
  }

  /** Tells of selections that are delivered until the returned function is called. */
  listen(listener: SelectionListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A selection counts: its request goes to its rank. For those who book first and send later; see `SelectionListener`. */
  delivered(selection: DeliveredSelection, isFurtherTry = false, readingMs?: number): void {
    for (const listener of this.#listeners) listener(selection, isFurtherTry, readingMs)
  }

  /** Every partition that ever had a complete worker, by model, routing group and role. */
  get partitions(): readonly FleetPartition[] {
    return this.#partitions.list()
  }

  /** The partition of this name, whether or not it takes requests; `undefined` = it never had a complete worker. */
  find(name: PartitionName): FleetPartition | undefined {
    return this.#partitions.find(name)
  }

  /** The partition of a request. Error: `ROUTER_NOT_READY` when no worker of it takes requests. */
  ready(name: PartitionName): FleetPartition {
    return this.#partitions.ready(name)
  }

  /** Error: `ROUTER_DUPLICATE_REQUEST` when a booking of this id is live in any partition. */
  checkUnbooked(requestId: string): void {
    this.#partitions.checkUnbooked(requestId)
  }

  /**
   * Where a request would go. A query: it leaves no trace but, with an id, what `reserveSelected` books later. Errors: `ROUTER_NOT_READY`,
   * those of selection and of hashing.
   */
  select(name: PartitionName, request: FleetRequest, selectionId?: string): Selection {
    const partition = this.ready(name)
    const blocks = this.#prepare(partition, request.prompt)
    const asked = requestOfCore(blocks, request)
    const made = this.#made(partition, asked, blocks, partition.router.select(asked))
    const selection = selectionOf(made, this.#tracksPrefillTokens)
    if (selectionId === undefined) return selection
    this.selectionCache.put(
      cacheKey(name, selectionId),
      {
        workerId: selection.workerId,
        dpRank: selection.dpRank,
        local: blocks.local.slice(0, 2 * blocks.count),
        sequence: blocks.sequence.slice(0, 2 * blocks.count),
        promptTokens: selection.promptTokens,
        prefillTokens: selection.tracksPrefillTokens ? selection.promptTokens - selection.cachedTokens : 0,
        assumesKvReuse: asked.assumesKvReuse,
        expectedOutputTokens: asked.expectedOutputTokens,
        loraName: asked.loraName ?? undefined,
        measures: selection.measures,
      },
      this.#clock(),
    )
    return selection
  }

  /**
   * Selects a rank and books the request there, or does neither; nobody comes in between. Who says that it is not dispatched yet calls
   * `delivered` when it is. Errors: `ROUTER_NOT_READY`, `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`, those of selection and of
   * hashing.
   */
  reserve(name: PartitionName, request: FleetRequest, booking: BookingTerms): Selection {
    const selection = selectionOf(this.#reserved(name, request, booking), this.#tracksPrefillTokens)
    if (booking.isDispatched !== false) this.delivered(selection)
    return selection
  }

  /** As `reserve`, for those who relay the request themselves: `delivered` is theirs to call. Errors: the same. */
  place(name: PartitionName, request: FleetRequest, booking: BookingTerms): Placement {
    return placementOf(this.#reserved(name, request, booking))
  }

  /**
   * Books a request on the rank that the caller chose; a selection kept under its id is dropped. Errors: `ROUTER_NOT_READY`,
   * `ROUTER_BAD_REQUEST`, `ROUTER_NOT_FOUND` for the worker, `ROUTER_DUPLICATE_REQUEST`, `ROUTER_NOT_FOUND` for the rank, those of hashing.
   */
  reserveOn(name: PartitionName, reservation: ExplicitReservation): Reservation {
    const known = this.#partitions.find(name)
    const isNamed = known !== undefined && this.#mayBeNamed(known, reservation.workerId)
    const partition = isNamed ? known : this.ready(name)
    const { requestId, workerId, dpRank, prompt, effectivePrefillTokens, tracksPrefillTokens } = reservation
    const blocks = this.#hashed(partition, prompt)
    const promptTokens = tokensOf(prompt)
    if (effectivePrefillTokens !== undefined && effectivePrefillTokens > promptTokens) {
      const message = `effective prefill of ${effectivePrefillTokens} tokens is more than the prompt of ${promptTokens}`
      throw new RouterError('ROUTER_BAD_REQUEST', message, { effectivePrefillTokens, promptTokens })
    }
    const made = this.#bookOn(partition, {
      requestId,
      workerId,
      dpRank,
      blocks,
      promptTokens,
      prefillTokens: tracksPrefillTokens === false ? 0 : (effectivePrefillTokens ?? 0),
      expectedOutputTokens: reservation.expectedOutputTokens,
      loraName: prompt.loraName,
    })
    this.selectionCache.delete(cacheKey(name, requestId))
    return made
  }

  /**
   * Books what `select` found under this id. Errors, after which it may be tried again: `ROUTER_NOT_FOUND` for the selection, its worker or
   * its rank, `ROUTER_DUPLICATE_REQUEST`, `ROUTER_ADMISSION_FULL`.
   */
  reserveSelected(name: PartitionName, requestId: string): Reservation {
    const key = cacheKey(name, requestId)
    const selection = this.selectionCache.get(key, this.#clock())
    const partition = this.#partitions.find(name)
    if (selection === undefined || partition === undefined) {
      const message = `no selection '${requestId}' is kept, or not any more`
      throw new RouterError('ROUTER_NOT_FOUND', message, { requestId })
    }
    const { local, sequence, measures, ...others } = selection
    const blocks = { local, sequence, count: sequence.length >> 1 }
    const made = this.#bookOn(partition, { ...others, requestId, blocks })
    this.selectionCache.delete(key)
    this.delivered({ ...made, measures })
    return made
  }

  /** The first token of a booked request came; again is fine. Error: `ROUTER_NOT_FOUND`. */
  prefillCompleted(requestId: string): void {
    this.#partitions.booked(requestId).router.markPrefillCompleted(requestId)
  }

  /** A booked request began another block of output. Errors: `ROUTER_BAD_REQUEST` for the fraction, `ROUTER_NOT_FOUND`. */
  outputBlock(requestId: string, decayFraction?: number): void {
    if (decayFraction !== undefined && !(decayFraction >= 0 && decayFraction <= 1)) {
      const message = `the decay fraction must be a number from 0 to 1, got ${decayFraction}`
      throw new RouterError('ROUTER_BAD_REQUEST', message, { decayFraction })
    }
    this.#partitions.booked(requestId).router.ledger.addOutputBlock(requestId, decayFraction)
  }

  /** Ends a booking, however the request ended. False when it is not booked (any more): it is freed exactly once. */
  free(requestId: string): boolean {
    return this.#partitions.bookedIn(requestId)?.router.free(requestId) ?? false
  }

  /** The load of every rank with this request. A query. Errors: `ROUTER_NOT_READY`, those of hashing. */
  potentialLoads(name: PartitionName, request: FleetRequest): PotentialLoad[] {
    const partition = this.ready(name)
    return partition.router.potentialLoads(requestOfCore(this.#hashedPrompt(partition, request), request))
  }

  /** The load of every rank now; partitions without workers have none. */
  loads(partition: FleetPartition): PotentialLoad[] {
    return partition.router.potentialLoads({ blocks: noBlocks, promptTokens: 0 })
  }

  /** What every rank holds of a prompt. A query. Errors: as `potentialLoads`. */
  overlaps(name: PartitionName, request: FleetRequest): OverlapReport {
    const partition = this.ready(name)
    const blocks = this.#hashedPrompt(partition, request)
    const ranks = partition.router.overlaps(requestOfCore(blocks, request))
    return { partition, blocks: blocks.count, ranks: partition.strays.among(ranks, blocks) }
  }

  /** Takes a selection apart. A query. Errors: as `select`. */
  explain(name: PartitionName, request: FleetRequest): RoutedExplanation {
    const partition = this.ready(name)
    return partition.router.explain(requestOfCore(this.#prepare(partition, request.prompt), request))
  }

  /** What is due: expired bookings, blocks and selections, workers that drained. Bounded work. */
  tick(): void {
    this.#partitions.tick()
    this.selectionCache.expire(this.#clock())
    this.workers.tick()
  }

  /** Closes every socket and forgets everything. */
  dispose(): void {
    this.workers.dispose()
    this.core.dispose()
  }

  /** Hashes of a prompt that is about to be selected for, with the busy ranks marked. */
  #prepare(partition: FleetPartition, prompt: FleetPrompt): HashedBlocks {
    if (this.#hasLimits) partition.markBusy(this.settings)
    return this.#hashedPrompt(partition, { prompt })
  }

  #hashedPrompt(partition: FleetPartition, { prompt }: FleetRequest): HashedBlocks {
    if (prompt.tokens === undefined) {
      const { local, sequence, count } = prompt.blocks
      return { local, sequence, count, promptTokens: prompt.promptTokens, hashingMs: 0 }
    }
    const startMs = this.#clock()
    const { local, sequence, count } = this.#hashed(partition, prompt)
    const hashingMs = this.#clock() - startMs
    return { local, sequence, count, promptTokens: prompt.tokens.length, hashingMs }
  }

  #hashed(partition: FleetPartition, prompt: FleetPrompt): PromptBlocks {
    if (prompt.tokens === undefined) return prompt.blocks
    const { tokens, loraName, cacheSalt, objectsByBlock, isEagle } = prompt
    const { local, sequence, count } = partition.hash(this.#hasher, tokens, {
      loraName,
      cacheSalt,
      objectsByBlock,
      isEagle,
    })
    return { local, sequence, count }
  }

  #reserved(name: PartitionName, request: FleetRequest, booking: BookingTerms): MadeSelection {
    const partition = this.ready(name)
    this.checkUnbooked(booking.requestId)
    const blocks = this.#prepare(partition, request.prompt)
    const asked = requestOfCore(blocks, request, booking)
    return this.#made(partition, asked, blocks, partition.router.reserve(asked))
  }

  #made(
    partition: FleetPartition,
    asked: PromptRequest,
    blocks: HashedBlocks,
    result: SelectionResult,
  ): MadeSelection {
    const registration = this.workers.record(result.workerId)?.registration
    return { partition, asked, blocks, result, registration }
  }

  /** Whether a caller may choose this worker: it is here and does not drain. Whatever else keeps it from selections is the caller's to judge. */
  #mayBeNamed(partition: FleetPartition, workerId: bigint): boolean {
    if (partition.takesRequests(workerId)) return true
    return partition.has(workerId) && this.workers.get(workerId)?.lifecycle === 'unschedulable'
  }

  #bookOn(partition: FleetPartition, booking: Parameters<FleetPartition['router']['book']>[0]): Reservation {
    const { requestId, workerId, dpRank } = booking
    if (!this.#mayBeNamed(partition, workerId)) {
      const message = `worker ${workerId} is not in this partition, or takes no requests`
      throw new RouterError('ROUTER_NOT_FOUND', message, { workerId })
    }
    this.checkUnbooked(requestId)
    partition.router.book(booking)
    const endpoint = this.workers.record(workerId)?.registration.endpoint ?? ''
    return { partition, workerId, dpRank, endpoint }
  }
}

const noBlocks: PromptBlocks = { local: new Uint32Array(0), sequence: new Uint32Array(0), count: 0 }

function tokensOf(prompt: FleetPrompt): number {
  return prompt.tokens === undefined ? prompt.promptTokens : prompt.tokens.length
}

function cacheKey(name: PartitionName, selectionId: string): string {
  return `${keyOf(name)} ${selectionId}`
}
