import { BatchReader, type EventWarning, Incarnation, type IncarnationCause } from '@router/kv-events'
import { RouterError, type WorkerRank } from '@router/sdk'
import { EndpointRules, loopbackHosts } from './endpoint-rules.js'
import type { EngineFacts } from './engine-facts.js'
import {
  type FleetPartition,
  type PartitionName,
  type PartitionShape,
  conflictOf,
  placeOf,
} from './fleet-partition.js'
import {
  type FleetWorker,
  type FleetWorkersOptions,
  type WorkersListener,
  byPlace,
  complete,
  gapsOf,
  isIdle,
  isToFollowAgain,
  lifecycleOf,
  viewOf,
  workerOf,
} from './fleet-worker.js'
import type { Hindrance } from './hindrance.js'
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
  originAfter,
} from './worker-registration.js'

/** Records of a fleet. */
const maximumWorkers = 65_536
const defaultDrainTimeoutMs = 300_000
/** Tokens a block that events may tell. */
const maximumBlockSize = 65_536

/**
 * The workers of a fleet and their lives: what a record lacks, which partition it is in, where its events come from, and what goes when
 * something of it changes. Bookings and cache of a rank stay as long as the rank does, its cache as long as its event addresses do.
 */
export class FleetWorkers {
  readonly #options: FleetWorkersOptions
  readonly #services: EventServices
  readonly #workers = new Map<bigint, FleetWorker>()
  readonly #listeners = new Set<WorkersListener>()
  // Workers of a partition that was given up: they are to be put into its successor.
  #displaced: FleetWorker[] = []

  constructor(options: FleetWorkersOptions) {
    const { settings, clock: nowMs, resolve } = options
    this.#options = options
    const rules = new EndpointRules(settings.allowedHosts ?? loopbackHosts)
    const onApplied = (ts: number): void => this.#listeners.forEach(({ onEventBatch }) => onEventBatch?.(ts))
    this.#services = { reader: new BatchReader(), nowMs, rules, settings, resolve, onApplied }
  }

  /** Known records. */
  get size(): number {
    return this.#workers.size
  }

  get(workerId: bigint): WorkerView | undefined {
    const worker = this.#workers.get(workerId)
    return worker && this.#view(worker)
  }

  /** What is kept of a worker, as it is now, without a copy. For those who ask at every request. */
  record(workerId: bigint): Readonly<FleetWorker> | undefined {
    return this.#workers.get(workerId)
  }

  /** Every record, by model, routing group and id. */
  list(): WorkerView[] {
    return [...this.#workers.values()].map((worker) => this.#view(worker)).toSorted(byPlace)
  }

  /** Whether requests may go to a worker that is so far. */
  takesRequests(lifecycle: WorkerLifecycle): boolean {
    const isDirect = this.#options.settings.isDirect === true
    return lifecycle === 'schedulable' || (isDirect && lifecycle === 'unschedulable')
  }

  /** Workers that take requests. */
  get schedulable(): number {
    return [...this.#workers.values()].filter((worker) => lifecycleOf(worker) === 'schedulable').length
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
    const given = { ...registration, taints }
    const lives = known?.lives ?? new Incarnation((cause) => this.restarted(workerId, cause))
    const worker = workerOf(given, origin, lives, known)
    this.#workers.set(workerId, worker)
    try {
      this.#settleAll(worker)
    } catch (error) {
      if (known === undefined) this.#workers.delete(workerId)
      else this.#workers.set(workerId, known)
      throw error
    }
    const view = this.#view(worker)
    for (const { onUpsert } of this.#listeners) onUpsert?.(view)
    return this.#view(worker)
  }

  /** Fills in what its engine told, where the record says nothing. Error: `ROUTER_NOT_FOUND`. */
  learn(workerId: bigint, facts: EngineFacts): WorkerView {
    const worker = this.#known(workerId)
    worker.facts = facts
    this.#settleAll(worker)
    return this.#view(worker)
  }

  /** Changes a record; what is absent stays. Errors: `ROUTER_NOT_FOUND`, those of `upsert`. @param by who changes it */
  patch(workerId: bigint, changes: WorkerChanges, by: WorkerOrigin = 'api'): WorkerView {
    const { given: before, origin: owner } = this.#known(workerId)
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    const origin = originAfter(changes, before, owner, by)
    return this.upsert({ ...before, ...Object.fromEntries(given) }, origin)
  }

  /** Forgets a worker; its last record, unschedulable. Error: `ROUTER_NOT_FOUND`. */
  remove(workerId: bigint): WorkerView {
    const worker = this.#known(workerId)
    this.#detach(worker)
    this.#workers.delete(workerId)
    for (const { onRemove } of this.#listeners) onRemove?.(workerId)
    return { ...this.#view(worker), lifecycle: 'unschedulable', reasons: [], hindrances: [] }
  }

  /** It takes no new requests, and goes when it has none, or after the drain time-out. Error: `ROUTER_NOT_FOUND`. */
  drain(workerId: bigint): WorkerView {
    const worker = this.#known(workerId)
    worker.drainsSinceMs ??= this.#options.clock()
    this.#open(worker)
    for (const { onDrain } of this.#listeners) onDrain?.(workerId)
    return this.#view(worker)
  }

  /** What keeps a worker from new requests beside its record; empty = nothing. Error: `ROUTER_NOT_FOUND`. */
  setHindrances(workerId: bigint, hindrances: readonly Hindrance[]): void {
    const worker = this.#known(workerId)
    worker.hindrances = hindrances
    this.#open(worker)
  }

  /** When the process of its engine began, by the engine's clock: another time = another process. Error: `ROUTER_NOT_FOUND`. */
  processStarted(workerId: bigint, seconds: number): void {
    const { link, lives } = this.#known(workerId)
    if (link === undefined) lives.processStarted(seconds)
    else link.events.processStarted(seconds, this.#options.clock())
  }

  /** Its engine refuses connections, or takes them again: unless something proves the contrary, another process. Error: `ROUTER_NOT_FOUND`. */
  setOutage(workerId: bigint, isOut: boolean): void {
    const { link, lives } = this.#known(workerId)
    const one = link?.events ?? lives
    if (isOut) one.outageBegan()
    else one.outageEnded(this.#options.clock())
  }

  /** Tells of changes until the returned function is called. */
  listen(listener: WorkersListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Its engine is another process now: nothing is inherited. Error: `ROUTER_NOT_FOUND`. */
  restarted(workerId: bigint, cause: IncarnationCause): void {
    const { partition, registration } = this.#known(workerId)
    if (partition !== undefined) {
      partition.router.restartWorker(workerId)
      partition.expectPredictions(registration, this.#options.settings)
    }
    this.#warn('worker_restarted', `worker ${workerId} is another process than before (${cause})`, workerId)
    for (const { onRestart } of this.#listeners) onRestart?.(workerId)
  }

  /** The index had no room: what a rank holds is rebuilt. */
  rankDropped({ workerId, dpRank }: WorkerRank): void {
    this.#workers.get(workerId)?.link?.events.rankDropped(dpRank, this.#options.clock())
  }

  /** How the event sockets of a worker do; empty without any. */
  eventReports(workerId: bigint): WorkerEventsLink['events']['reports'] {
    return this.#workers.get(workerId)?.link?.events.reports ?? []
  }

  /** What became of the events of a worker; absent without any. */
  eventCounters(workerId: bigint): WorkerEventsLink['events']['counters'] | undefined {
    return this.#workers.get(workerId)?.link?.events.counters
  }

  /**
   * Removes workers that drained; counts those as other processes that proved nothing after an outage; looks again for events that could
   * not be followed.
   */
  tick(): void {
    const { settings, clock } = this.#options
    const timeoutMs = settings.drainTimeoutMs ?? defaultDrainTimeoutMs
    for (const [workerId, worker] of this.#workers) {
      if (isToFollowAgain(worker, clock())) this.#settleAll(worker)
      const { drainsSinceMs, partition, lives, link, provenance, registration } = worker
      lives.advance(clock())
      // What was stored was of this size.
      if (provenance.blockSize === 'assumed' && (link?.events.counters.stored.ok ?? 0) > 0)
        this.#blockSizeTold(workerId, registration.blockSize!)
      if (drainsSinceMs === undefined) continue
      const isLate = clock() - drainsSinceMs >= timeoutMs
      if (isLate || partition === undefined || isIdle(partition, workerId)) this.remove(workerId)
    }
  }

  dispose(): void {
    for (const { link } of this.#workers.values()) link?.close()
    this.#workers.clear()
    this.#listeners.clear()
  }

  #view(worker: FleetWorker): WorkerView {
    return viewOf(worker, this.#options.clock())
  }

  #known(workerId: bigint): FleetWorker {
    const worker = this.#workers.get(workerId)
    if (worker !== undefined) return worker
    throw new RouterError('ROUTER_NOT_FOUND', `there is no worker ${workerId}`, { workerId })
  }

  /** Settles a worker, and those that have to move because of it. */
  #settleAll(worker: FleetWorker): void {
    for (let next: FleetWorker | undefined = worker; next !== undefined; next = this.#displaced.pop())
      this.#settle(next)
  }

  /** Puts a worker where its record says, or nowhere. */
  #settle(worker: FleetWorker): void {
    complete(worker, (name) => this.#options.findPartition(name)?.shape)
    const { registration, partition: before } = worker
    const events = this.#eventsOf(worker)
    const { reasons, partition } = this.#placeOf(worker, events)
    if (before !== undefined && before !== partition) this.#detach(worker)
    worker.reasons = reasons
    if (partition === undefined) return
    const { workerId, incarnationId } = registration
    const hasEvents = events !== undefined && events.missing.length === 0
    try {
      partition.router.upsertWorker({ ...coreRecordOf(registration, worker.provenance), hasEvents })
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
    partition.expectPredictions(registration, this.#options.settings)
  }

  /** Event addresses; `undefined` = nobody looks at them. */
  #eventsOf({ registration, origin }: FleetWorker): EventEndpoints | undefined {
    if (this.#options.settings.usesKvEvents === false) return undefined
    return eventEndpointsOf(registration, origin, this.#services.rules)
  }

  /** The partition of a record, or why it is in none. The first record that lacks nothing fixes the shape of its partition. */
  #placeOf(
    worker: FleetWorker,
    events: EventEndpoints | undefined,
  ): { readonly reasons: readonly string[]; readonly partition?: FleetPartition } {
    const { registration, provenance, refusal } = worker
    const { blockSize = 0, isEagle = false } = registration
    const name = placeOf(registration)
    const missing = gapsOf(worker, events, this.#options.settings, this.#services.rules)
    if (missing.length > 0) return { reasons: missing }
    const wanted = { blockSize, isEagle, isAssumed: provenance.blockSize === 'assumed' }
    const partition = this.#shaped(name, wanted)
    if (partition === undefined) return { reasons: ['there are too many models and routing groups'] }
    const why = conflictOf(registration, partition.shape) ?? events?.why ?? refusal?.why
    return why === undefined ? { reasons: [], partition } : { reasons: [why] }
  }

  /** The partition of this name. A block size that somebody knows takes the place of an assumed one; the index then starts empty. */
  #shaped(name: PartitionName, wanted: PartitionShape): FleetPartition | undefined {
    const { findPartition, partitionOf, forgetPartition } = this.#options
    const known = findPartition(name)
    if (known?.shape.isAssumed !== true || wanted.isAssumed) return partitionOf(name, wanted)
    if (known.shape.blockSize === wanted.blockSize) {
      known.confirmShape()
      return known
    }
    for (const worker of this.#workers.values()) {
      if (worker.partition !== known) continue
      this.#detach(worker)
      this.#displaced.push(worker)
    }
    forgetPartition(known)
    return partitionOf(name, wanted)
  }

  #linkOf(workerId: bigint, partition: FleetPartition): WorkerEventsLink {
    const listener = {
      onIncarnation: (cause: IncarnationCause) => {
        if (this.#workers.has(workerId)) this.restarted(workerId, cause)
      },
      onWarning: ({ code, dpRank, blockSize }: EventWarning) => {
        const { shape } = partition
        // Later: the link is in the middle of these events.
        if (blockSize !== undefined && shape.isAssumed)
          return queueMicrotask(() => this.#blockSizeTold(workerId, blockSize))
        const sizes = blockSize === undefined ? '' : `, ${blockSize} in place of ${shape.blockSize}`
        this.#warn(code, `events of worker ${workerId}, rank ${dpRank}: ${code}${sizes}`, workerId, dpRank)
      },
      onRefused: (why: string) => {
        const worker = this.#known(workerId)
        worker.refusal = { why, sinceMs: this.#options.clock() }
        this.#settleAll(worker)
      },
    }
    return new WorkerEventsLink(partition, workerId, this.#services, listener)
  }

  /** The events of a worker are of blocks of this size. Fixes that of its partition where it was assumed. */
  #blockSizeTold(workerId: bigint, blockSize: number): void {
    const worker = this.#workers.get(workerId)
    const shape = worker?.partition?.shape
    if (shape === undefined || (!shape.isAssumed && shape.blockSize !== blockSize)) return
    if (blockSize < 1 || blockSize > maximumBlockSize) return
    worker!.toldBlockSize = blockSize
    this.#settleAll(worker!)
  }

  /** Tells the partition whether the worker takes new requests. */
  #open(worker: FleetWorker): void {
    const { partition, registration } = worker
    partition?.setOpen(registration.workerId, this.takesRequests(lifecycleOf(worker)))
  }

  #detach(worker: FleetWorker): void {
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
