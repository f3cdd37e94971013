import type { PolicyDefinition, ResolvedPolicy, RouterDefaults, WorkerRank, WorkerRole } from '@router/sdk'
import { compareRanks } from '../eligibility.js'
import type { ReferenceError, ReferenceResult, RejectionReason, Snapshot } from '../snapshot.js'
import type { Host, HostRequest, HostSelector, HostTable } from './host-contract.js'
import type {
  ParityExplanation,
  ParityImplementation,
  ParityOutcome,
  ParitySubject,
} from './implementation.js'

/** How the policy under test is built from the options of a case. */
export interface HostPolicy {
  readonly policy: ResolvedPolicy
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
  readonly routerDefaults?: RouterDefaults
  /** Seed of streams that the policy's own parameters do not seed. */
  readonly seed: bigint
}

/**
 * A policy behind a host, as an implementation for the parity suite. One table and one selector serve all snapshots of an object, so
 * workers join, leave and change between them as they do in a live router.
 */
export function hostImplementation<O, T extends HostTable>(
  host: Host<T>,
  policyFor: (options: O) => HostPolicy,
): ParityImplementation<O> {
  return {
    create: (options) => {
      const { policy, role, conditionalDisaggregation, routerDefaults, seed } = policyFor(options)
      const table = host.createTable()
      const seen: Seen = { ranks: undefined, costs: undefined }
      const warnings: { code: string; rank: WorkerRank | undefined }[] = []
      const selector = host.createSelector({
        table,
        policy: { ...policy, definition: recordingPicker(policy.definition, seen) },
        role,
        conditionalDisaggregation,
        ...(routerDefaults === undefined ? {} : { routerDefaults }),
        entropy: () => seed,
        nowMs: () => 0,
        onWarning: ({ code, workerId, dpRank }) => {
          warnings.push({
            code,
            rank: workerId === undefined ? undefined : { workerId, dpRank: dpRank ?? 0 },
          })
        },
      })
      return subjectOf(table, selector, seen, warnings)
    },
  }
}

/** What the picker saw last. */
interface Seen {
  ranks: WorkerRank[] | undefined
  costs: number[] | undefined
}

/** The same policy, with a picker that copies the totals it is given. */
function recordingPicker(definition: PolicyDefinition, seen: Seen): PolicyDefinition {
  return {
    ...definition,
    create: (parameters, scope) => {
      const policy = definition.create(parameters, scope)
      const pick: typeof policy.picker.pick = (context, candidates, costs) => {
        const { count, dpRank, workerId } = candidates as {
          count: number
          dpRank: Uint32Array
          workerId: (row: number) => bigint
        }
        seen.ranks = Array.from({ length: count }, (_, row) => ({
          workerId: workerId(row),
          dpRank: dpRank[row]!,
        }))
        seen.costs = [...costs.subarray(0, count)]
        return policy.picker.pick(context, candidates, costs)
      }
      return { ...policy, picker: { ...policy.picker, pick } }
    },
  }
}

function subjectOf(
  table: HostTable,
  selector: HostSelector,
  seen: Seen,
  warnings: { code: string; rank: WorkerRank | undefined }[],
): ParitySubject {
  const known = new Set<bigint>()
  let current: Snapshot | undefined
  const apply = (snapshot: Snapshot): HostRequest => {
    // Writing the same facts again would hide state that a selection leaves behind.
    if (snapshot !== current) writeFacts(table, known, snapshot)
    current = snapshot
    return requestOf(snapshot)
  }
  return {
    select: (snapshot) => {
      const request = apply(snapshot)
      seen.ranks = seen.costs = undefined
      warnings.length = 0
      const decided = settle(() => copyOf(selector.select(request)))
      const outcome: ParityOutcome = { ...seen, ...decided, warnings: [...warnings] }
      return outcome
    },
    explain: (snapshot) => {
      const { rows, tieSet, mode, error } = selector.explain(apply(snapshot))
      const kept = rows.filter(({ total }) => total !== undefined)
      const applies = kept.some(({ taintMultiplier }) => taintMultiplier !== undefined)
      const explanation: ParityExplanation = {
        rejected: rows.flatMap(({ workerId, dpRank, rejection }) =>
          rejection === undefined ? [] : [[{ workerId, dpRank }, rejection as RejectionReason] as const],
        ),
        costs: kept.map(({ total }) => total!),
        taintMultipliers: applies
          ? kept.map(({ taintMultiplier }) => taintMultiplier ?? Number.NaN)
          : undefined,
        tieSet,
        mode,
        error: error === undefined ? undefined : { code: error.code, details: error.details },
      }
      return explanation
    },
  }
}

/** The host may keep its result in getters over columns, so every field is read by name. */
function copyOf(result: ReferenceResult): ReferenceResult {
  return {
    workerId: result.workerId,
    dpRank: result.dpRank,
    requiredBlocks: result.requiredBlocks,
    effectiveOverlapBlocks: result.effectiveOverlapBlocks,
    cachedTokens: result.cachedTokens,
    maxRawCachedTokens: result.maxRawCachedTokens,
    selectedRawCachedTokens: result.selectedRawCachedTokens,
    potentialDecodeBlocks: result.potentialDecodeBlocks,
    bestOverlapWorker: result.bestOverlapWorker,
    bestOverlapBlocks: result.bestOverlapBlocks,
  }
}

function settle(select: () => ReferenceResult): Pick<ParityOutcome, 'result' | 'error'> {
  try {
    return { result: select(), error: undefined }
  } catch (error) {
    const { code, details } = error as ReferenceError
    if (code === undefined) throw error
    return { result: undefined, error: { code, details } }
  }
}

function writeFacts(table: HostTable, known: Set<bigint>, snapshot: Snapshot): void {
  const { constraints, workers, rows } = snapshot
  for (const id of known) if (!workers.some(({ workerId }) => workerId === id)) table.removeWorker(id)
  known.clear()
  for (const { workerId, startRank, rankCount, taints, totalKvBlocks } of workers) {
    known.add(workerId)
    table.upsertWorker({
      workerId,
      dataParallelStartRank: startRank,
      dataParallelSize: rankCount,
      taints,
      ...(totalKvBlocks === undefined || totalKvBlocks === null ? {} : { totalKvBlocks }),
    })
  }
  table.setAvailableWorkers(constraints.availableWorkerIds ?? undefined)
  table.setOverloadedWorkers(constraints.overloadedWorkerIds ?? [])
  for (const { workerId, dpRank } of constraints.overloadedRanks ?? []) {
    const slot = table.slotOf(workerId, dpRank)
    if (slot >= 0) table.setOverloaded(slot, true)
  }
  table.clearOverlaps()
  for (const { workerId, startRank, rankCount } of workers) {
    for (let dpRank = startRank; dpRank < startRank + rankCount; dpRank++) {
      const slot = table.slotOf(workerId, dpRank)
      const row = rows.find((other) => compareRanks(other, { workerId, dpRank }) === 0)
      const load = row?.load ?? null
      if (load === null) table.clearLoad(slot)
      else table.setLoad(slot, load.activePrefillTokens, load.decodeCostBlocks, load.activeRequests)
      if (row === undefined) continue
      if (row.cacheUnknown === true) {
        table.setCacheUnknown(slot)
        continue
      }
      table.setOverlap(
        slot,
        row.deviceOverlapBlocks,
        row.hostOverlapBlocks,
        row.diskOverlapBlocks,
        row.estimateBlocks,
        row.estimateTokens,
      )
    }
  }
}

function requestOf({ request, constraints }: Snapshot): HostRequest {
  const { trackedHashes, sharedHits } = request
  const { affinityTarget, preferredTaints } = constraints
  return {
    mode: request.tracked ? 'tracked' : 'query',
    promptTokens: request.promptTokens,
    blockSize: request.blockSize,
    tracksPrefillTokens: request.tracksPrefillTokens,
    prefixHashes:
      trackedHashes === null
        ? undefined
        : {
            count: trackedHashes,
            high: new Uint32Array(trackedHashes),
            low: Uint32Array.from({ length: trackedHashes }, (_, block) => block + 1),
          },
    hasTierMatches: request.hasTierMatches,
    sharedHits:
      sharedHits === null
        ? undefined
        : {
            count: sharedHits.length,
            starts: Uint32Array.from(sharedHits, ([start]) => start),
            ends: Uint32Array.from(sharedHits, ([, end]) => end),
          },
    allowedWorkerIds: constraints.allowedWorkerIds ?? undefined,
    pinnedWorker: constraints.pinnedWorker ?? undefined,
    affinityTarget:
      affinityTarget === null
        ? undefined
        : affinityTarget.dpRank === null
          ? { workerId: affinityTarget.workerId }
          : { workerId: affinityTarget.workerId, dpRank: affinityTarget.dpRank },
    requiredTaints: constraints.requiredTaints,
    preferredTaints: preferredTaints.map(([taint, weight]) => ({ taint, weight })),
    routerTemperatureOverride: request.routerTemperatureOverride,
  }
}
