import type { WorkerRank, WorkerSelectionContext } from '@router/sdk'
import type { PolicyIdentity, SelectionResult } from './request.js'
import type { WorkerTable } from './worker-table.js'

// Positions in the numbers of a result; a double in a plain field would be boxed at every selection.
const effectiveOverlap = 0
const cached = 1
const maximumRaw = 2
const selectedRaw = 3
const potentialDecode = 4

/** The result object of one selector, overwritten by each selection. */
export class LiveResult implements SelectionResult {
  // Copied, not looked up when read: workers may change before the caller reads the result.
  workerId = 0n
  dpRank = 0
  slot = 0
  requiredBlocks = 0
  reservesOccupancy = true
  policy: PolicyIdentity
  readonly numbers = new Float64Array(5)
  readonly #table: WorkerTable

  constructor(table: WorkerTable, policy: PolicyIdentity) {
    this.#table = table
    this.policy = policy
  }

  get effectiveOverlapBlocks(): number {
    return this.numbers[effectiveOverlap]!
  }

  get cachedTokens(): number {
    return this.numbers[cached]!
  }

  get maxRawCachedTokens(): number | undefined {
    return knownOrUndefined(this.numbers[maximumRaw]!)
  }

  get selectedRawCachedTokens(): number | undefined {
    return knownOrUndefined(this.numbers[selectedRaw]!)
  }

  get potentialDecodeBlocks(): number {
    return this.numbers[potentialDecode]!
  }

  get bestOverlapWorker(): WorkerRank | undefined {
    const row = this.#bestOverlapRow()
    if (row < 0) return undefined
    const table = this.#table
    return {
      workerId: table.workers[table.workerOfRow[row]!]!.workerId,
      dpRank: table.columns.views.identity!.dpRank[row]!,
    }
  }

  get bestOverlapBlocks(): number {
    const row = this.#bestOverlapRow()
    return row < 0 ? 0 : this.#table.columns.views.cache!.deviceOverlapBlocks[row]!
  }

  /**
   * Fills the result from the chosen row of the table. A failed selection never gets here.
   * @param maximumRawBlocks largest raw reuse over kept rows, blocks; ignored for a query
   */
  fill(
    row: number,
    request: { readonly blockSize: number; readonly requestBlocks: number; readonly queryOnly: boolean },
    trackedHashes: number,
    usesCache: boolean,
    maximumRawBlocks: Float64Array,
  ): void {
    const table = this.#table
    const { cache, load, identity } = table.columns.views
    const numbers = this.numbers
    const blocks = request.requestBlocks
    this.workerId = table.workers[table.workerOfRow[row]!]!.workerId
    this.dpRank = identity!.dpRank[row]!
    this.slot = table.slotOfRow[row]!
    this.requiredBlocks = blocks
    const knowsCache = usesCache && cache!.isAvailable[row] === 1
    numbers[effectiveOverlap] = knowsCache ? cache!.estimateBlocks[row]! : 0
    numbers[cached] = knowsCache ? cache!.estimateTokens[row]! : 0
    if (request.queryOnly) {
      numbers[maximumRaw] = numbers[selectedRaw] = Number.NaN
    } else if (usesCache) {
      const raw =
        cache!.deviceOverlapBlocks[row]! + cache!.hostOverlapBlocks[row]! + cache!.diskOverlapBlocks[row]!
      numbers[maximumRaw] = maximumRawBlocks[0]! * request.blockSize
      numbers[selectedRaw] = knowsCache ? raw * request.blockSize : 0
    } else {
      numbers[maximumRaw] = numbers[selectedRaw] = 0
    }
    const untracked = blocks > trackedHashes ? blocks - trackedHashes : 0
    numbers[potentialDecode] = (load!.isAvailable[row] === 1 ? load!.decodeCostBlocks[row]! : 0) + untracked
  }

  /** Whether a booking of the chosen row counts, after `fill`. A row that the request named was not chosen for its cache. */
  admit(
    admission: 'always' | 'unless-full-hit',
    request: Pick<WorkerSelectionContext, 'requiredCacheHits' | 'pinnedWorker' | 'affinityTarget'>,
  ): void {
    this.reservesOccupancy = true
    const { requiredCacheHits, pinnedWorker, affinityTarget } = request
    if (admission === 'always' || requiredCacheHits <= 0) return
    const target = pinnedWorker ?? affinityTarget
    const isNamed =
      target?.workerId === this.workerId && (target.dpRank === undefined || target.dpRank === this.dpRank)
    if (isNamed) return
    const table = this.#table
    this.reservesOccupancy =
      table.columns.views.occupancy!.cacheHits[table.rowOfSlot[this.slot]!]! < requiredCacheHits
  }

  #bestOverlapRow(): number {
    const column = this.#table.columns.views.cache!.deviceOverlapBlocks
    let best = -1
    let blocks = 0
    for (let row = 0; row < this.#table.count; row++) {
      if (column[row]! > blocks) {
        blocks = column[row]!
        best = row
      }
    }
    return best
  }
}

function knownOrUndefined(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value
}

/** A copy that outlives the next selection. */
export function copyResult(result: SelectionResult): SelectionResult {
  return {
    workerId: result.workerId,
    dpRank: result.dpRank,
    slot: result.slot,
    requiredBlocks: result.requiredBlocks,
    effectiveOverlapBlocks: result.effectiveOverlapBlocks,
    cachedTokens: result.cachedTokens,
    maxRawCachedTokens: result.maxRawCachedTokens,
    selectedRawCachedTokens: result.selectedRawCachedTokens,
    potentialDecodeBlocks: result.potentialDecodeBlocks,
    reservesOccupancy: result.reservesOccupancy,
    bestOverlapWorker: result.bestOverlapWorker,
    bestOverlapBlocks: result.bestOverlapBlocks,
    policy: result.policy,
  }
}
