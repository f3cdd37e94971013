import {
  type SelectionRequest,
  type Selector,
  type SelectorOptions,
  WorkerTable,
  createSelector,
} from '@router/core'
import { RequestFault, RouterError, WyRand } from '@router/sdk'
import { type HandMadeRow, completeCache, workerInfosOf } from './hand-made-view.js'
import { type Outcome, rankName } from './outcome.js'
import { type Step, viewOf } from './steps.js'
import { type Subject, parametersOf } from './subject.js'

/** The selector and worker table of `@router/core`, driven by the steps of hand-made hosts, with the same clock and entropy. */
export class LiveHost {
  readonly selector: Selector
  readonly #table = new WorkerTable()
  #nowMs = 1000

  constructor(subject: Subject, options: Pick<SelectorOptions, 'checkViews' | 'onWarning'> = {}) {
    const { policy: definition, configured, role, conditionalDisaggregation, routerDefaults } = subject
    const parameters = parametersOf(subject)
    const entropy = new WyRand(7n)
    this.selector = createSelector({
      ...options,
      table: this.#table,
      policy: { definition, name: 'examined', configured, parameters, runtime: false },
      role,
      conditionalDisaggregation,
      routerDefaults,
      model: 'model',
      entropy: () => entropy.next(),
      nowMs: () => this.#nowMs,
    })
  }

  /** One selection; the outcome holds no costs. Throws what the selector throws, but for a refusal of the request. */
  select(step: Step, mode: 'tracked' | 'query'): Outcome {
    this.#setFleet(step.fleet ?? step.rows)
    if (mode === 'tracked') this.#nowMs += 100
    try {
      const { workerId, dpRank } = this.selector.select(requestOf(step, mode))
      return { chosen: rankName(workerId, dpRank), costs: new Map() }
    } catch (error) {
      return refusalOf(error)
    }
  }

  /** The selection taken apart, as a query. */
  explain(step: Step): Outcome {
    this.#setFleet(step.fleet ?? step.rows)
    const { rows, chosen, error } = this.selector.explain(requestOf(step, 'query'))
    if (chosen === undefined) return refusalOf(error)
    const scored = rows.filter((row) => row.total !== undefined)
    const costs = new Map(scored.map((row) => [rankName(row.workerId, row.dpRank), row.total!]))
    return { chosen: rankName(chosen.workerId, chosen.dpRank), costs }
  }

  #setFleet(rows: readonly HandMadeRow[]): void {
    const table = this.#table
    const workers = workerInfosOf(rows)
    const known = new Map(table.workers.map((worker) => [worker.workerId, worker]))
    for (const { workerId } of known.values()) {
      if (!workers.some((worker) => worker.workerId === workerId)) table.removeWorker(workerId)
    }
    for (const worker of workers) {
      if (JSON.stringify(known.get(worker.workerId), printable) === JSON.stringify(worker, printable))
        continue
      table.upsertWorker(worker)
    }
    table.clearOverlaps()
    for (const row of rows) this.#setRow(row)
  }

  #setRow(row: HandMadeRow): void {
    const table = this.#table
    const slot = table.slotOf(row.workerId, row.dpRank ?? 0)
    const { load = {}, cache = {} } = row
    if (load === 'unknown') table.clearLoad(slot)
    else
      table.setLoad(slot, load.activePrefillTokens ?? 0, load.decodeCostBlocks ?? 0, load.activeRequests ?? 0)
    if (cache === 'unknown') {
      table.setCacheUnknown(slot)
    } else {
      const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, ...estimate } = completeCache(cache)
      const { estimateBlocks, estimateTokens } = estimate
      table.setOverlap(
        slot,
        deviceOverlapBlocks,
        hostOverlapBlocks,
        diskOverlapBlocks,
        estimateBlocks,
        estimateTokens,
      )
    }
    table.setOccupancy(slot, row.reservations ?? 0, row.cacheHits ?? 0)
    table.setPrefillBacklog(slot, row.prefillBacklogMs ?? NaN)
  }
}

function requestOf(step: Step, mode: 'tracked' | 'query'): SelectionRequest {
  const {
    queryOnly: _mode,
    requestBlocks: _derived,
    promptTokens = 1000,
    blockSize = 16,
    ...facts
  } = step.facts
  const { options } = viewOf(step)
  return {
    ...facts,
    mode,
    promptTokens,
    blockSize,
    hasTierMatches: options.hasTierMatches,
    sharedHits: step.sharedHits,
    preferredTaints: step.preferredTaints,
  }
}

function refusalOf(error: unknown): Outcome {
  if (!RouterError.isInstance(error)) throw error
  if (error.code === 'ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED') return { refused: error.code }
  if (RequestFault.isInstance(error.cause)) return { refused: error.cause.message }
  throw error
}

function printable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
