import { randomUUID } from 'node:crypto'
import type { RoutedExplanation } from '@router/core'
import type { Fleet } from '../fleet/fleet.js'
import type { WorkerOrigin } from '../fleet/worker-registration.js'
import { HttpError } from '../http/http-error.js'
import { type JsonAnswer, type JsonRequest, type JsonRoute, workerIdIn } from '../http/json-routes.js'
import type { JsonValue } from '../http/json-writer.js'
import { routedOnPrompt } from '../observe/decision-json.js'
import type { DecisionRecords } from '../observe/decision-records.js'
import {
  type BusyFacts,
  dumpJson,
  explanationJson,
  overlapReportJson,
  potentialLoadsJson,
  reservationJson,
  selectionJson,
} from './selection-answers.js'
import {
  askedOf,
  overridesOf,
  partitionOf,
  promptOf,
  readOutputBlock,
  readPeer,
  readQuery,
  readReservation,
  readSelection,
} from './selection-bodies.js'
import { readWorker, readWorkerChanges, workerJson } from './worker-json.js'

/** What the selection API needs beside the fleet. */
export interface SelectionApiOptions {
  readonly fleet: Fleet
  /** Where workers come from that are registered here. Default `selection`: they are never contacted. */
  readonly origin?: WorkerOrigin | undefined
  readonly busyFacts?: BusyFacts | undefined
  /** Keeps how reservations came to their ranks; absent = nobody does. */
  readonly decisions?: DecisionRecords | undefined
  /** Answers `GET /health` after `status`. */
  readonly health?: (() => Readonly<Record<string, JsonValue | undefined>>) | undefined
  /** Why it is not ready, as `GET /ready` tells. */
  readonly causes?: (() => readonly JsonValue[]) | undefined
  /** Workers that must take requests before it is ready. Default and least 1. */
  readonly minimumWorkers?: number | undefined
  /** It is about to end, and ready no more. Default: it is not. */
  readonly isDraining?: (() => boolean) | undefined
}

const ok: JsonAnswer = { status: 200, body: { status: 'ok' } }

/** The routes of host.md 14.3. Queues and sessions steer nothing yet: what they need is read and checked. */
export function selectionRoutes(options: SelectionApiOptions): JsonRoute[] {
  return [...workerRoutes(options), ...requestRoutes(options), ...stateRoutes(options), ...peerRoutes()]
}

function workerRoutes({ fleet: { workers }, origin = 'selection' }: SelectionApiOptions): JsonRoute[] {
  return [
    {
      method: 'POST',
      path: '/workers',
      access: 'admin',
      takesBody: true,
      handle: ({ body }) => ({ status: 201, body: workerJson(workers.upsert(body(readWorker), origin)) }),
    },
    {
      method: 'GET',
      path: '/workers',
      access: 'client',
      handle: (request) => {
        const isWanted = partitionFilter(request)
        const wanted = workers
          .list()
          .filter(({ registration: { modelName = 'default', routingGroup = 'default' } }) =>
            isWanted(modelName, routingGroup),
          )
        return { status: 200, body: wanted.map(workerJson) }
      },
    },
    {
      method: 'PATCH',
      path: '/workers/:id',
      access: 'admin',
      takesBody: true,
      handle: (request) => {
        const id = workerIdIn(request, 'id')
        return { status: 200, body: workerJson(workers.patch(id, request.body(readWorkerChanges), origin)) }
      },
    },
    {
      method: 'DELETE',
      path: '/workers/:id',
      access: 'admin',
      handle: (request) => {
        const id = workerIdIn(request, 'id')
        const drains = request.query('drain') === 'true'
        return { status: 200, body: workerJson(drains ? workers.drain(id) : workers.remove(id)) }
      },
    },
  ]
}

function requestRoutes({ fleet, busyFacts = {}, decisions }: SelectionApiOptions): JsonRoute[] {
  const post = (path: string, handle: JsonRoute['handle'], isHot = false): JsonRoute => ({
    method: 'POST',
    path,
    access: 'client',
    takesBody: true,
    isHot,
    handle,
  })
  const hotPost = (path: string, handle: JsonRoute['handle']): JsonRoute => post(path, handle, true)
  return [
    hotPost('/select', (request) => {
      const body = request.body(readSelection)
      const { selection_id: selectionId, advisory: isAdvisory = false } = body
      const name = partitionOf(body)
      fleet.ready(name)
      const asked = askedOf(body, request)
      const selection = fleet.select(name, asked, selectionId)
      const answer = selectionJson(selection, busyFacts, { selectionId, isBooked: false, isAdvisory })
      const explanation = body.explain === true ? explanationJson(fleet.explain(name, asked)) : undefined
      return { status: 200, body: { ...answer, explanation } }
    }),
    hotPost('/select_and_reserve', (request) => {
      const body = request.body(readSelection)
      const { selection_id: selectionId = randomUUID() } = body
      const name = partitionOf(body)
      const partition = fleet.ready(name)
      fleet.checkUnbooked(selectionId)
      const asked = askedOf(body, request)
      const path = '/select_and_reserve'
      const recorder = decisions?.recorder(partition, false, () => ({
        requestId: selectionId,
        path,
        partition,
        routedOn: routedOnPrompt(asked.prompt, partition.shape.blockSize),
        terms: asked.terms,
      }))
      let explanation: JsonValue | undefined
      const explains = (found: RoutedExplanation): void => {
        recorder?.(found)
        if (body.explain === true) explanation = explanationJson(found)
      }
      const isExplained = recorder !== undefined || body.explain === true
      const onExplained = isExplained ? explains : undefined
      const selection = fleet.reserve(name, asked, { requestId: selectionId, onExplained })
      const answer = selectionJson(selection, busyFacts, { selectionId, isBooked: true, isAdvisory: false })
      return { status: 200, body: { ...answer, explanation } }
    }),
    hotPost('/reservations', (request) => {
      const body = request.body(readReservation)
      const { selection_id: requestId, worker_id: workerId } = body
      const name = partitionOf(body)
      if (workerId === undefined)
        return { status: 201, body: reservationJson(requestId, fleet.reserveSelected(name, requestId)) }
      fleet.ready(name)
      const reservation = fleet.reserveOn(name, {
        requestId,
        workerId,
        dpRank: body.dp_rank ?? 0,
        prompt: promptOf(body, false),
        effectivePrefillTokens: body.effective_prefill_tokens,
        tracksPrefillTokens: body.track_prefill_tokens,
        expectedOutputTokens: body.expected_output_tokens,
      })
      return { status: 201, body: reservationJson(requestId, reservation) }
    }),
    {
      method: 'POST',
      path: '/reservations/:id/prefill_complete',
      access: 'client',
      handle: ({ parameter }) => {
        fleet.prefillCompleted(parameter('id'))
        return ok
      },
    },
    post('/reservations/:id/output_block', ({ parameter, body }) => {
      fleet.outputBlock(parameter('id'), body(readOutputBlock).decay_fraction)
      return ok
    }),
    {
      method: 'DELETE',
      path: '/reservations/:id',
      access: 'client',
      handle: ({ parameter }) => {
        if (fleet.free(parameter('id'))) return ok
        throw new HttpError('not_found', 'no live booking has this id')
      },
    },
    post('/potential_loads', ({ body }) => {
      const query = body(readQuery)
      const name = partitionOf(query)
      fleet.ready(name)
      const asked = { prompt: promptOf(query), terms: overridesOf(query) }
      return { status: 200, body: potentialLoadsJson(fleet.potentialLoads(name, asked)) }
    }),
    post('/overlap_scores', ({ body }) => {
      const query = body(readQuery)
      const name = partitionOf(query)
      fleet.ready(name)
      const report = fleet.overlaps(name, { prompt: promptOf(query) })
      const { routerDefaults } = fleet.settings.core ?? {}
      return { status: 200, body: overlapReportJson(report, routerDefaults, overridesOf(query)) }
    }),
  ]
}

function stateRoutes(options: SelectionApiOptions): JsonRoute[] {
  const { fleet, health, causes, minimumWorkers = 1, isDraining = () => false } = options
  return [
    {
      method: 'GET',
      path: '/loads',
      access: 'client',
      handle: (request) => {
        const isWanted = partitionFilter(request)
        const wanted = fleet.partitions.filter(({ name }) => isWanted(name.model, name.routingGroup))
        const loads = wanted.map((partition) => ({
          model_name: partition.name.model,
          routing_group: partition.name.routingGroup,
          role: partition.name.role,
          loads: potentialLoadsJson(fleet.loads(partition), partition),
          pending_count: 0,
          pending_isl_tokens: 0,
        }))
        return { status: 200, body: loads }
      },
    },
    {
      method: 'GET',
      path: '/dump',
      access: 'admin',
      handle: () => ({
        status: 200,
        body: new Map(
          fleet.partitions.map((partition) => {
            const { model, routingGroup, role } = partition.name
            const suffix = role === 'aggregated' ? '' : `:${role}`
            return [`${model}:${routingGroup}${suffix}`, dumpJson(partition)]
          }),
        ),
      }),
    },
    { method: 'GET', path: '/live', access: 'open', handle: () => ok },
    {
      method: 'GET',
      path: '/health',
      access: 'open',
      handle: () => ({ status: 200, body: { status: 'ok', ...health?.() } }),
    },
    {
      method: 'GET',
      path: '/ready',
      access: 'open',
      handle: () => {
        const { schedulable } = fleet.workers
        const isReady = schedulable >= Math.max(1, minimumWorkers) && !isDraining()
        const workers = fleet.workers.list().map(workerJson)
        return {
          status: isReady ? 200 : 503,
          body: {
            ready: isReady,
            schedulable_workers: schedulable,
            workers,
            causes: causes?.() ?? (isReady ? [] : [{ code: 'no_workers' }]),
          },
        }
      },
    },
  ]
}

/** Replicas do not exist yet: nobody is a peer, and nobody can be made one. */
function peerRoutes(): JsonRoute[] {
  const refuse = (path: string): JsonRoute => ({
    method: 'POST',
    path,
    access: 'admin',
    takesBody: true,
    handle: ({ body }) => {
      body(readPeer)
      throw new HttpError('replica_sync_off', 'replica sync is off; nothing was changed')
    },
  })
  return [
    {
      method: 'GET',
      path: '/replica_sync/peers',
      access: 'admin',
      handle: () => ({ status: 200, body: [] }),
    },
    refuse('/replica_sync/register_peer'),
    refuse('/replica_sync/deregister_peer'),
  ]
}

/** Whether a partition is one of those that the query names. */
function partitionFilter({ query }: JsonRequest): (model: string, routingGroup: string) => boolean {
  const model = query('model_name')
  const routingGroup = query('routing_group')
  return (ownModel, ownGroup) =>
    (model === undefined || model === ownModel) && (routingGroup === undefined || routingGroup === ownGroup)
}
