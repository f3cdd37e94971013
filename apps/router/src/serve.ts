import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { LoadedRouterPolicy } from '@router/config'
import type { FleetSettings } from './fleet/fleet-settings.js'
import type { FleetWarning } from './fleet/fleet-worker.js'
import { Fleet } from './fleet/fleet.js'
import { closeHttpServer, createHttpServer } from './http/http-server.js'
import { addJsonRoutes } from './http/json-routes.js'
import { selectionRoutes } from './selection-api/selection-routes.js'
import type { ServeSettings } from './serve-settings.js'

const tickMs = 1000

/** What a service may use of the world; defaults are those of the process. */
export interface ServiceHost {
  /** Monotonic, milliseconds. */
  readonly clock?: () => number
  readonly random?: () => bigint
  readonly onWarning?: (warning: FleetWarning) => void
}

/** A service that runs. */
export interface SelectionService {
  readonly url: string
  readonly fleet: Fleet
  /** Fields of request bodies that nobody knows, so far. */
  readonly unknownFields: () => number
  /** Takes no new connections, lets requests end, and closes everything; cuts what lasts longer than `graceMs`. */
  close(graceMs?: number): Promise<void>
}

/** A fleet as settings and policy say. */
export function createFleet(
  settings: ServeSettings,
  { bundle, routerDefaults, policyFile }: LoadedRouterPolicy,
  { clock = () => performance.now(), random = randomSeed, onWarning }: ServiceHost = {},
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
  const fleet = new Fleet({
    policy: bundle,
    clock,
    random,
    settings: fleetSettings,
    ...(onWarning && { onWarning }),
  })
  return fleet
}

/**
 * Starts the selection API on a port of its own, 0 for a free one. Errors: `ROUTER_CONFIG_INVALID` for an address that may not be bound so,
 * those of building the policy, those of the system for an address that is taken.
 */
export async function startSelectionService(
  settings: ServeSettings,
  policy: LoadedRouterPolicy,
  { port, ...host }: ServiceHost & { readonly port: number },
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
  const fleet = createFleet(settings, policy, host)
  const routes = selectionRoutes({
    fleet,
    busyFacts: { decode: settings.decodeBusyThreshold, prefill: settings.prefillBusyThreshold },
    health: () => ({ version: __PACKAGE_VERSION__, uptime_secs: (performance.now() - startedMs) / 1000 }),
  })
  addJsonRoutes(server, routes, (count) => (unknownFields += count))
  const ticking = setInterval(() => fleet.tick(), tickMs).unref()
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

function randomSeed(): bigint {
  return randomBytes(8).readBigUInt64LE()
}
