import type { Incarnation } from '@router/kv-events'
import type { EndpointRules } from './endpoint-rules.js'
import { type EngineFacts, type Provenance, completed } from './engine-facts.js'
import {
  type FleetPartition,
  type PartitionName,
  type PartitionShape,
  compareNames,
  placeOf,
} from './fleet-partition.js'
import type { FleetSettings } from './fleet-settings.js'
import { type Hindrance, hindranceText } from './hindrance.js'
import type { EventEndpoints } from './rank-endpoints.js'
import type { EventServices, WorkerEventsLink } from './worker-events-link.js'
import {
  type WorkerLifecycle,
  type WorkerOrigin,
  type WorkerRegistration,
  type WorkerView,
  ranksOf,
} from './worker-registration.js'

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
  /** The partition that a name has already. */
  readonly findPartition: (name: PartitionName) => FleetPartition | undefined
  /** A partition without workers is needed no more. */
  readonly forgetPartition: (partition: FleetPartition) => void
}

/** A worker as `FleetWorkers` keeps it. */
export interface FleetWorker {
  /** What its source said. */
  readonly given: WorkerRegistration
  readonly origin: WorkerOrigin
  /** What its engine said; absent = it was not asked yet. */
  facts?: EngineFacts | undefined
  /** Block size that its events told, where nobody else said one. */
  toldBlockSize?: number | undefined
  /** All of it together. */
  registration: WorkerRegistration
  provenance: Provenance
  /** Where its ranks are; absent while it is incomplete. */
  partition?: FleetPartition | undefined
  link?: WorkerEventsLink | undefined
  /** Lives of its engine, as far as no events tell of them. */
  readonly lives: Incarnation
  reasons: readonly string[]
  hindrances: readonly Hindrance[]
  /** When it began to drain. */
  drainsSinceMs?: number | undefined
  /** Why the events of this record cannot be followed, found out late. */
  refusal?: { readonly why: string; readonly sinceMs: number } | undefined
}

/** After this time a host name may have an address, and the router room for a socket. */
const refusalMs = 5000

/** Whoever follows the workers of a fleet. Called after the change, in its turn; it must not throw. */
export interface WorkersListener {
  /** A record is new, or another one than before. */
  readonly onUpsert?: (worker: WorkerView) => void
  readonly onRemove?: (workerId: bigint) => void
  /** It begins to drain. */
  readonly onDrain?: (workerId: bigint) => void
  /** Its engine is another process: what was known of it holds no more. */
  readonly onRestart?: (workerId: bigint) => void
  /** A batch of events that had just come is in; when its engine made it, seconds since 1970. */
  readonly onEventBatch?: (ts: number) => void
}

/** Forgets why its events could not be followed, when that is worth another look. */
export function isToFollowAgain(worker: FleetWorker, nowMs: number): boolean {
  if (worker.refusal === undefined || nowMs - worker.refusal.sinceMs < refusalMs) return false
  worker.refusal = undefined
  return true
}

/**
 * A worker by its record. What is known of its engine stays while its URL does; it drains on, unless the record is that of another engine.
 * @param known the same worker before
 */
export function workerOf(
  given: WorkerRegistration,
  origin: WorkerOrigin,
  lives: Incarnation,
  known: FleetWorker | undefined,
): FleetWorker {
  const isSameEngine = known !== undefined && known.given.endpoint === given.endpoint
  const isSameLife = isSameEngine && known.given.incarnationId === given.incarnationId
  return {
    given,
    origin,
    facts: isSameEngine ? known.facts : undefined,
    toldBlockSize: isSameEngine ? known.toldBlockSize : undefined,
    registration: given,
    provenance: {},
    partition: known?.partition,
    link: known?.link,
    lives,
    reasons: [],
    hindrances: isSameEngine ? known.hindrances : [],
    drainsSinceMs: isSameLife ? known.drainsSinceMs : undefined,
  }
}

export function lifecycleOf({ partition, drainsSinceMs, hindrances }: FleetWorker): WorkerLifecycle {
  if (drainsSinceMs !== undefined) return 'draining'
  if (partition === undefined) return 'incomplete'
  return hindrances.length > 0 ? 'unschedulable' : 'schedulable'
}

export function viewOf(worker: FleetWorker, nowMs: number): WorkerView {
  const { registration, provenance, facts, origin, reasons, hindrances } = worker
  return {
    registration,
    provenance,
    facts,
    origin,
    lifecycle: lifecycleOf(worker),
    incarnation: worker.lives.count + (worker.link?.events.incarnation ?? 0),
    reasons: [...reasons, ...hindrances.map((hindrance) => hindranceText(hindrance, nowMs))],
    hindrances,
  }
}

/**
 * Puts together what is known of a worker. An assumed block size is that of its partition.
 * @param shapeOf of the partition of this name; `undefined` = there is none
 */
export function complete(
  worker: FleetWorker,
  shapeOf: (name: PartitionName) => PartitionShape | undefined,
): void {
  const { given, origin, facts, toldBlockSize } = worker
  const told = facts && { ...facts, blockSize: facts.blockSize ?? toldBlockSize }
  const { registration, provenance } = completed(given, origin, told)
  const isAssumed = provenance.blockSize === 'assumed'
  const blockSize = (isAssumed ? shapeOf(placeOf(registration)) : registration)?.blockSize
  worker.registration = blockSize === undefined ? registration : { ...registration, blockSize }
  worker.provenance = provenance
}

/** What a record lacks, a sentence each. */
export function gapsOf(
  { given, registration, origin, facts }: FleetWorker,
  events: EventEndpoints | undefined,
  { queuesModel = () => false, learnsFacts = false }: FleetSettings,
  rules: EndpointRules,
): string[] {
  const { endpoint = '', blockSize = 0, maxNumBatchedTokens } = registration
  const gaps: string[] = []
  const isTrusted = origin === 'trusted'
  const isUnasked = learnsFacts && origin !== 'selection' && facts === undefined
  const isUnlearned = isUnasked && isTrusted
  if (endpoint === '') gaps.push('endpoint is missing')
  if (isUnasked && given.modelName === undefined) gaps.push('its engine has not told its model yet')
  if (blockSize === 0)
    gaps.push(isUnlearned ? 'its engine has not told its block size yet' : 'block_size is missing, or 0')
  if (ranksOf(registration).count === 0) gaps.push('data_parallel_size is 0')
  if (isTrusted) return gaps
  const verdict = origin === 'api' && learnsFacts && endpoint !== '' ? rules.judgeBase(endpoint) : undefined
  if (verdict !== undefined && 'why' in verdict) gaps.push(verdict.why)
  if (queuesModel(placeOf(registration).model) && maxNumBatchedTokens === undefined)
    gaps.push('max_num_batched_tokens is missing, which queueing needs')
  for (const rank of events?.missing ?? []) gaps.push(`rank ${rank} has no event endpoint`)
  return gaps
}

/** Whether no request of a worker is in flight. */
export function isIdle({ router }: FleetPartition, workerId: bigint): boolean {
  const { table } = router.partition
  const worker = table.workerIndexOf(workerId)
  if (worker < 0) return true
  const first = table.firstRowOfWorker[worker]!
  const end = first + table.workers[worker]!.dataParallelSize
  for (let row = first; row < end; row++)
    if (router.ledger.loadOf(table.slotOfRow[row]!).activeRequests > 0) return false
  return true
}

/** By model, routing group and id. */
export function byPlace({ registration: a }: WorkerView, { registration: b }: WorkerView): number {
  const [one, other] = [placeOf(a), placeOf(b)].map(({ model, routingGroup }) => ({ model, routingGroup }))
  return compareNames(one!, other!) || (a.workerId < b.workerId ? -1 : a.workerId > b.workerId ? 1 : 0)
}
