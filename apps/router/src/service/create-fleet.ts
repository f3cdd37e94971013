import { randomBytes } from 'node:crypto'
import type { LoadedRouterPolicy } from '@router/config'
import type { FleetSettings } from '../fleet/fleet-settings.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import { Fleet } from '../fleet/fleet.js'
import type { ServeSettings } from '../settings/serve-settings.js'

/** What a service may use of the world; defaults are those of the process. */
export interface ServiceHost {
  /** Monotonic, milliseconds. */
  readonly clock?: (() => number) | undefined
  readonly random?: (() => bigint) | undefined
  readonly onWarning?: ((warning: Pick<FleetWarning, 'code' | 'message'>) => void) | undefined
}

/** A fleet as settings and policy say. @param learnsFacts see `FleetSettings` */
export function createFleet(
  settings: ServeSettings,
  { bundle, routerDefaults, policyFile }: LoadedRouterPolicy,
  { clock = monotonicMs, random = randomSeed, onWarning }: ServiceHost = {},
  learnsFacts = false,
): Fleet {
  const { predictedTtlSecs, maxRequestsPerRank } = settings
  const fleetSettings: FleetSettings = {
    core: {
      routerDefaults,
      maxIndexBlocks: settings.maxIndexBlocks,
      approximate: {
        ttlMs: 1000 * settings.ttlSecs,
        maxBlocks: settings.maxTreeSize,
        pruneTargetRatio: settings.pruneTargetRatio,
      },
      approximateCachePolicy: settings.approximateCachePolicy,
      ...(predictedTtlSecs === undefined ? {} : { predictedTtlMs: 1000 * predictedTtlSecs }),
      tracksActiveBlocks: settings.tracksActiveBlocks,
      tracksOutputBlocks: settings.tracksOutputBlocks,
      assumesKvReuse: settings.assumesKvReuse,
      tracksPrefillTokens: settings.tracksPrefillTokens,
      bookingExpiry: { measure: 'idle', afterMs: 1000 * settings.activeRequestExpirySecs },
    },
    // In other modes nobody looks at what engines hold.
    usesKvEvents: settings.mode === 'kv' && settings.usesKvEvents,
    rebuildHorizonMs: 1000 * settings.indexRebuildHorizonSecs,
    queuesModel: queueingModels(settings, policyFile),
    selectionCache: {
      ttlMs: 1000 * settings.selectionCacheTtlSecs,
      maximumEntries: settings.selectionCacheMaxEntries,
      maximumBytes: settings.selectionCacheMaxBytes,
    },
    busyThresholds: settings.busyThresholds,
    ...(maxRequestsPerRank === undefined ? {} : { maximumRequestsPerRank: maxRequestsPerRank }),
    drainTimeoutMs: 1000 * settings.drainTimeoutSecs,
    learnsFacts,
    isDirect: settings.mode === 'direct',
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

export function monotonicMs(): number {
  return performance.now()
}

/** 64 bits. */
export function randomSeed(): bigint {
  return randomBytes(8).readBigUInt64LE()
}
