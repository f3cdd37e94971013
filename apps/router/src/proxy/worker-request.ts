import type { IncomingMessage } from 'node:http'
import type { Placement } from '../fleet/fleet-request.js'
import type { WorkerView } from '../fleet/worker-registration.js'
import type { ProxyEndpoint } from './endpoints.js'
import { requestHeaders } from './forwarded-headers.js'
import type { ProxyState } from './proxy-state.js'
import type { RequestIntake } from './request-intake.js'
import type { UpstreamRequest, UpstreamTarget } from './upstreams.js'

/** A request as one worker gets it. */
export interface WorkerRequest {
  readonly target: UpstreamTarget
  readonly request: UpstreamRequest
  /** The engine chooses its rank itself, whatever it is told: the one that was chosen only stands for the worker. */
  readonly ignoresRank: boolean
}

/** A request for the worker that was selected. */
export function workerRequestOf(
  { fleet, settings, access, apiKeyOf }: ProxyState,
  { workerId, dpRank, endpoint, partition }: Placement,
  { prompt }: ProxyEndpoint,
  client: IncomingMessage,
  { bodyFor }: RequestIntake,
): WorkerRequest {
  const worker = fleet.workers.record(workerId)!
  const { table } = partition.router.partition
  const ranks = table.workers[table.workerIndexOf(workerId)]?.dataParallelSize ?? 1
  const ignoresRank = ranks > 1 && prompt === 'responses' && worker.facts?.engine === 'sglang'
  const headers = requestHeaders(client, {
    passesAuthorization: settings.passesAuthorization,
    isOwnToken: (value) => access.isAdminToken(value),
    apiKey: keyFor(worker, apiKeyOf),
    dpRank: ranks > 1 && !ignoresRank ? dpRank : undefined,
  })
  const body = bodyFor(worker.registration.acceptsNvext ?? false)
  return {
    target: { endpoint, isTrusted: worker.origin === 'trusted' },
    request: { method: 'POST', path: client.url!, headers, body },
    ignoresRank,
  }
}

/** The key of a worker's engine: only for workers of the sources that gave keys. */
export function keyFor(
  { registration, origin }: Pick<WorkerView, 'registration' | 'origin'>,
  apiKeyOf: ProxyState['apiKeyOf'],
): string | undefined {
  return origin === 'trusted' ? apiKeyOf(registration.workerId) : undefined
}
