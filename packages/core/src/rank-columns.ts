import { RouterError } from '@router/sdk'
import type { ColumnMemory } from './column-memory.js'
import { ColumnSet, type GroupName } from './column-set.js'

const storedGroups: readonly GroupName[] = [
  'identity',
  'cache',
  'reuse',
  'load',
  'capacity',
  'occupancy',
  'prefillTime',
]

/** The facts of ranks, row by row, and how many rows lack some. */
export class RankColumns extends ColumnSet {
  /** Rows without a load projection. */
  unknownLoads = 0
  /** Rows whose cache state is unknown. */
  unknownCaches = 0

  constructor(memory: ColumnMemory) {
    super(memory, storedGroups)
  }

  writeLoad(
    row: number,
    activePrefillTokens: number,
    decodeCostBlocks: number,
    activeRequests: number,
  ): void {
    const load = this.views.load!
    checkFinite('load', restOf(activePrefillTokens) + restOf(decodeCostBlocks) + restOf(activeRequests))
    if (load.isAvailable[row] === 0) this.unknownLoads--
    load.isAvailable[row] = 1
    load.activePrefillTokens[row] = activePrefillTokens
    load.decodeCostBlocks[row] = decodeCostBlocks
    load.activeRequests[row] = activeRequests
  }

  writeUnknownLoad(row: number): void {
    const load = this.views.load!
    if (load.isAvailable[row] === 1) this.unknownLoads++
    load.isAvailable[row] = 0
    load.activePrefillTokens[row] = load.decodeCostBlocks[row] = load.activeRequests[row] = Number.NaN
  }

  writeOverlap(
    row: number,
    device: number,
    host: number,
    disk: number,
    estimate: number,
    estimateTokens: number,
  ): void {
    const cache = this.views.cache!
    const rest = restOf(device) + restOf(host) + restOf(disk) + restOf(estimate) + restOf(estimateTokens)
    checkFinite('overlap', rest)
    if (cache.isAvailable[row] === 0) this.unknownCaches--
    cache.isAvailable[row] = 1
    cache.deviceOverlapBlocks[row] = device
    cache.hostOverlapBlocks[row] = host
    cache.diskOverlapBlocks[row] = disk
    cache.estimateBlocks[row] = estimate
    cache.estimateTokens[row] = estimateTokens
    this.views.reuse!.rawBlocks[row] = device + host + disk
  }

  writeUnknownCache(row: number): void {
    const cache = this.views.cache!
    if (cache.isAvailable[row] === 1) this.unknownCaches++
    cache.isAvailable[row] = 0
    cache.deviceOverlapBlocks[row] = cache.hostOverlapBlocks[row] = cache.diskOverlapBlocks[row] = Number.NaN
    cache.estimateBlocks[row] = cache.estimateTokens[row] = this.views.reuse!.rawBlocks[row] = Number.NaN
  }

  writeReservations(row: number, reservations: number): void {
    this.views.occupancy!.reservations[row] = reservations
  }

  writeCacheHits(row: number, cacheHits: number): void {
    this.views.occupancy!.cacheHits[row] = cacheHits
  }

  writePrefillBacklog(row: number, backlogMs: number): void {
    this.views.prefillTime!.backlogMs[row] = backlogMs
  }

  /** Counts the unknown rows anew, after rows were moved or copied. */
  recount(count: number): void {
    this.unknownLoads = countZeros(this.views.load!.isAvailable, count)
    this.unknownCaches = countZeros(this.views.cache!.isAvailable, count)
  }
}

function countZeros(column: Uint8Array, count: number): number {
  let zeros = 0
  for (let row = 0; row < count; row++) if (column[row] === 0) zeros++
  return zeros
}

/** 0 for a finite number, else NaN; added up, it tells of any that is not. */
function restOf(value: number): number {
  return value - value
}

function checkFinite(what: string, rest: number): void {
  if (rest === 0) return
  throw new RouterError('ROUTER_BAD_REQUEST', `${what} values must be finite; leave unknown ones out`, {})
}
