import type { WorkerInfo } from '@router/sdk'
import { RouterError } from '@router/sdk'

type Advertised = { readonly [K in keyof WorkerInfo as Exclude<K, 'workerId'>]?: WorkerInfo[K] | undefined }

/** What a host knows of a worker when it registers it: the fields of `WorkerInfo`. Absent = not advertised. */
export interface WorkerRecord extends Advertised {
  /** u64. */
  readonly workerId: bigint
  /** Default 0. */
  readonly dataParallelStartRank?: number | undefined
  /** Default 1; 0 = a worker without ranks. At most 4,096. */
  readonly dataParallelSize?: number | undefined
}

const maximumRanks = 4096
const maximumU32 = 0xffff_ffff
const maximumU64 = 0xffff_ffff_ffff_ffffn

/** The view of a worker that policies get: one frozen object, capacities of 0 read as not advertised. Error: `ROUTER_BAD_REQUEST`. */
export function workerInfoFrom(record: WorkerRecord): WorkerInfo {
  const { workerId, dataParallelStartRank: start = 0, dataParallelSize: size = 1 } = record
  if (typeof workerId !== 'bigint' || workerId < 0n || workerId > maximumU64) {
    throw badRecord(`workerId must be an unsigned 64-bit integer, got ${String(workerId)}`, { workerId })
  }
  if (!Number.isInteger(size) || size < 0 || size > maximumRanks) {
    throw badRecord(
      `worker ${workerId}: dataParallelSize must be an integer from 0 to ${maximumRanks}, got ${size}`,
      record,
    )
  }
  if (!Number.isInteger(start) || start < 0 || start + size > maximumU32) {
    throw badRecord(
      `worker ${workerId}: dataParallelStartRank must be an integer within u32, got ${start}`,
      record,
    )
  }
  const totalKvBlocks = capacityOf(workerId, 'totalKvBlocks', record.totalKvBlocks)
  return Object.freeze({
    workerId,
    modelName: record.modelName,
    routingGroup: record.routingGroup,
    role: record.role,
    endpoint: record.endpoint,
    blockSize: record.blockSize,
    dataParallelStartRank: start,
    dataParallelSize: size,
    kvEventsEndpoint: record.kvEventsEndpoint,
    kvEventsEndpoints: frozenCopy(record.kvEventsEndpoints),
    replayEndpoint: record.replayEndpoint,
    totalKvBlocks,
    totalKvBlocksProvenance:
      totalKvBlocks === undefined ? undefined : (record.totalKvBlocksProvenance ?? 'advertised'),
    maxNumBatchedTokens: capacityOf(workerId, 'maxNumBatchedTokens', record.maxNumBatchedTokens),
    maxNumSeqs: capacityOf(workerId, 'maxNumSeqs', record.maxNumSeqs),
    isEagle: record.isEagle,
    taints: Object.freeze([...new Set(record.taints)]),
    topologyDomains: Object.freeze({ ...record.topologyDomains }),
    stableRoutingId: record.stableRoutingId,
    incarnationId: record.incarnationId,
    kvRole: record.kvRole,
    acceptsNvext: record.acceptsNvext,
    kvTransferDomain: record.kvTransferDomain,
    kvTransferEnforcement: record.kvTransferEnforcement,
    kvTransferPreferredWeight: record.kvTransferPreferredWeight,
    routerHintWorkerType: record.routerHintWorkerType,
    routerHintSourceControlEndpoints: frozenCopy(record.routerHintSourceControlEndpoints),
    kvEventSourceMode: record.kvEventSourceMode,
    engine: record.engine,
    deviceKind: record.deviceKind,
    extra: Object.freeze({ ...record.extra }),
  })
}

function frozenCopy<T extends object>(value: T | undefined): T | undefined {
  return value === undefined ? undefined : Object.freeze({ ...value })
}

function capacityOf(workerId: bigint, key: string, value: number | undefined): number | undefined {
  if (value === undefined || value === 0) return undefined
  if (Number.isFinite(value) && value > 0) return value
  throw badRecord(`worker ${workerId}: ${key} must be a number >= 0, got ${value}`, {
    workerId,
    [key]: value,
  })
}

function badRecord(message: string, details: object): RouterError {
  return new RouterError('ROUTER_BAD_REQUEST', message, { ...details })
}
