import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { LoadedRouterPolicy } from '@router/config'
import { partitionsHealth } from './fleet/fleet-health.js'
import type { FleetSettings } from './fleet/fleet-settings.js'
import { FleetWatch } from './fleet/fleet-watch.js'
import type { FleetWarning } from './fleet/fleet-worker.js'
import { Fleet } from './fleet/fleet.js'
import { type Finding, HealthCauses } from './fleet/health-causes.js'
import { closeHttpServer, createHttpServer } from './http/http-server.js'
import { addJsonRoutes } from './http/json-routes.js'
import type { JsonValue } from './http/json-writer.js'
import { causesJson, partitionsJson } from './selection-api/health-json.js'
import { selectionRoutes } from './selection-api/selection-routes.js'
import type { ServeSettings } from './settings/serve-settings.js'

const tickMs = 1000

/** What a service may use of the world; defaults are those of the process. */
export interface ServiceHost {
  /** Monotonic, milliseconds. */
  readonly clock?: () => number
  readonly random?: () => bigint
  readonly onWarning?: (warning: Pick<FleetWarning, 'code' | 'message'>) => void
}

/** A service that runs. */
export interface SelectionService {
  readonly url: string
  readonly fleet: Fleet
  readonly causes: HealthCauses
  /** Fields of request bodies that nobody knows, so far. */
  readonly unknownFields: () => number
  /** Takes no new connections, lets requests end, and closes everything; cuts what lasts longer than `graceMs`. */
  close(graceMs?: number): Promise<void>
}

/** A fleet as settings and policy say. */
export function createFleet(
  settings: ServeSettings,
  { bundle, routerDefaults, policyFile }: LoadedRouterPolicy,
  { clock = monotonicMs, random = randomSeed, onWarning }: ServiceHost = {},
): Fleet {
  const fleetSettings: FleetSettings = {
    core: {
      routerDefaults,
      approximate: {
        ttlMs: 1000 * settings.ttlSecs,
        maxBlocks: settings.maxTreeSize,
        pruneTargetRatio: settings.pruneTargetRatio,
      },
      approximateCachePolicy: settings.approximateCachePolicy,
      ...(settings.predictedTtlSecs === undefined
        ? {}
        : { predictedTtlMs: 1000 * settings.predictedTtlSecs }),
      tracksActiveBlocks: settings.tracksActiveBlocks,
      tracksOutputBlocks: settings.tracksOutputBlocks,
      assumesKvReuse: settings.assumesKvReuse,
      tracksPrefillTokens: settings.tracksPrefillTokens,
      bookingExpiry: { measure: 'idle', afterMs: 1000 * settings.activeRequestExpirySecs },
    },
    usesKvEvents: settings.usesKvEvents,
    queuesModel: queueingModels(settings, policyFile),
    selectionCache: {
      ttlMs: 1000 * settings.selectionCacheTtlSecs,
      maximumEntries: settings.selectionCacheMaxEntries,
      maximumBytes: settings.selectionCacheMaxBytes,
    },
    busyThresholds: settings.busyThresholds,
    ...(settings.maxRequestsPerRank === undefined
      ? {}
      : { maximumRequestsPerRank: settings.maxRequestsPerRank }),
    drainTimeoutMs: 1000 * settings.drainTimeoutSecs,
    allowedHosts: settings.workerAllow,
  }
  return new Fleet({
    policy: bundle,
    clock,
    random,
    settings: fleetSettings,
    ...(onWarning && { onWarning }),
  })
}

/**
 * Starts the selection API on a port of its own, 0 for a free one. Errors: `ROUTER_CONFIG_INVALID` for an address that may not be bound so,
 * those of building the policy, those of the system for an address that is taken.
 */
export async function startSelectionService(
  settings: ServeSettings,
  policy: LoadedRouterPolicy,
  { port, onWarning = () => undefined, ...host }: ServiceHost & { readonly port: number },
): Promise<SelectionService> {
  const startedMs = performance.now()
  let unknownFields = 0
  const server = createHttpServer({
    host: settings.host,
    door: 'selection',
    access: {
      adminToken: settings.adminToken,
      hasNoAdmin: settings.hasNoAdmin,
      apiKeys: settings.apiKeys,
    },
    overload: { statusCode: 429, retryAfterSecs: settings.overloadRetryAfterSecs },
    keepAliveMs: 1000 * settings.keepAliveSecs,
  })
  const causes = new HealthCauses(Date.now, ({ code, detail: message }) => onWarning({ code, message }))
  const fleet = createFleet(settings, policy, {
    ...host,
    onWarning: (warning) => {
      const cause = eventCauseOf(warning)
      if (cause === undefined) onWarning(warning)
      else causes.raise(cause)
    },
  })
  for (const finding of inertSettings(settings, policy)) causes.raise(finding)
  const forget = (workerId: bigint): void => causes.clear(String(workerId))
  fleet.workers.listen({ onRemove: forget, onRestart: forget })
  const watch = new FleetWatch(fleet, host.clock ?? monotonicMs)
  const look = (): JsonValue[] => {
    causes.found('fleet', watch.look())
    return causesJson(causes.list())
  }
  const routes = selectionRoutes({
    fleet,
    busyFacts: { decode: settings.decodeBusyThreshold, prefill: settings.prefillBusyThreshold },
    causes: look,
    health: () => {
      const found = look()
      return {
        status: found.length === 0 ? 'ok' : 'degraded',
        version: __PACKAGE_VERSION__,
        uptime_secs: (performance.now() - startedMs) / 1000,
        causes: found,
        partitions: partitionsJson(partitionsHealth(fleet)),
      }
    },
  })
  addJsonRoutes(server, routes, { onUnknownKeys: (count) => (unknownFields += count) })
  const ticking = setInterval(() => {
    fleet.tick()
    causes.found('fleet', watch.look())
  }, tickMs).unref()
  try {
    await server.listen({ host: settings.host, port })
  } catch (error) {
    clearInterval(ticking)
    fleet.dispose()
    throw error
  }
  const { address, family, port: bound } = server.server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    fleet,
    causes,
    unknownFields: () => unknownFields,
    close: (graceMs = 0) => {
      closing ??= closeServer()
      return closing

      async function closeServer(): Promise<void> {
        clearInterval(ticking)
        await closeHttpServer(server, graceMs)
        fleet.dispose()
      }
    },
  }
}

/** What events of a worker said once, as a cause that lasts until the worker goes or restarts. */
function eventCauseOf({ code, message: detail, workerId, dpRank }: FleetWarning): Finding | undefined {
  if (code !== 'block_size_mismatch' && code !== 'hash_layout_mismatch') return undefined
  return { code, scope: `${workerId}.${dpRank}`, detail }
}

/** Settings that are checked and do nothing yet. */
function inertSettings({ queueThreshold }: ServeSettings, { notYetActive }: LoadedRouterPolicy): Finding[] {
  const inert = (scope: string, detail: string): Finding => ({ code: 'inert_setting', scope, detail })
  const threshold = queueThreshold === undefined ? [] : ['router-queue-threshold']
  return [
    ...threshold.map((flag) => inert(flag, `${flag} does not act yet: nothing queues`)),
    // Those of the `router` section act in services.
    ...notYetActive
      .filter(({ path }) => path[0] !== 'router')
      .map(({ path, message }) => inert(path.join('.'), message)),
  ]
}

/** Whether requests for a model may have to wait: by the threshold, or by a class of its profile. */
function queueingModels(
  { queueThreshold }: ServeSettings,
  policyFile: LoadedRouterPolicy['policyFile'],
): (model: string) => boolean {
  return (model) => {
    const profile = policyFile?.models.get(model) ?? policyFile?.profile
    if (profile === undefined) return queueThreshold !== undefined
    return profile.policy_classes.some(
      ({ prefill_busy_threshold: tokens, prefill_busy_threshold_frac: share }) =>
        tokens !== undefined || share !== undefined,
    )
  }
}

function monotonicMs(): number {
  return performance.now()
}

function randomSeed(): bigint {
  return randomBytes(8).readBigUInt64LE()
}
