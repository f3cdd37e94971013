import { SelectionError } from '@router/sdk'
import type { Column } from './column-memory.js'
import type { AffinityTarget, SelectionRequest } from './request.js'
import { RowList } from './row-list.js'
import type { WorkerTable } from './worker-table.js'

/** Why a rank may not be chosen, in the order of the tests; the first that fails wins. */
export type RankRejection =
  | 'WorkerNotAllowed'
  | 'WorkerNotRoutable'
  | 'WorkerUnavailable'
  | 'DpRankUnavailable'
  | 'RoutingConstraintsUnsatisfied'
  | 'WorkerOverloaded'

const noTaints: readonly string[] = []

/** Rows lie in the table's own columns, in its dense columns of eligible ranks, or must be gathered. */
export const wholeTable = 0
export const eligibleRanks = 1
export const gatheredRows = 2
export type Stage = typeof wholeTable | typeof eligibleRanks | typeof gatheredRows

/** The eligible rows of one request: the whole table, or a list of its rows. */
export class Eligibility {
  /** Which columns hold the eligible rows. */
  stage: Stage = wholeTable
  count = 0
  /** The eligible rows, of this request alone or of every request that constrains nothing. */
  list: RowList
  readonly #table: WorkerTable
  // Workers marked by the current request's allowlist carry its stamp.
  #allowStamp = 0
  #allowStamps = new Int32Array(16)
  #hasAllowlist = false
  #requiredTaints = new Int32Array(4)
  #requiredCount = 0
  #affinityWorker = -1
  #affinityRow = -1
  readonly #ownList: RowList

  constructor(table: WorkerTable) {
    this.#table = table
    this.#ownList = new RowList(table.memory)
    this.list = this.#ownList
  }

  columns(): readonly Column[] {
    return this.#ownList.columns()
  }

  /**
   * Finds the eligible rows. A pin leaves one row or throws.
   * Errors: `ROUTER_PINNED_WORKER_NOT_ALLOWED`, `ROUTER_PINNED_WORKER_OVERLOADED`, `ROUTER_NO_ENDPOINTS` (a bad pin).
   */
  enumerate(request: SelectionRequest, isExclusive: boolean): void {
    this.#prepare(request, isExclusive)
    if (request.pinnedWorker !== undefined) {
      this.#enumeratePin(request)
      return
    }
    const constrains = this.#hasAllowlist || this.#requiredCount > 0 || this.#affinityWorker >= 0
    if (constrains) this.#listRows()
    else this.#takeEligible()
    this.count = this.list.count
  }

  #takeEligible(): void {
    const { eligible } = this.#table
    eligible.refresh()
    this.list = eligible.list
    this.stage = eligible.isWholeTable ? wholeTable : eligible.isMirrored ? eligibleRanks : gatheredRows
  }

  /** Reason why no row was enumerated: only overload stands in the way, or nothing is compatible. */
  emptinessError(): SelectionError {
    const table = this.#table
    for (let worker = 0; worker < table.workers.length; worker++) {
      if (this.#workerRejection(worker) === undefined) {
        return new SelectionError(
          'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
          'every eligible worker is overloaded',
        )
      }
    }
    return new SelectionError('ROUTER_NO_ENDPOINTS', 'no worker can take this request')
  }

  /** First failing test of a row under the request of the last `enumerate`; `undefined` = eligible. */
  rejectionOf(row: number): RankRejection | undefined {
    const worker = this.#table.workerOfRow[row]!
    const isOtherRank = this.#affinityRow >= 0 && this.#affinityRow !== row
    const ofWorker = this.#workerRejection(worker)
    if (ofWorker === 'WorkerNotAllowed' || isOtherRank) return 'WorkerNotAllowed'
    return ofWorker ?? (this.#table.overloaded.view[row] === 1 ? 'WorkerOverloaded' : undefined)
  }

  /**
   * Largest weighed overlap among the rows that are eligible under the request of the last `enumerate`, its pin aside; blocks, 0 where
   * nobody is known to have any. `O(ranks)`.
   */
  bestOverlapBlocks(): number {
    const { estimateBlocks } = this.#table.columns.views.cache!
    let best = 0
    // A comparison with an unknown overlap is false.
    for (let row = 0; row < this.#table.count; row++)
      if (estimateBlocks[row]! > best && this.rejectionOf(row) === undefined) best = estimateBlocks[row]!
    return best
  }

  #prepare(request: SelectionRequest, isExclusive: boolean): void {
    const table = this.#table
    table.settle()
    this.#affinityWorker = -1
    this.#affinityRow = -1
    this.#hasAllowlist = request.allowedWorkerIds !== undefined
    if (request.allowedWorkerIds !== undefined) this.#markAllowed(request.allowedWorkerIds)
    const required = request.requiredTaints ?? noTaints
    if (required.length > this.#requiredTaints.length)
      this.#requiredTaints = new Int32Array(required.length * 2)
    this.#requiredCount = required.length
    for (let index = 0; index < required.length; index++) {
      this.#requiredTaints[index] = table.taints.idOf(required[index]!)
    }
    if (isExclusive && request.affinityTarget !== undefined) this.#applyAffinity(request.affinityTarget)
  }

  #markAllowed(ids: readonly bigint[]): void {
    if (this.#allowStamps.length < this.#table.workers.length) {
      this.#allowStamps = new Int32Array(this.#table.workers.length * 2)
      this.#allowStamp = 0
    }
    this.#allowStamp = (this.#allowStamp + 1) | 0
    for (let index = 0; index < ids.length; index++) {
      const worker = this.#table.workerIndexOf(ids[index]!)
      if (worker >= 0) this.#allowStamps[worker] = this.#allowStamp
    }
  }

  /** Narrows to the target when it is eligible itself, overload and rank range included. */
  #applyAffinity(target: AffinityTarget): void {
    const table = this.#table
    const worker = table.workerIndexOf(target.workerId)
    if (worker < 0 || this.#workerRejection(worker) !== undefined) return
    const first = table.firstRowOfWorker[worker]!
    if (target.dpRank !== undefined) {
      const row = table.rowOf(target.workerId, target.dpRank)
      if (row < 0 || table.overloaded.view[row] === 1) return
      this.#affinityRow = row
      this.#affinityWorker = worker
      return
    }
    const end = first + table.workers[worker]!.dataParallelSize
    for (let row = first; row < end; row++)
      if (table.overloaded.view[row] === 0) this.#affinityWorker = worker
  }

  /** Allowlist, affinity worker, availability, required taints: what is asked of a worker, in the order of the tests. */
  #workerRejection(worker: number): RankRejection | undefined {
    if (this.#hasAllowlist && this.#allowStamps[worker] !== this.#allowStamp) return 'WorkerNotAllowed'
    if (this.#affinityWorker >= 0 && this.#affinityWorker !== worker) return 'WorkerNotAllowed'
    if (this.#table.available[worker] === 0) return 'WorkerNotRoutable'
    for (let index = 0; index < this.#requiredCount; index++) {
      if (!this.#table.taints.carries(worker, this.#requiredTaints[index]!))
        return 'RoutingConstraintsUnsatisfied'
    }
    return undefined
  }

  #enumeratePin(request: SelectionRequest): void {
    const { workerId, dpRank } = request.pinnedWorker!
    const table = this.#table
    const worker = table.workerIndexOf(workerId)
    const isAllowed =
      (!this.#hasAllowlist ||
        (worker >= 0 && this.#allowStamps[worker] === this.#allowStamp) ||
        isListed(request, workerId)) &&
      (this.#affinityWorker < 0 || this.#affinityWorker === worker)
    if (!isAllowed) {
      const message = `pinned worker ${workerId} is outside the allowlist or against the session's worker`
      throw new SelectionError('ROUTER_PINNED_WORKER_NOT_ALLOWED', message, { workerId })
    }
    const row = worker < 0 ? -1 : table.rowOf(workerId, dpRank)
    const rejection = row < 0 ? this.#absentPinRejection(worker, workerId) : this.rejectionOf(row)
    if (rejection === 'WorkerOverloaded') {
      const message = `pinned worker ${workerId} (rank ${dpRank}) is overloaded`
      throw new SelectionError('ROUTER_PINNED_WORKER_OVERLOADED', message, { workerId })
    }
    if (rejection !== undefined) throw this.#refusedPin(request, worker, rejection)
    this.list = this.#ownList
    this.list.clear()
    this.list.push(row)
    this.count = 1
    this.stage = gatheredRows
  }

  #refusedPin(request: SelectionRequest, worker: number, rejection: RankRejection): SelectionError {
    const { workerId, dpRank } = request.pinnedWorker!
    const info = rejection === 'DpRankUnavailable' ? this.#table.workers[worker] : undefined
    const start = info?.dataParallelStartRank ?? 0
    const end = start + (info?.dataParallelSize ?? 0)
    const ranks =
      info === undefined ? '' : end === start ? ', it has no ranks' : `, it has ranks ${start} to ${end - 1}`
    const message = `pinned worker ${workerId} (rank ${dpRank}) cannot take this request: ${rejection}${ranks}`
    const range = info === undefined ? {} : { start, end }
    return new SelectionError('ROUTER_NO_ENDPOINTS', message, { workerId, dpRank, rejection, ...range })
  }

  /** Rejection of a pin that names no row: unknown worker, or rank out of range. */
  #absentPinRejection(worker: number, workerId: bigint): RankRejection {
    if (this.#affinityRow >= 0) return 'WorkerNotAllowed'
    if (worker < 0) return this.#table.isRoutable(workerId) ? 'WorkerUnavailable' : 'WorkerNotRoutable'
    return this.#table.available[worker] === 0 ? 'WorkerNotRoutable' : 'DpRankUnavailable'
  }

  #listRows(): void {
    this.list = this.#ownList
    this.stage = gatheredRows
    const { list } = this
    const table = this.#table
    const overloaded = table.overloaded.view
    list.clear()
    let worker = this.#affinityWorker < 0 ? 0 : this.#affinityWorker
    const workers = table.workers.length
    const lastWorker = this.#affinityWorker < 0 ? workers - 1 : worker
    for (; worker <= lastWorker; worker++) {
      if (this.#workerRejection(worker) !== undefined) continue
      const end = worker + 1 < workers ? table.firstRowOfWorker[worker + 1]! : table.count
      let start = table.firstRowOfWorker[worker]!
      for (let row = start; row < end; row++) {
        if (overloaded[row] === 0 && (this.#affinityRow < 0 || this.#affinityRow === row)) continue
        list.pushRun(start, row)
        start = row + 1
      }
      list.pushRun(start, end)
    }
  }
}

function isListed(request: SelectionRequest, workerId: bigint): boolean {
  return request.allowedWorkerIds?.includes(workerId) === true
}
