import type { WorkerEvents } from '@router/kv-events'
import { type FleetPartition, placeOf } from '../fleet/fleet-partition.js'
import type { Fleet } from '../fleet/fleet.js'
import { type WorkerView, ranksOf } from '../fleet/worker-registration.js'
import { HttpError } from '../http/http-error.js'
import { type JsonRequest, type JsonRoute, workerIdIn } from '../http/json-routes.js'
import type { JsonValue } from '../http/json-writer.js'
import { quoted } from '../quoted.js'
import { workerJson } from '../selection-api/worker-json.js'
import type { DecisionRecords } from './decision-records.js'

const defaultLimit = 100
const largestLimit = 10_000

export interface DebugOptions {
  readonly fleet: Fleet
  readonly decisions: DecisionRecords
  /** The clock of the fleet, milliseconds. */
  readonly nowMs: () => number
}

/** What operators look into when something is odd (host.md 14.9): decisions, workers, and what ranks hold. Nothing of a prompt's text. */
export function debugRoutes({ fleet, decisions, nowMs }: DebugOptions): JsonRoute[] {
  const get = (path: string, bodyOf: (request: JsonRequest) => JsonValue): JsonRoute => ({
    method: 'GET',
    path,
    access: 'admin',
    handle: (request) => ({ status: 200, body: bodyOf(request) }),
  })
  return [
    get('/debug/decisions', (request) => {
      const limit = integerOf('limit', request.query('limit') ?? String(defaultLimit), largestLimit)
      return {
        recorded: decisions.recorded,
        kept: decisions.size,
        bytes: decisions.bytes,
        decisions: decisions.latest(limit),
      }
    }),
    get('/debug/decisions/:request_id', ({ parameter }) => {
      const requestId = parameter('request_id')
      const found = decisions.of(requestId)
      if (found.length > 0) return { decisions: found }
      const message = `no decision is recorded of request ${quoted(requestId)}, or not any more: they are a sample`
      throw new HttpError('not_found', message)
    }),
    get('/debug/workers/:id', (request) => workerDebugJson(fleet, workerOf(fleet, request, 'id'), nowMs())),
    get('/debug/index/:worker/:rank', (request) => {
      const { registration, incarnation } = workerOf(fleet, request, 'worker')
      const { workerId } = registration
      const dpRank = integerOf('rank', request.parameter('rank'), 0xffff_ffff)
      const { first, count } = ranksOf(registration)
      if (dpRank < first || dpRank >= first + count) {
        const message = `worker ${workerId} has no rank ${dpRank}; it has ${first} to ${first + count - 1}`
        throw new HttpError('not_found', message)
      }
      const partition = partitionOf(fleet, registration)
      if (partition === undefined)
        throw new HttpError('not_found', `worker ${workerId} is incomplete: nothing is kept of its ranks`)
      return {
        worker_id: workerId,
        dp_rank: dpRank,
        incarnation,
        ...heldJson(partition, workerId, dpRank),
        ...socketJson(fleet.workers.eventReports(workerId), dpRank),
      }
    }),
  ]
}

/** The record of a worker and everything that is known beside it. */
function workerDebugJson(fleet: Fleet, worker: WorkerView, nowMs: number): JsonValue {
  const { registration, facts, hindrances, origin, incarnation } = worker
  const { workerId } = registration
  const counters = fleet.workers.eventCounters(workerId)
  return {
    ...(workerJson(worker) as { readonly [key: string]: JsonValue }),
    origin,
    incarnation,
    served_models: facts?.models.map(({ id, parent }) => ({ id, parent: parent ?? null })) ?? null,
    hindrances: hindrances.map(({ code, detail, sinceMs }) => ({
      code,
      detail,
      since_secs: Math.max(0, (nowMs - sinceMs) / 1000),
    })),
    loads: loadsJson(partitionOf(fleet, registration), workerId),
    event_sockets: fleet.workers.eventReports(workerId).map(reportJson),
    events: counters && {
      stored: { ...counters.stored },
      removed: { ...counters.removed },
      cleared: counters.cleared,
      dropped: { ...counters.dropped },
      deduplicated_blocks: counters.deduplicatedBlocks,
      short_tokens: counters.shortTokens,
      unknown_rank: counters.unknownRank,
    },
  }
}

/** What is booked on each rank; empty for a worker that is nowhere. */
function loadsJson(partition: FleetPartition | undefined, workerId: bigint): JsonValue {
  if (partition === undefined) return []
  const { router } = partition
  const { table } = router.partition
  const worker = table.workers[table.workerIndexOf(workerId)]!
  const { dataParallelStartRank: first, dataParallelSize: count } = worker
  return Array.from({ length: count }, (_, at) => {
    const load = router.ledger.loadOf(router.slotOf(workerId, first + at))
    return {
      dp_rank: first + at,
      active_requests: load.activeRequests,
      active_blocks: load.activeBlocks,
      active_prefill_tokens: load.activePrefillTokens,
    }
  })
}

/** How much a rank holds, and how that is known. */
function heldJson(
  { router }: FleetPartition,
  workerId: bigint,
  dpRank: number,
): { [key: string]: JsonValue } {
  const slot = router.slotOf(workerId, dpRank)
  const { predicted, chunks } = router.prefix
  const { cache } = router.partition.table.columns.views
  return {
    is_known: cache!.isAvailable[router.partition.table.rowOfSlot[slot]!] === 1,
    block_size: router.blockSize,
    device_blocks: router.index.sizeOf(slot),
    predicted_blocks: predicted?.sizeOf(slot) ?? null,
    content_chunks: chunks.sizeOf(slot),
  }
}

type Reports = WorkerEvents['reports']

/** Of the socket that tells of a rank: its own, or the only one. */
function socketJson(reports: Reports, dpRank: number): { [key: string]: JsonValue } {
  if (reports.length === 0) return { source: 'believed' }
  const report = reports.find(({ socketRank }) => socketRank === dpRank) ?? reports[0]!
  return { source: 'events', ...reportJson(report) }
}

function reportJson({ socketRank, state, causes, cursor }: Reports[number]): {
  readonly [key: string]: JsonValue
} {
  return { socket_rank: socketRank, state, causes, cursor: cursor ?? null }
}

/** Where a worker is; `undefined` = it is incomplete. */
function partitionOf(fleet: Fleet, registration: WorkerView['registration']): FleetPartition | undefined {
  const partition = fleet.find(placeOf(registration))
  return partition?.has(registration.workerId) === true ? partition : undefined
}

function workerOf(fleet: Fleet, request: JsonRequest, key: string): WorkerView {
  const id = workerIdIn(request, key)
  const worker = fleet.workers.get(id)
  if (worker !== undefined) return worker
  throw new HttpError('not_found', `there is no worker ${id}`)
}

function integerOf(key: string, text: string, largest: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value <= largest) return value
  const message = `${key} is ${quoted(text)}; accepted: an integer from 0 to ${largest}`
  throw new HttpError('bad_request', message)
}
