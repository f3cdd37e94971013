import type { WorkerRank } from '@router/sdk'
import type { Candidate } from './default-cost.js'
import {
  appliedTarget,
  compareRanks,
  knownRanks,
  nothingEligible,
  pinError,
  rejectionOf,
  taintMultiplier,
} from './eligibility.js'
import type { ReferenceRandom } from './reference-random.js'
import type { ReferenceOutcome, ReferenceResult, Snapshot, SnapshotRequest, SnapshotRow } from './snapshot.js'

/** The index chosen, and what explains it. Indexes are into the candidates. */
export interface ReferencePick {
  readonly chosen: number
  readonly tieSet: readonly number[]
  readonly mode?: string
  readonly warned?: readonly number[]
}

/** A policy as the oracle's host runs it: one scorer and one picker. */
export interface ReferencePolicy {
  readonly affinity: 'exclusive' | 'advisory'
  /** Whether accounting sees cache facts. */
  readonly declaresCache: boolean
  readonly score: (request: SnapshotRequest, candidates: readonly Candidate[]) => number[]
  readonly pick: (
    candidates: readonly Candidate[],
    costs: readonly number[],
    isPinned: boolean,
    random: ReferenceRandom,
  ) => ReferencePick
}

/** The facts of a rank that has no row. */
const coldRow = {
  deviceOverlapBlocks: 0,
  hostOverlapBlocks: 0,
  diskOverlapBlocks: 0,
  estimateBlocks: 0,
  estimateTokens: 0,
}

/** Facts by rank. */
type Facts = ReadonlyMap<string, SnapshotRow>

const keyOf = ({ workerId, dpRank }: WorkerRank): string => `${workerId}.${dpRank}`

function rowOf(facts: Facts, rank: WorkerRank): SnapshotRow {
  const row = facts.get(keyOf(rank))
  if (row === undefined) return { ...rank, ...coldRow, load: null }
  return row.cacheUnknown === true ? { ...row, ...coldRow } : row
}

function candidateOf(snapshot: Snapshot, facts: Facts, rank: WorkerRank): Candidate {
  const { preferredTaints, pinnedWorker } = snapshot.constraints
  const worker = snapshot.workers.find(({ workerId }) => workerId === rank.workerId)!
  const applies = preferredTaints.length > 0 && pinnedWorker === null
  const capacity = worker.totalKvBlocks ?? 0
  const row = rowOf(facts, rank)
  // Named one by one: a spread of so many rows takes most of the oracle's time.
  return {
    workerId: row.workerId,
    dpRank: row.dpRank,
    deviceOverlapBlocks: row.deviceOverlapBlocks,
    hostOverlapBlocks: row.hostOverlapBlocks,
    diskOverlapBlocks: row.diskOverlapBlocks,
    estimateBlocks: row.estimateBlocks,
    estimateTokens: row.estimateTokens,
    load: row.load,
    taintMultiplier: applies ? taintMultiplier(worker, preferredTaints) : null,
    totalKvBlocks: capacity > 0 ? capacity : null,
  }
}

/** Tokens that all tiers of exactly this rank hold, not clamped to the prompt. */
function rawReuse(candidate: Candidate, blockSize: number): number {
  const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks } = candidate
  return (deviceOverlapBlocks + hostOverlapBlocks + diskOverlapBlocks) * blockSize
}

/** The rank with the largest device overlap of all known ranks, eligible or not; the first in canonical order wins. */
function bestOverlap(
  known: readonly WorkerRank[],
  facts: Facts,
): { worker: WorkerRank | undefined; blocks: number } {
  let worker: WorkerRank | undefined
  let blocks = 0
  for (const rank of known) {
    const { deviceOverlapBlocks } = rowOf(facts, rank)
    if (deviceOverlapBlocks > blocks) {
      worker = rank
      blocks = deviceOverlapBlocks
    }
  }
  return { worker, blocks }
}

function resultOf(
  { request }: Snapshot,
  best: ReturnType<typeof bestOverlap>,
  policy: ReferencePolicy,
  candidates: readonly Candidate[],
  chosen: Candidate,
): ReferenceResult {
  const { promptTokens, blockSize, tracked, trackedHashes } = request
  const requiredBlocks = Math.ceil(promptTokens / blockSize)
  const reuse = (candidate: Candidate): number => (policy.declaresCache ? rawReuse(candidate, blockSize) : 0)
  return {
    workerId: chosen.workerId,
    dpRank: chosen.dpRank,
    requiredBlocks,
    effectiveOverlapBlocks: policy.declaresCache ? chosen.estimateBlocks : 0,
    cachedTokens: policy.declaresCache ? chosen.estimateTokens : 0,
    maxRawCachedTokens: tracked
      ? candidates.map(reuse).reduce((max, one) => Math.max(max, one), 0)
      : undefined,
    selectedRawCachedTokens: tracked ? reuse(chosen) : undefined,
    potentialDecodeBlocks:
      (chosen.load?.decodeCostBlocks ?? 0) + Math.max(0, requiredBlocks - (trackedHashes ?? 0)),
    bestOverlapWorker: best.worker,
    bestOverlapBlocks: best.blocks,
  }
}

/** Eligibility, costs, pick and result of one selection. A query leaves `random` where it was. */
export function selectWith(
  snapshot: Snapshot,
  policy: ReferencePolicy,
  random: ReferenceRandom,
): ReferenceOutcome {
  const { constraints, request } = snapshot
  const pin = constraints.pinnedWorker
  const applied = appliedTarget(snapshot, policy.affinity)

  const eligible: WorkerRank[] = []
  const rejected: [WorkerRank, NonNullable<ReturnType<typeof rejectionOf>>][] = []
  const known = knownRanks(snapshot)
  for (const rank of known) {
    const reason = rejectionOf(snapshot, rank, applied)
    if (reason !== undefined) rejected.push([rank, reason])
    else if (pin === null || compareRanks(pin, rank) === 0) eligible.push(rank)
  }

  const nothing: ReferenceOutcome = {
    eligible,
    rejected,
    costs: [],
    taintMultipliers: undefined,
    tieSet: [],
    mode: undefined,
    warned: [],
    result: undefined,
    error: undefined,
  }
  const refused = pinError(snapshot, applied)
  if (refused !== undefined) return { ...nothing, eligible: [], error: refused }
  if (eligible.length === 0) return { ...nothing, error: nothingEligible(snapshot) }

  const facts: Facts = new Map(snapshot.rows.map((row) => [keyOf(row), row]))
  const candidates = eligible.map((rank) => candidateOf(snapshot, facts, rank))
  const multipliers = candidates.map(({ taintMultiplier: multiplier }) => multiplier)
  const taintMultipliers = multipliers.filter((multiplier) => multiplier !== null)
  const scored: ReferenceOutcome = {
    ...nothing,
    // The sum over all scorers starts at +0.
    costs: policy.score(request, candidates).map((cost) => 0 + cost),
    taintMultipliers: taintMultipliers.length === 0 ? undefined : taintMultipliers,
  }
  const bad = scored.costs.findIndex((cost) => !Number.isFinite(cost))
  if (bad >= 0) {
    return { ...scored, error: { code: 'ROUTER_NON_FINITE_COST', details: { scorerIndex: 0, row: bad } } }
  }

  const before = random.state
  const { chosen, tieSet, mode, warned = [] } = policy.pick(candidates, scored.costs, pin !== null, random)
  if (!request.tracked) random.state = before
  return {
    ...scored,
    tieSet: tieSet.map((index) => eligible[index]!),
    mode,
    warned: warned.map((index) => eligible[index]!),
    result: resultOf(snapshot, bestOverlap(known, facts), policy, candidates, candidates[chosen]!),
  }
}
