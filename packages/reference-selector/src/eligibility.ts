import type { WorkerRank } from '@router/sdk'
import type {
  ReferenceError,
  RejectionReason,
  Snapshot,
  SnapshotConstraints,
  SnapshotWorker,
} from './snapshot.js'

/** A session binding in force: only this worker, or this rank of it, is left. */
type AppliedTarget = { readonly workerId: bigint; readonly dpRank: number | null } | undefined

/** Ascending by worker, then by rank. */
export function compareRanks(left: WorkerRank, right: WorkerRank): number {
  if (left.workerId !== right.workerId) return left.workerId < right.workerId ? -1 : 1
  return left.dpRank - right.dpRank
}

/** Every rank of every worker, in canonical order. */
export function knownRanks(snapshot: Snapshot): WorkerRank[] {
  const ranks: WorkerRank[] = []
  for (const { workerId, startRank, rankCount } of snapshot.workers) {
    for (let dpRank = startRank; dpRank < startRank + rankCount; dpRank++) ranks.push({ workerId, dpRank })
  }
  return ranks.sort(compareRanks)
}

const isIn = (ids: readonly bigint[] | null, workerId: bigint): boolean =>
  ids === null || ids.includes(workerId)

const carriesAll = (worker: SnapshotWorker, taints: readonly string[]): boolean =>
  taints.every((taint) => worker.taints.includes(taint))

function isOverloaded(
  { overloadedWorkerIds, overloadedRanks }: SnapshotConstraints,
  rank: WorkerRank,
): boolean {
  if (overloadedWorkerIds !== null && overloadedWorkerIds.includes(rank.workerId)) return true
  return (overloadedRanks ?? []).some((other) => compareRanks(other, rank) === 0)
}

/** First failing test of a rank; `undefined` = eligible. */
export function rejectionOf(
  snapshot: Snapshot,
  rank: WorkerRank,
  applied: AppliedTarget,
): RejectionReason | undefined {
  const { constraints, workers } = snapshot
  if (!isIn(constraints.allowedWorkerIds, rank.workerId)) return 'WorkerNotAllowed'
  if (applied !== undefined) {
    if (applied.workerId !== rank.workerId) return 'WorkerNotAllowed'
    if (applied.dpRank !== null && applied.dpRank !== rank.dpRank) return 'WorkerNotAllowed'
  }
  if (!isIn(constraints.availableWorkerIds, rank.workerId)) return 'WorkerNotRoutable'
  const worker = workers.find(({ workerId }) => workerId === rank.workerId)
  if (worker === undefined) return 'WorkerUnavailable'
  const { startRank, rankCount } = worker
  if (rank.dpRank < startRank || rank.dpRank >= startRank + rankCount) return 'DpRankUnavailable'
  if (!carriesAll(worker, constraints.requiredTaints)) return 'RoutingConstraintsUnsatisfied'
  if (isOverloaded(constraints, rank)) return 'WorkerOverloaded'
  return undefined
}

/** The request's affinity target, if the policy wants it exclusively and some rank of it is eligible now. */
export function appliedTarget(snapshot: Snapshot, affinity: 'exclusive' | 'advisory'): AppliedTarget {
  const target = snapshot.constraints.affinityTarget
  if (affinity === 'advisory' || target === null) return undefined
  const named = knownRanks(snapshot).filter(
    ({ workerId, dpRank }) =>
      workerId === target.workerId && (target.dpRank === null || target.dpRank === dpRank),
  )
  return named.some((rank) => rejectionOf(snapshot, rank, undefined) === undefined) ? target : undefined
}

/** What a pin that cannot be honoured fails with. */
export function pinError(snapshot: Snapshot, applied: AppliedTarget): ReferenceError | undefined {
  const pin = snapshot.constraints.pinnedWorker
  if (pin === null) return undefined
  const { workerId } = pin
  const isElsewhere = applied !== undefined && applied.workerId !== workerId
  if (!isIn(snapshot.constraints.allowedWorkerIds, workerId) || isElsewhere) {
    return { code: 'ROUTER_PINNED_WORKER_NOT_ALLOWED', details: { workerId } }
  }
  const reason = rejectionOf(snapshot, pin, applied)
  if (reason === undefined) return undefined
  return reason === 'WorkerOverloaded'
    ? { code: 'ROUTER_PINNED_WORKER_OVERLOADED', details: { workerId } }
    : { code: 'ROUTER_NO_ENDPOINTS', details: {} }
}

/** The error when no rank is eligible. Workers are looked at here, not ranks: one without ranks counts as overloaded. */
export function nothingEligible({ constraints, workers }: Snapshot): ReferenceError {
  const isCompatible = workers.some(
    (worker) =>
      isIn(constraints.allowedWorkerIds, worker.workerId) &&
      isIn(constraints.availableWorkerIds, worker.workerId) &&
      carriesAll(worker, constraints.requiredTaints),
  )
  return {
    code: isCompatible ? 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED' : 'ROUTER_NO_ENDPOINTS',
    details: {},
  }
}

/** `exp(-tanh(sum of the weights of the preferred taints that the worker carries))`, weights as 32-bit floats. */
export function taintMultiplier(
  worker: SnapshotWorker,
  preferred: SnapshotConstraints['preferredTaints'],
): number {
  let sum = 0
  for (const [taint, weight] of preferred) {
    if (worker.taints.includes(taint)) sum += Math.fround(weight)
  }
  return Math.exp(-Math.tanh(sum))
}
