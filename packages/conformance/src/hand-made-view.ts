import type { SharedHits, WorkerCandidates, WorkerInfo, WorkerInputName, WorkerInputs } from '@router/sdk'
import { canonicalRowsOf, compareRanks } from './canonical-order.js'

/** Cached prefix of one row; what is left out is 0, the estimate `device + 0.75 x host + 0.25 x disk`. */
export interface RowCache {
  /** Blocks on the device tier. */
  readonly deviceOverlapBlocks?: number
  /** Blocks on the host tier, beyond the device tier. */
  readonly hostOverlapBlocks?: number
  /** Blocks on the disk tier, beyond the faster tiers. */
  readonly diskOverlapBlocks?: number
  /** Fractional blocks. */
  readonly estimateBlocks?: number
  /** Tokens; left out = `round(estimateBlocks x 16)`. */
  readonly estimateTokens?: number
}

/** Load of one row; what is left out is 0. */
export interface RowLoad {
  /** Tokens. */
  readonly activePrefillTokens?: number
  /** Blocks, those of this request included. */
  readonly decodeCostBlocks?: number
  /** Requests, this one excluded. */
  readonly activeRequests?: number
}

/** One candidate, as a person writes it. A fact left out reads as the host's neutral value: cold, idle, not advertised. */
export interface HandMadeRow {
  /** Unsigned 64-bit integer. */
  readonly workerId: bigint
  /** Left out = 0. */
  readonly dpRank?: number
  /** Left out = cold. */
  readonly cache?: RowCache | 'unknown'
  /** Left out = idle. */
  readonly load?: RowLoad | 'unknown'
  /** Left out = 1. */
  readonly taintMultiplier?: number
  /** Blocks; left out or 0 = not advertised. */
  readonly totalKvBlocks?: number
  /** Tokens; left out or 0 = not advertised. */
  readonly maxNumBatchedTokens?: number
  /** Live host reservations; left out = 0. */
  readonly reservations?: number
  /** Encoder-cache entries of the request; left out = 0. */
  readonly cacheHits?: number
  /** Milliseconds; left out = NaN, not modelled. */
  readonly prefillBacklogMs?: number
  /** Further facts that the worker advertised; `undefined` = the worker has left. Absent = a bare record. */
  readonly worker?: Partial<WorkerInfo> | undefined
}

/** What belongs to the view as a whole. */
export interface HandMadeViewOptions {
  /** Groups that exist; left out = all six. */
  readonly groups?: WorkerInputs
  /** Left out = whether some row has a device, host or disk overlap. */
  readonly hasTierMatches?: boolean
  /** Left out = nobody looked. */
  readonly sharedHits?: SharedHits
  /** Left out = whether some row has a `taintMultiplier`. */
  readonly taintApplies?: boolean
  /** Rows past `count`, whose facts a policy must never read. */
  readonly leftOvers?: readonly HandMadeRow[]
  /** True = `canonicalRows` is filled even when the rows already are in canonical order. */
  readonly writesCanonicalRows?: boolean
}

/** Candidates made by hand, with every group of `groups` present and the worker of each row beside them. */
export type HandMadeView = WorkerCandidates & {
  /** Row-aligned; ranks of one worker share the object. `undefined` = the worker has left. */
  readonly workers: readonly (WorkerInfo | undefined)[]
}

/**
 * Builds candidates from rows, in the order given; `canonicalRows` follows from that order.
 * Groups that `groups` leaves out are `undefined`.
 */
export function handMadeView(rows: readonly HandMadeRow[], options: HandMadeViewOptions = {}): HandMadeView {
  const all = [...rows, ...(options.leftOvers ?? [])]
  const has = (name: WorkerInputName): boolean =>
    options.groups === undefined || options.groups.includes(name)
  const ids = rows.map((row) => row.workerId)
  return {
    count: rows.length,
    canonicalRows: canonicalRowsOf(
      rows.map(rankOf),
      options.writesCanonicalRows === true,
      options.leftOvers?.length,
    ),
    workerIdHigh: uint32(all, (row) => Number(row.workerId >> 32n)),
    workerIdLow: uint32(all, (row) => Number(row.workerId & 0xffff_ffffn)),
    dpRank: uint32(all, (row) => row.dpRank ?? 0),
    workerId: (row) => ids[row]!,
    cache: has('cache') ? cacheColumns(rows, all, options) : undefined,
    load: has('load') ? loadColumns(rows, all) : undefined,
    preferredTaint: has('preferredTaint')
      ? {
          applies: options.taintApplies ?? rows.some((row) => row.taintMultiplier !== undefined),
          multiplier: float64(all, (row) => row.taintMultiplier ?? 1),
        }
      : undefined,
    capacity: has('capacity')
      ? {
          totalKvBlocks: float64(all, (row) => advertised(row.totalKvBlocks)),
          maxNumBatchedTokens: float64(all, (row) => advertised(row.maxNumBatchedTokens)),
        }
      : undefined,
    occupancy: has('occupancy')
      ? {
          reservations: uint32(all, (row) => row.reservations ?? 0),
          deviceKind: uint8(all, (row) => (row.worker?.deviceKind === 'cpu' ? 1 : 0)),
          cacheHits: uint32(all, (row) => row.cacheHits ?? 0),
        }
      : undefined,
    prefillTime: has('prefillTime')
      ? { backlogMs: float64(all, (row) => row.prefillBacklogMs ?? NaN) }
      : undefined,
    workers: workersOf(rows),
  }
}

/** One record per worker of the rows, in canonical order, as `onWorkersChanged` receives them. */
export function workerInfosOf(rows: readonly HandMadeRow[]): readonly WorkerInfo[] {
  const known = knownInfos.get(rows)
  if (known !== undefined) return known
  const ordered = rows.toSorted((a, b) => compareRanks(rankOf(a), rankOf(b)))
  const infos = [...new Set(workersOf(ordered))].filter((worker) => worker !== undefined)
  knownInfos.set(rows, infos)
  return infos
}

const knownInfos = new WeakMap<readonly HandMadeRow[], readonly WorkerInfo[]>()

function workersOf(rows: readonly HandMadeRow[]): (WorkerInfo | undefined)[] {
  const ranks = new Map<bigint, HandMadeRow[]>()
  for (const row of rows) {
    const known = ranks.get(row.workerId)
    if (known === undefined) ranks.set(row.workerId, [row])
    else known.push(row)
  }
  const infos = new Map(Array.from(ranks, ([workerId, own]) => [workerId, workerInfo(own)]))
  return rows.map((row) => infos.get(row.workerId))
}

function workerInfo(ranks: readonly HandMadeRow[]): WorkerInfo | undefined {
  const row = ranks[0]!
  if ('worker' in row && row.worker === undefined) return undefined
  const start = Math.min(...ranks.map(({ dpRank = 0 }) => dpRank))
  const end = Math.max(...ranks.map(({ dpRank = 0 }) => dpRank))
  return Object.freeze({
    workerId: row.workerId,
    modelName: undefined,
    routingGroup: undefined,
    role: undefined,
    endpoint: undefined,
    blockSize: undefined,
    dataParallelStartRank: start,
    dataParallelSize: end - start + 1,
    kvEventsEndpoint: undefined,
    kvEventsEndpoints: undefined,
    replayEndpoint: undefined,
    totalKvBlocks: positive(row.totalKvBlocks),
    totalKvBlocksProvenance: positive(row.totalKvBlocks) === undefined ? undefined : 'advertised',
    maxNumBatchedTokens: positive(row.maxNumBatchedTokens),
    maxNumSeqs: undefined,
    isEagle: undefined,
    taints: [],
    topologyDomains: {},
    stableRoutingId: undefined,
    incarnationId: undefined,
    kvRole: undefined,
    acceptsNvext: undefined,
    kvTransferDomain: undefined,
    kvTransferEnforcement: undefined,
    kvTransferPreferredWeight: undefined,
    routerHintWorkerType: undefined,
    routerHintSourceControlEndpoints: undefined,
    kvEventSourceMode: undefined,
    engine: undefined,
    deviceKind: undefined,
    extra: {},
    ...row.worker,
  })
}

function cacheColumns(
  rows: readonly HandMadeRow[],
  all: readonly HandMadeRow[],
  options: HandMadeViewOptions,
) {
  const known = all.map((row) => (row.cache === 'unknown' ? undefined : completeCache(row.cache ?? {})))
  const column = (name: keyof RowCache): Float64Array =>
    float64(known, (cache) => (cache === undefined ? NaN : cache[name]))
  return {
    deviceOverlapBlocks: column('deviceOverlapBlocks'),
    hostOverlapBlocks: column('hostOverlapBlocks'),
    diskOverlapBlocks: column('diskOverlapBlocks'),
    estimateBlocks: column('estimateBlocks'),
    estimateTokens: column('estimateTokens'),
    isAvailable: uint8(known, (cache) => (cache === undefined ? 0 : 1)),
    allAvailable: rows.every((row) => row.cache !== 'unknown'),
    hasTierMatches: options.hasTierMatches ?? known.slice(0, rows.length).some(hasTiers),
    sharedHits: options.sharedHits,
  }
}

export function completeCache(cache: RowCache): Required<RowCache> {
  const { deviceOverlapBlocks = 0, hostOverlapBlocks = 0, diskOverlapBlocks = 0 } = cache
  const weighted = deviceOverlapBlocks + 0.75 * hostOverlapBlocks + 0.25 * diskOverlapBlocks
  const { estimateBlocks = weighted } = cache
  const { estimateTokens = Math.round(estimateBlocks * 16) } = cache
  return { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens }
}

function hasTiers(cache: Required<RowCache> | undefined): boolean {
  if (cache === undefined) return false
  return cache.deviceOverlapBlocks > 0 || cache.hostOverlapBlocks > 0 || cache.diskOverlapBlocks > 0
}

function loadColumns(rows: readonly HandMadeRow[], all: readonly HandMadeRow[]) {
  const column = (name: keyof RowLoad): Float64Array =>
    float64(all, (row) => (row.load === 'unknown' ? NaN : (row.load?.[name] ?? 0)))
  return {
    isAvailable: uint8(all, (row) => (row.load === 'unknown' ? 0 : 1)),
    allAvailable: rows.every((row) => row.load !== 'unknown'),
    activePrefillTokens: column('activePrefillTokens'),
    decodeCostBlocks: column('decodeCostBlocks'),
    activeRequests: column('activeRequests'),
  }
}

// Loops: `from` with a mapping function goes through iterators, ten times as slow.
function float64<T>(rows: readonly T[], valueOf: (row: T) => number): Float64Array {
  const column = new Float64Array(rows.length)
  for (let row = 0; row < rows.length; row++) column[row] = valueOf(rows[row]!)
  return column
}

function uint32<T>(rows: readonly T[], valueOf: (row: T) => number): Uint32Array {
  const column = new Uint32Array(rows.length)
  for (let row = 0; row < rows.length; row++) column[row] = valueOf(rows[row]!)
  return column
}

function uint8<T>(rows: readonly T[], valueOf: (row: T) => number): Uint8Array {
  const column = new Uint8Array(rows.length)
  for (let row = 0; row < rows.length; row++) column[row] = valueOf(rows[row]!)
  return column
}

function advertised(value: number | undefined): number {
  return positive(value) ?? NaN
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined
}

function rankOf(row: HandMadeRow): { workerId: bigint; dpRank: number } {
  return { workerId: row.workerId, dpRank: row.dpRank ?? 0 }
}
