import { LoadReports, type PartitionRouter } from '@router/core'
import { BlockHashes, type BlockHasher } from '@router/kv-index'
import type { WorkerRole } from '@router/sdk'
import { type FleetSettings, unknownBatchTokens } from './fleet-settings.js'
import { StrayRanks } from './stray-ranks.js'
import { type WorkerRegistration, ranksOf } from './worker-registration.js'

/** Names a partition and role. */
export interface PartitionName {
  readonly model: string
  readonly routingGroup: string
  readonly role: WorkerRole
}

/** What the ranks of a partition have in common: its first complete worker decides, for as long as the process lives. */
export interface PartitionShape {
  readonly blockSize: number
  readonly isEagle: boolean
  /** Nobody said the block size: the first one that is known replaces it. */
  readonly isAssumed: boolean
}

const usageWantedMs = 60_000

/** One partition of a fleet: its router, and which of its workers may be selected. */
export class FleetPartition {
  readonly name: PartitionName
  readonly router: PartitionRouter
  readonly strays: StrayRanks
  /** Hashes of the current prompt. */
  readonly hashes = new BlockHashes()
  #shape: PartitionShape
  readonly #nowMs: () => number
  // What engines said of their pools.
  readonly #reports: LoadReports
  #usageAskedMs = -Infinity
  // Workers that take no new requests.
  readonly #closed = new Set<bigint>()

  /** @param nowMs monotonic */
  constructor(name: PartitionName, shape: PartitionShape, router: PartitionRouter, nowMs: () => number) {
    this.name = name
    this.#shape = shape
    this.router = router
    this.strays = new StrayRanks(router.index)
    this.#nowMs = nowMs
    this.#reports = new LoadReports({ table: router.partition.table, nowMs })
  }

  get shape(): PartitionShape {
    return this.#shape
  }

  /** Somebody said the block size that was assumed. */
  confirmShape(): void {
    this.#shape = { ...this.#shape, isAssumed: false }
  }

  /** Whether some worker takes requests. */
  get isReady(): boolean {
    return this.router.partition.table.workers.length > this.#closed.size
  }

  /** Whether this worker is here. */
  has(workerId: bigint): boolean {
    return this.router.partition.table.workerIndexOf(workerId) >= 0
  }

  /** Whether this worker is here and takes requests. */
  takesRequests(workerId: bigint): boolean {
    return this.has(workerId) && !this.#closed.has(workerId)
  }

  /** A worker takes new requests, or none. It must be here. */
  setOpen(workerId: bigint, isOpen: boolean): void {
    if (this.#closed.has(workerId) !== isOpen) return
    if (isOpen) this.#closed.delete(workerId)
    else this.#closed.add(workerId)
    this.#publish()
  }

  /** A worker came: those that are open must be listed anew. */
  joined(): void {
    if (this.#closed.size > 0) this.#publish()
  }

  /** With predictions, what a rank holds is known from the start: at least what was predicted. */
  expectPredictions(registration: WorkerRegistration, { core }: FleetSettings): void {
    if (core?.predictedTtlMs === undefined) return
    const { first, count } = ranksOf(registration)
    for (let rank = first; rank < first + count; rank++)
      this.router.setCacheKnown(registration.workerId, rank, true)
  }

  /** Forgets a worker, its bookings and its cache. */
  remove(workerId: bigint): void {
    this.router.removeWorker(workerId)
    if (this.#closed.delete(workerId)) this.#publish()
  }

  /** Hashes of tokens in the layout of the partition. Errors: those of `BlockHasher.hash`. */
  hash(
    hasher: BlockHasher,
    tokens: Parameters<BlockHasher['hash']>[0],
    namespace: Omit<Parameters<BlockHasher['hash']>[1], 'blockSize'>,
  ): BlockHashes {
    const { blockSize } = this.#shape
    const isEagle = namespace.isEagle ?? this.#shape.isEagle
    hasher.hash(tokens, { ...namespace, isEagle, blockSize }, this.hashes)
    return this.hashes
  }

  /** An engine told what share of their KV pools its ranks use, 0 to 1; of ranks that are here, and whose capacity is known. */
  noteKvUsage(workerId: bigint, shares: ReadonlyMap<number, number>): void {
    const { table } = this.router.partition
    table.settle()
    const { totalKvBlocks } = table.columns.views.capacity!
    for (const [dpRank, share] of shares) {
      const slot = table.slotOf(workerId, dpRank)
      const blocks = slot < 0 ? 0 : totalKvBlocks[table.rowOfSlot[slot]!]!
      if (blocks > 0) this.#reports.merge(slot, { kvUsedBlocks: Math.round(share * blocks) })
    }
  }

  /** Whether somebody looked at `kvUsedBlocks` within the last minute: reading it of all engines all the time has a price. */
  get wantsKvUsage(): boolean {
    return this.#nowMs() - this.#usageAskedMs < usageWantedMs
  }

  /** Blocks that the engine of a rank said it uses; `undefined` = it was not asked yet, did not say, or there is no such rank. */
  kvUsedBlocks(workerId: bigint, dpRank: number): number | undefined {
    this.#usageAskedMs = this.#nowMs()
    const slot = this.router.partition.table.slotOf(workerId, dpRank)
    return slot < 0 ? undefined : this.#reports.read(slot).kvUsedBlocks
  }

  /** Marks the ranks that are too busy for another request. `O(ranks)`; only where there are limits. */
  markBusy({ busyThresholds = {}, maximumRequestsPerRank = Infinity }: FleetSettings): void {
    const { partition, ledger } = this.router
    const { table } = partition
    table.settle()
    const { totalKvBlocks, maxNumBatchedTokens } = table.columns.views.capacity!
    const { activeDecodeBlocks, activePrefillTokens, activePrefillTokensFraction } = busyThresholds
    for (let row = 0; row < table.count; row++) {
      const slot = table.slotOfRow[row]!
      const load = ledger.loadOf(slot)
      const batchTokens = maxNumBatchedTokens[row]! || unknownBatchTokens
      // A comparison with an unknown capacity is false.
      const isBusy =
        load.activeRequests >= maximumRequestsPerRank ||
        (activeDecodeBlocks !== undefined && load.activeBlocks / totalKvBlocks[row]! > activeDecodeBlocks) ||
        (activePrefillTokens !== undefined && load.activePrefillTokens > activePrefillTokens) ||
        (activePrefillTokensFraction !== undefined &&
          load.activePrefillTokens > activePrefillTokensFraction * batchTokens)
      table.setOverloaded(slot, isBusy)
    }
  }

  #publish(): void {
    const { table } = this.router.partition
    table.setAvailableWorkers(
      this.#closed.size === 0
        ? undefined
        : table.workers.map(({ workerId }) => workerId).filter((workerId) => !this.#closed.has(workerId)),
    )
  }
}

/** Where a worker belongs. */
export function placeOf({ modelName, routingGroup, role }: WorkerRegistration): PartitionName {
  return {
    model: modelName ?? 'default',
    routingGroup: routingGroup ?? 'default',
    role: role ?? 'aggregated',
  }
}

/** How a complete record contradicts its partition; `undefined` = it does not. */
export function conflictOf(
  { blockSize, isEagle = false }: WorkerRegistration,
  shape: PartitionShape,
): string | undefined {
  if (shape.blockSize !== blockSize)
    return `block_size is ${blockSize}, that of its partition ${shape.blockSize}`
  return shape.isEagle === isEagle
    ? undefined
    : `is_eagle is ${isEagle}, that of its partition ${shape.isEagle}`
}

/** No two names have one key, whatever characters they hold. */
export function keyOf({ model, routingGroup, role }: PartitionName): string {
  return `${role} ${model.length} ${model} ${routingGroup.length} ${routingGroup}`
}

/** By model, routing group and role, in the order of their characters. */
export function compareNames(a: Partial<PartitionName>, b: Partial<PartitionName>): number {
  return compare(a.model, b.model) || compare(a.routingGroup, b.routingGroup) || compare(a.role, b.role)
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
