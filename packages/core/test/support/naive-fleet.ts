import type { SelectionRequest, WorkerRecord } from '../../src/index.js'

/** One rank as an object. */
export interface NaiveRank {
  readonly workerId: bigint
  readonly dpRank: number
  isOverloaded: boolean
  /** Active prefill tokens, decode cost blocks, active requests. */
  load: readonly number[] | undefined
  /** Device, host, disk, estimate blocks, estimate tokens; `undefined` = unknown. */
  cache: readonly number[] | undefined
  reservations: number
  cacheHits: number
  backlogMs: number
}

/** A worker and its ranks. */
export interface NaiveWorker {
  record: WorkerRecord
  ranks: NaiveRank[]
}

/** The worker table as anybody would write it first: objects, searches and sorts. */
export class NaiveFleet {
  workers: NaiveWorker[] = []
  available: readonly bigint[] | undefined

  upsert(record: WorkerRecord): void {
    const known = this.workers.find((worker) => worker.record.workerId === record.workerId)
    const { workerId, dataParallelStartRank: start = 0, dataParallelSize: size = 1 } = record
    const ranks = Array.from(
      { length: size },
      (_, offset): NaiveRank =>
        known?.ranks.find(({ dpRank }) => dpRank === start + offset) ?? {
          workerId,
          dpRank: start + offset,
          isOverloaded: false,
          load: undefined,
          cache: [0, 0, 0, 0, 0],
          reservations: 0,
          cacheHits: 0,
          backlogMs: Number.NaN,
        },
    )
    this.workers = [...this.workers.filter((worker) => worker !== known), { record, ranks }]
  }

  remove(workerId: bigint): boolean {
    const before = this.workers.length
    this.workers = this.workers.filter((worker) => worker.record.workerId !== workerId)
    return this.workers.length < before
  }

  workerOf(workerId: bigint): NaiveWorker | undefined {
    return this.workers.find((worker) => worker.record.workerId === workerId)
  }

  /** In canonical order. */
  get ranks(): NaiveRank[] {
    return this.workers
      .flatMap(({ ranks }) => ranks)
      .sort((a, b) => (a.workerId === b.workerId ? a.dpRank - b.dpRank : a.workerId < b.workerId ? -1 : 1))
  }
}

type Target = { readonly workerId: bigint; readonly dpRank?: number } | undefined

/** First failing test of a rank, known or not, in the order of the specification. */
export function naiveRejection(
  fleet: NaiveFleet,
  request: SelectionRequest,
  applied: Target,
  { workerId, dpRank }: { workerId: bigint; dpRank: number },
): string | undefined {
  const worker = fleet.workerOf(workerId)
  const ofWorker = naiveWorkerRejection(fleet, request, applied, workerId)
  if (ofWorker === 'WorkerNotAllowed') return ofWorker
  if (applied?.dpRank !== undefined && applied.dpRank !== dpRank) return 'WorkerNotAllowed'
  if (ofWorker === 'WorkerNotRoutable') return ofWorker
  if (worker === undefined) return 'WorkerUnavailable'
  const rank = worker.ranks.find((candidate) => candidate.dpRank === dpRank)
  if (rank === undefined) return 'DpRankUnavailable'
  return ofWorker ?? (rank.isOverloaded ? 'WorkerOverloaded' : undefined)
}

function naiveWorkerRejection(
  fleet: NaiveFleet,
  { allowedWorkerIds, requiredTaints = [] }: SelectionRequest,
  applied: Target,
  workerId: bigint,
): string | undefined {
  if (allowedWorkerIds !== undefined && !allowedWorkerIds.includes(workerId)) return 'WorkerNotAllowed'
  if (applied !== undefined && applied.workerId !== workerId) return 'WorkerNotAllowed'
  if (fleet.available !== undefined && !fleet.available.includes(workerId)) return 'WorkerNotRoutable'
  const taints = fleet.workerOf(workerId)?.record.taints ?? []
  if (requiredTaints.some((taint) => !taints.includes(taint))) return 'RoutingConstraintsUnsatisfied'
  return undefined
}

/** The affinity target that an exclusive policy's host applies; `undefined` = the full set. */
export function naiveTarget(fleet: NaiveFleet, request: SelectionRequest, isExclusive: boolean): Target {
  const { affinityTarget: target } = request
  if (!isExclusive || target === undefined) return undefined
  const ranks = fleet.workerOf(target.workerId)?.ranks ?? []
  const isEligible = ranks.some(
    (rank) =>
      (target.dpRank === undefined || target.dpRank === rank.dpRank) &&
      naiveRejection(fleet, request, undefined, rank) === undefined,
  )
  return isEligible ? target : undefined
}

/** Eligible ranks in canonical order, or the code of the error. */
export function naiveEligible(
  fleet: NaiveFleet,
  request: SelectionRequest,
  isExclusive: boolean,
): readonly NaiveRank[] | string {
  const applied = naiveTarget(fleet, request, isExclusive)
  const { pinnedWorker: pin, allowedWorkerIds } = request
  if (pin !== undefined) {
    const isListed = allowedWorkerIds === undefined || allowedWorkerIds.includes(pin.workerId)
    if (!isListed || (applied !== undefined && applied.workerId !== pin.workerId))
      return 'ROUTER_PINNED_WORKER_NOT_ALLOWED'
    const rejection = naiveRejection(fleet, request, applied, pin)
    if (rejection === 'WorkerOverloaded') return 'ROUTER_PINNED_WORKER_OVERLOADED'
    if (rejection !== undefined) return 'ROUTER_NO_ENDPOINTS'
    return fleet.ranks.filter(({ workerId, dpRank }) => workerId === pin.workerId && dpRank === pin.dpRank)
  }
  const eligible = fleet.ranks.filter((rank) => naiveRejection(fleet, request, applied, rank) === undefined)
  if (eligible.length > 0) return eligible
  const fits = fleet.workers.some(
    ({ record }) => naiveWorkerRejection(fleet, request, applied, record.workerId) === undefined,
  )
  return fits ? 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED' : 'ROUTER_NO_ENDPOINTS'
}
