import type { ResolvedPolicy, RouterDefaults, WorkerRank, WorkerRole } from '@router/sdk'
import type { ReferenceResult } from '../snapshot.js'

// What the parity suite asks of a host, in its own words: `@router/core` fits, and so may another host.

/** The worker table of the host under test; `WorkerTable` of `@router/core` fits. */
export interface HostTable {
  upsertWorker(record: {
    readonly workerId: bigint
    readonly dataParallelStartRank: number
    readonly dataParallelSize: number
    readonly taints: readonly string[]
    readonly totalKvBlocks?: number
  }): void
  removeWorker(workerId: bigint): boolean
  setAvailableWorkers(ids: readonly bigint[] | undefined): void
  setOverloadedWorkers(ids: readonly bigint[]): void
  setOverloaded(slot: number, overloaded: boolean): void
  slotOf(workerId: bigint, dpRank: number): number
  setLoad(slot: number, activePrefillTokens: number, decodeCostBlocks: number, activeRequests: number): void
  clearLoad(slot: number): void
  setOverlap(
    slot: number,
    device: number,
    host: number,
    disk: number,
    estimateBlocks: number,
    estimateTokens: number,
  ): void
  setCacheUnknown(slot: number): void
  clearOverlaps(): void
}

/** What `select` and `explain` of the host under test take. */
export interface HostRequest {
  readonly mode: 'tracked' | 'query'
  readonly promptTokens: number
  readonly blockSize: number
  readonly tracksPrefillTokens: boolean
  readonly prefixHashes:
    | { readonly count: number; readonly high: Uint32Array; readonly low: Uint32Array }
    | undefined
  readonly hasTierMatches: boolean
  readonly sharedHits:
    | { readonly count: number; readonly starts: Uint32Array; readonly ends: Uint32Array }
    | undefined
  readonly allowedWorkerIds: readonly bigint[] | undefined
  readonly pinnedWorker: WorkerRank | undefined
  readonly affinityTarget: { readonly workerId: bigint; readonly dpRank?: number } | undefined
  readonly requiredTaints: readonly string[]
  readonly preferredTaints: readonly { readonly taint: string; readonly weight: number }[]
  readonly routerTemperatureOverride: number | undefined
}

/** One rank of an explanation. */
export interface HostExplanationRow {
  readonly workerId: bigint
  readonly dpRank: number
  readonly rejection?: string
  readonly total?: number
  readonly taintMultiplier?: number
}

export interface HostSelector {
  select(request: HostRequest): ReferenceResult
  explain(request: HostRequest): {
    readonly rows: readonly HostExplanationRow[]
    readonly tieSet: readonly WorkerRank[]
    readonly mode?: string
    readonly error?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> }
  }
}

export interface HostSelectorOptions<T> {
  readonly table: T
  readonly policy: ResolvedPolicy
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
  readonly routerDefaults?: RouterDefaults
  readonly entropy: () => bigint
  readonly nowMs: () => number
  readonly onWarning: (warning: {
    readonly code: string
    readonly workerId?: bigint
    readonly dpRank?: number
  }) => void
}

/** The host under test, handed over by the caller so that this package depends on none. */
export interface Host<T extends HostTable> {
  readonly createTable: () => T
  readonly createSelector: (options: HostSelectorOptions<T>) => HostSelector
}
