import type { WorkerRecord } from '@router/core'
import { RouterError, type WorkerRole } from '@router/sdk'
import type { EngineFacts, Provenance } from './engine-facts.js'
import type { Hindrance } from './hindrance.js'

/** What a worker is registered with (host.md 13.1). Absent = not given. */
export interface WorkerRegistration {
  /** u64. */
  readonly workerId: bigint
  /** With the routing group and the role its partition. Default `default`. */
  readonly modelName?: string | undefined
  /** Default `default`. */
  readonly routingGroup?: string | undefined
  /** Default `aggregated`. */
  readonly role?: WorkerRole | undefined
  /** Base URL; a worker without one cannot be scheduled. */
  readonly endpoint?: string | undefined
  /** Tokens a block; 0 = unknown. */
  readonly blockSize?: number | undefined
  /** Default 0. */
  readonly dataParallelStartRank?: number | undefined
  /** Ranks. Default 1. */
  readonly dataParallelSize?: number | undefined
  /** Of the only rank; for several ranks the base, to whose port each adds its number. */
  readonly kvEventsEndpoint?: string | undefined
  /** Rank by rank; wins over the base. */
  readonly kvEventsEndpoints?: ReadonlyMap<number, string> | undefined
  /** As `kvEventsEndpoint`. */
  readonly replayEndpoint?: string | undefined
  /** The engine connects and the router binds; for trusted sources alone. */
  readonly kvEventsBind?: boolean | undefined
  /** Tokens. */
  readonly maxNumBatchedTokens?: number | undefined
  /** Blocks a rank; 0 = not advertised. */
  readonly totalKvBlocks?: number | undefined
  readonly maxNumSeqs?: number | undefined
  readonly stableRoutingId?: string | undefined
  readonly incarnationId?: string | undefined
  /** Layout of speculative decoding. */
  readonly isEagle?: boolean | undefined
  readonly taints?: readonly string[] | undefined
  readonly topologyDomains?: ReadonlyMap<string, string> | undefined
  readonly kvRole?: string | undefined
  readonly acceptsNvext?: boolean | undefined
  readonly kvTransferDomain?: string | undefined
  readonly kvTransferEnforcement?: 'required' | 'preferred' | undefined
  readonly kvTransferPreferredWeight?: number | undefined
  readonly routerHintWorkerType?: string | undefined
  readonly routerHintSourceControlEndpoints?: ReadonlyMap<number, string> | undefined
  readonly kvEventSourceMode?: string | undefined
}

/** What may change of a worker where it is. */
export type WorkerChanges = Omit<WorkerRegistration, 'workerId' | 'modelName' | 'routingGroup' | 'role'>

/**
 * Who brought a worker: flags and files are trusted, and may leave out what can be learned or believed; `api` = the listener that proxies,
 * `selection` = the one that only selects, whose workers are never contacted.
 */
export type WorkerOrigin = 'trusted' | 'api' | 'selection'

export type WorkerLifecycle = 'incomplete' | 'schedulable' | 'draining' | 'unschedulable'

/** A worker as others see it. */
export interface WorkerView {
  /** With what its engine told where nobody said it. */
  readonly registration: WorkerRegistration
  /** Which values of it nobody gave. */
  readonly provenance: Provenance
  /** What its engine told; absent = it was not asked yet. */
  readonly facts: EngineFacts | undefined
  readonly origin: WorkerOrigin
  readonly lifecycle: WorkerLifecycle
  /** Processes of its engine before this one, as far as anybody noticed. */
  readonly incarnation: number
  /** Why it is incomplete or unschedulable, a sentence each; empty otherwise. */
  readonly reasons: readonly string[]
  /** What keeps it from new requests beside its record. */
  readonly hindrances: readonly Hindrance[]
}

const addressFields = [
  'endpoint',
  'kvEventsEndpoint',
  'kvEventsEndpoints',
  'replayEndpoint',
  'kvEventsBind',
] as const

/** Who a worker is of after a change: whoever gives it another address answers for it from then on. */
export function originAfter(
  changes: WorkerChanges,
  before: WorkerRegistration,
  origin: WorkerOrigin,
  by: WorkerOrigin,
): WorkerOrigin {
  const isMoved = addressFields.some((field) => (changes[field] ?? before[field]) !== before[field])
  return origin === 'trusted' && isMoved ? by : origin
}

const largestU64 = 0xffff_ffff_ffff_ffffn
const largestU32 = 0xffff_ffff
/** Ranks of one worker. */
const maximumRanks = 4096

/** First rank and number of ranks. */
export function ranksOf(registration: WorkerRegistration): {
  readonly first: number
  readonly count: number
} {
  return { first: registration.dataParallelStartRank ?? 0, count: registration.dataParallelSize ?? 1 }
}

/** Refuses what no record may say; everything else that is missing only makes it incomplete. Error: `ROUTER_BAD_REQUEST`. */
export function checkRegistration(registration: WorkerRegistration): void {
  const { workerId } = registration
  const { first, count } = ranksOf(registration)
  if (typeof workerId !== 'bigint' || workerId < 0n || workerId > largestU64)
    throw refused('worker_id', String(workerId), 'an unsigned 64-bit integer')
  if (!Number.isInteger(count) || count < 0 || count > maximumRanks)
    throw refused('data_parallel_size', count, `an integer from 0 to ${maximumRanks}`)
  if (!Number.isInteger(first) || first < 0 || first + count > largestU32)
    throw refused('data_parallel_start_rank', first, `an integer with start + size at most ${largestU32}`)
}

/** The record as the core takes it. */
export function coreRecordOf(registration: WorkerRegistration, provenance: Provenance): WorkerRecord {
  const { kvEventsEndpoints, topologyDomains, routerHintSourceControlEndpoints, ...others } = registration
  const { kvEventsBind: _bind, ...facts } = others
  return {
    ...facts,
    totalKvBlocksProvenance: provenance.totalKvBlocks === 'learned' ? 'learned' : undefined,
    kvEventsEndpoints: kvEventsEndpoints && Object.fromEntries(kvEventsEndpoints),
    topologyDomains: topologyDomains && Object.fromEntries(topologyDomains),
    routerHintSourceControlEndpoints:
      routerHintSourceControlEndpoints && Object.fromEntries(routerHintSourceControlEndpoints),
  }
}

function refused(key: string, value: unknown, accepted: string): RouterError {
  return new RouterError('ROUTER_BAD_REQUEST', `${key} must be ${accepted}, got ${String(value)}`, {
    [key]: value,
  })
}
