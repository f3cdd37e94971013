import { BatchReader, type EventWarning, type IncarnationCause } from '@router/kv-events'
import { RouterError, type WorkerRank } from '@router/sdk'
import { EndpointRules } from './endpoint-rules.js'
import {
  type FleetPartition,
  type PartitionName,
  type PartitionShape,
  compareNames,
  placeOf,
} from './fleet-partition.js'
import { type FleetSettings, loopbackHosts } from './fleet-settings.js'
import { type EventEndpoints, eventEndpointsOf } from './rank-endpoints.js'
import { type EventServices, WorkerEventsLink } from './worker-events-link.js'
import {
  type WorkerChanges,
  type WorkerLifecycle,
  type WorkerOrigin,
  type WorkerRegistration,
  type WorkerView,
  checkRegistration,
  coreRecordOf,
  ranksOf,
} from './worker-registration.js'

/** Records of a fleet. */
const maximumWorkers = 65_536
const defaultDrainTimeoutMs = 300_000

/** Something that an operator should know; told once a cause. */
export interface FleetWarning {
  readonly code: string
  readonly message: string
  readonly workerId?: bigint | undefined
  readonly dpRank?: number | undefined
}

/** What the workers of a fleet need of it. */
export interface FleetWorkersOptions {
  readonly settings: FleetSettings
  readonly clock: () => number
  readonly onWarning: (warning: FleetWarning) => void
  readonly resolve: EventServices['resolve']
  /** The partition of a worker, made with this shape when there is none; `undefined` = there are too many. */
  readonly partitionOf: (name: PartitionName, shape: PartitionShape) => FleetPartition | undefined
}

interface Worker {
  registration: WorkerRegistration
  readonly origin: WorkerOrigin
  /** Where its ranks are; absent while it is incomplete. */
  partition?: FleetPartition | undefined
  link?: WorkerEventsLink | undefined
  reasons: readonly string[]
  /** When it began to drain. */
  drainsSinceMs?: number | undefined
  /** Nobody reaches it. */
  isUnreachable: boolean
  /** Why the events of this record cannot be followed, found out late. */
  refusal?: string | undefined
}

/**
 * The workers of a fleet and their lives: what a record lacks, which partition it is in, where its events come from, and what goes when
 * something of it changes. Bookings and cache of a rank stay as long as the rank does, its cache as long as its event addresses do.
 */
export class FleetWorkers {
  readonly #options: FleetWorkersOptions
  readonly #services: EventServices
  readonly #workers = new Map<bigint, Worker>()

  constructor(options: FleetWorkersOptions) {
    const { settings, clock: nowMs, resolve } = options
    this.#options = options
    const rules = new EndpointRules(settings.allowedHosts ?? loopbackHosts)
    this.#services = { reader: new BatchReader(), nowMs, rules, resolve }
  }

  /** Known records. */
  get size(): number {
    return this.#workers.size
  }

  get(workerId: bigint): WorkerView | undefined {
    const worker = this.#workers.get(workerId)
    return worker && viewOf(worker)
  }

  /** Every record, by model, routing group and id. */
  list(): WorkerView[] {
    return [...this.#workers.values()].map(viewOf).toSorted(byPlace)
  }

  /** Workers that take requests. */
  get schedulable(): number {
    let count = 0
    for (const worker of this.#workers.values()) if (lifecycleOf(worker) === 'schedulable') count++
    return count
  }

  /**
   * Adds a worker, or replaces all that is known of it; a record that cannot serve is kept as incomplete. Errors, nothing changes then:
   * `ROUTER_BAD_REQUEST` for what no record may say and for too many workers.
   */
  upsert(registration: WorkerRegistration, origin: WorkerOrigin = 'api'): WorkerView {
    checkRegistration(registration)
    const { workerId } = registration
    const known = this.#workers.get(workerId)
    if (known === undefined && this.#workers.size >= maximumWorkers) {
      const message = `there are ${maximumWorkers} workers, the limit`
      throw new RouterError('ROUTER_BAD_REQUEST', message, { workerId, maximumWorkers })
    }
    const taints = registration.taints && [...new Set(registration.taints)]
    const worker: Worker = {
      registration: { ...registration, taints },
      origin,
      partition: known?.partition,
      link: known?.link,
      reasons: [],
      isUnreachable: known?.isUnreachable ?? false,
    }
    this.#settle(worker)
    this.#workers.set(workerId, worker)
    return viewOf(worker)
  }

  /** Changes a record; what is absent stays. Errors: `ROUTER_NOT_FOUND`, those of `upsert`. */
  patch(workerId: bigint, changes: WorkerChanges): WorkerView {
    const { registration, origin } = this.#known(workerId)
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    return this.upsert({ ...registration, ...Object.fromEntries(given) }, origin)
  }

  /** Forgets a worker; its last record, unschedulable. Error: `ROUTER_NOT_FOUND`. */
  remove(workerId: bigint): WorkerView {
    const worker = this.#known(workerId)
    this.#detach(worker)
    this.#workers.delete(workerId)
    return { ...viewOf(worker), lifecycle: 'unschedulable', reasons: [] }
  }

  /** It takes no new requests, and goes when it has none, or after the drain time-out. Error: `ROUTER_NOT_FOUND`. */
  drain(workerId: bigint): WorkerView {
    const worker = this.#known(workerId)
    worker.drainsSinceMs ??= this.#options.clock()
    this.#open(worker)
    return viewOf(worker)
  }

  /** Whether anybody reaches it, as probes say; unreachable workers take no new requests. Error: `ROUTER_NOT_FOUND`. */
  setReachable(workerId: bigint, isReachable: boolean): void {
    const worker = this.#known(workerId)
    worker.isUnreachable = !isReachable
    this.#open(worker)
  }

  /** Its engine is another process now: nothing is inherited. Error: `ROUTER_NOT_FOUND`. */
  restarted(workerId: bigint, cause: IncarnationCause | 'probe'): void {
    const { partition, registration } = this.#known(workerId)
    if (partition === undefined) return
    partition.router.restartWorker(workerId)
    this.#expectPredictions(partition, registration)
    this.#warn('worker_restarted', `worker ${workerId} is another process than before (${cause})`, workerId)
  }

  /** The index had no room: what a rank holds is rebuilt. */
  rankDropped({ workerId, dpRank }: WorkerRank): void {
    this.#workers.get(workerId)?.link?.events.rankDropped(dpRank, this.#options.clock())
  }

  /** How the event sockets of a worker do; empty without any. */
  eventReports(workerId: bigint): WorkerEventsLink['events']['reports'] {
    return this.#workers.get(workerId)?.link?.events.reports ?? []
  }

  /** Removes workers that drained. */
  tick(): void {
    const { settings, clock } = this.#options
    const timeoutMs = settings.drainTimeoutMs ?? defaultDrainTimeoutMs
    for (const [workerId, { drainsSinceMs, partition }] of this.#workers) {
      if (drainsSinceMs === undefined) continue
      const isLate = clock() - drainsSinceMs >= timeoutMs
      if (isLate || partition === undefined || isIdle(partition, workerId)) this.remove(workerId)
    }
  }

  dispose(): void {
    for (const { link } of this.#workers.values()) link?.close()
    this.#workers.clear()
  }

  #known(workerId: bigint): Worker {
    const worker = this.#workers.get(workerId)
    if (worker !== undefined) return worker
    throw new RouterError('ROUTER_NOT_FOUND', `there is no worker ${workerId}`, { workerId })
  }

  /** Puts a worker where its record says, or nowhere. */
  #settle(worker: Worker): void {
    const { registration, partition: before } = worker
    const events = this.#eventsOf(worker)
    const { reasons, partition } = this.#placeOf(worker, events)
    if (before !== undefined && before !== partition) this.#detach(worker)
    worker.reasons = reasons
    if (partition === undefined) return
    const { workerId, incarnationId } = registration
    const hasEvents = events !== undefined && events.missing.length === 0
    try {
      partition.router.upsertWorker({ ...coreRecordOf(registration), hasEvents })
    } catch (error) {
      // More ranks than a partition takes.
      this.#detach(worker)
      worker.reasons = [(error as Error).message]
      return
    }
    worker.partition = partition
    partition.joined()
    this.#open(worker)
    if (!hasEvents) {
      worker.link?.close()
      worker.link = undefined
      return
    }
    worker.link ??= this.#linkOf(workerId, partition)
    worker.link.events.register(incarnationId, this.#options.clock())
    worker.link.follow(events.byRank)
    this.#expectPredictions(partition, registration)
  }

  /** Event addresses; `undefined` = nobody looks at them. */
  #eventsOf({ registration, origin }: Worker): EventEndpoints | undefined {
    if (this.#options.settings.usesKvEvents === false) return undefined
    return eventEndpointsOf(registration, origin, this.#services.rules)
  }

  /** The partition of a record, or why it is in none. The first record that lacks nothing fixes the shape of its partition. */
  #placeOf(
    { registration, origin, refusal }: Worker,
    events: EventEndpoints | undefined,
  ): { readonly reasons: readonly string[]; readonly partition?: FleetPartition } {
    const { blockSize = 0, isEagle = false } = registration
    const name = placeOf(registration)
    const missing = this.#missing(registration, origin, events)
    if (missing.length > 0) return { reasons: missing }
    const partition = this.#options.partitionOf(name, { blockSize, isEagle })
    if (partition === undefined) return { reasons: ['there are too many models and routing groups'] }
    const { shape } = partition
    if (shape.blockSize !== blockSize)
      return { reasons: [`block_size is ${blockSize}, that of its partition ${shape.blockSize}`] }
    if (shape.isEagle !== isEagle)
      return { reasons: [`is_eagle is ${isEagle}, that of its partition ${shape.isEagle}`] }
    const why = events?.why ?? refusal
    return why === undefined ? { reasons: [], partition } : { reasons: [why] }
  }

  /** What a record lacks, a sentence each. */
  #missing(
    registration: WorkerRegistration,
    origin: WorkerOrigin,
    events: EventEndpoints | undefined,
  ): string[] {
    const { endpoint, blockSize, maxNumBatchedTokens } = registration
    const { queuesModel = () => false } = this.#options.settings
    const reasons: string[] = []
    if (endpoint === undefined || endpoint === '') reasons.push('endpoint is missing')
    if (blockSize === undefined || blockSize === 0) reasons.push('block_size is missing, or 0')
    if (ranksOf(registration).count === 0) reasons.push('data_parallel_size is 0')
    if (origin === 'trusted') return reasons
    if (queuesModel(placeOf(registration).model) && maxNumBatchedTokens === undefined)
      reasons.push('max_num_batched_tokens is missing, which queueing needs')
    for (const rank of events?.missing ?? []) reasons.push(`rank ${rank} has no event endpoint`)
    return reasons
  }

  #linkOf(workerId: bigint, partition: FleetPartition): WorkerEventsLink {
    const listener = {
      onIncarnation: (cause: IncarnationCause) => {
        if (this.#workers.has(workerId)) this.restarted(workerId, cause)
      },
      onWarning: ({ code, dpRank }: EventWarning) =>
        this.#warn(code, `events of worker ${workerId}, rank ${dpRank}: ${code}`, workerId, dpRank),
      onRefused: (why: string) => {
        const worker = this.#workers.get(workerId)
        if (worker === undefined) return
        worker.refusal = why
        this.#settle(worker)
      },
    }
    return new WorkerEventsLink(partition.router, workerId, this.#services, listener, partition.shape.isEagle)
  }

  /** With predictions, what a rank holds is known from the start: at least what was predicted. */
  #expectPredictions({ router }: FleetPartition, registration: WorkerRegistration): void {
    if (this.#options.settings.core?.predictedTtlMs === undefined) return
    const { first, count } = ranksOf(registration)
    for (let rank = first; rank < first + count; rank++)
      router.setCacheKnown(registration.workerId, rank, true)
  }

  /** Tells the partition whether the worker takes new requests. */
  #open(worker: Worker): void {
    const { partition, registration } = worker
    partition?.setOpen(registration.workerId, lifecycleOf(worker) === 'schedulable')
  }

  #detach(worker: Worker): void {
    const { workerId } = worker.registration
    worker.link?.close()
    worker.link = undefined
    worker.partition?.remove(workerId)
    worker.partition = undefined
  }

  #warn(code: string, message: string, workerId: bigint, dpRank?: number): void {
    this.#options.onWarning({ code, message, workerId, dpRank })
  }
}

function lifecycleOf({ partition, drainsSinceMs, isUnreachable }: Worker): WorkerLifecycle {
  if (drainsSinceMs !== undefined) return 'draining'
  if (partition === undefined) return 'incomplete'
  return isUnreachable ? 'unschedulable' : 'schedulable'
}

function viewOf(worker: Worker): WorkerView {
  const { registration, origin, reasons } = worker
  return { registration, origin, lifecycle: lifecycleOf(worker), reasons }
}

function isIdle({ router }: FleetPartition, workerId: bigint): boolean {
  const { table } = router.partition
  const worker = table.workerIndexOf(workerId)
  if (worker < 0) return true
  const first = table.firstRowOfWorker[worker]!
  const end = first + table.workers[worker]!.dataParallelSize
  for (let row = first; row < end; row++)
    if (router.ledger.loadOf(table.slotOfRow[row]!).activeRequests > 0) return false
  return true
}

function byPlace({ registration: a }: WorkerView, { registration: b }: WorkerView): number {
  const [one, other] = [placeOf(a), placeOf(b)].map(({ model, routingGroup }) => ({ model, routingGroup }))
  return compareNames(one!, other!) || (a.workerId < b.workerId ? -1 : a.workerId > b.workerId ? 1 : 0)
}
