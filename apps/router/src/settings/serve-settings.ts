import { resolve } from 'node:path'
import type { LoadedRouterPolicy } from '@router/config'
import { ConfigError } from '@router/sdk'
import { loopbackHosts } from '../fleet/endpoint-rules.js'
import type { BusyThresholds } from '../fleet/fleet-settings.js'
import { isLoopback } from '../http/access.js'
import { readCredentials } from './credentials.js'
import { checkTogether } from './cross-rules.js'
import type { logLevels } from './listener-settings.js'
import type { routerModes } from './routing-settings.js'
import {
  type GivenSetting,
  type Preset,
  type ServeFlags,
  ServeSettingReader,
  type SettingWarning,
} from './serve-setting-reader.js'
import { serveSettings } from './serve-setting-table.js'

/** How a worker is chosen (host.md 9). */
export type RouterMode = (typeof routerModes)[number]

/** Least severity that is logged. */
export type LogLevel = (typeof logLevels)[number]

/** What the services of the router are started with, beside the policy. Defaults are those of the flags. */
export interface ServeSettings {
  readonly mode: RouterMode
  /** Not ready before so many workers serve. */
  readonly minInitialWorkers: number
  /** Address or name that listeners bind. */
  readonly host: string
  /** Of the main listener; 0 = a free one. */
  readonly port: number
  /** Of the selection API alone, 0 = a free one; absent = it has no listener of its own. */
  readonly selectionPort: number | undefined
  /** Engines tell what they hold. */
  readonly usesKvEvents: boolean
  /** Blocks that engines told of, in a partition; 0 = what they have room for, times 4. */
  readonly maxIndexBlocks: number
  /** An engine of which no event was missed for so long is wholly known again. */
  readonly indexRebuildHorizonSecs: number
  /** Fraction of a batch from which requests queue; absent = they never do. */
  readonly queueThreshold: number | undefined
  /** Life of what is believed to be cached, seconds. */
  readonly ttlSecs: number
  /** Blocks that are believed to be cached, in a partition. */
  readonly maxTreeSize: number
  /** To which share of them they are pruned. */
  readonly pruneTargetRatio: number
  readonly approximateCachePolicy: 'ttl' | 'lru'
  /** Life of predictions, seconds; absent = there are none. */
  readonly predictedTtlSecs: number | undefined
  readonly tracksActiveBlocks: boolean
  readonly tracksOutputBlocks: boolean
  readonly assumesKvReuse: boolean
  readonly tracksPrefillTokens: boolean
  /** Load is shared with other routers. */
  readonly replicaSync: boolean
  /** Seconds without a sign of life after which a booking goes. */
  readonly activeRequestExpirySecs: number
  /** A worker that failed is left alone for so long. */
  readonly inhibitedSecs: number
  /** From which share of its capacity on a worker is called busy; absent = it is not said. */
  readonly decodeBusyThreshold: number | undefined
  readonly prefillBusyThreshold: number | undefined
  readonly selectionCacheTtlSecs: number
  readonly selectionCacheMaxEntries: number
  readonly selectionCacheMaxBytes: number
  readonly busyThresholds: BusyThresholds
  readonly maxRequestsPerRank: number | undefined
  readonly drainTimeoutSecs: number
  /** Largest body, MiB. */
  readonly bodyLimitMb: number
  /** Bodies held at a time, MiB. */
  readonly bufferLimitMb: number
  /** Requests may end for so long once the router takes no more. */
  readonly gracefulShutdownSecs: number
  /** The router is not ready but still accepts for so long, before that. */
  readonly drainGraceSecs: number
  /** Comments in silent streams; 0 = none. */
  readonly sseKeepAliveMs: number
  /** Idle connections of clients are kept for so long. */
  readonly keepAliveSecs: number
  /** Further tries of a request of which nothing was relayed. */
  readonly retryLimit: number
  readonly connectTimeoutSecs: number
  readonly firstByteTimeoutSecs: number
  readonly idleTimeoutSecs: number
  /** Of a request as a whole, its tries included. */
  readonly requestTimeoutSecs: number
  /** Idle connections to engines are kept for so long. */
  readonly upstreamKeepAliveSecs: number
  readonly overloadStatusCode: number
  /** 0 = no header. */
  readonly overloadRetryAfterSecs: number
  /** Absolute folder of a tokenizer by model; the key '' is every model. */
  readonly tokenizers: ReadonlyMap<string, string>
  /** Absolute path of a chat template; absent = that of the tokenizer. */
  readonly chatTemplate: string | undefined
  readonly tokenizeBudgetMs: number
  /** Names by which models may be asked for, with those that engines know. */
  readonly modelAliases: ReadonlyMap<string, string>
  /** Answers name their worker and what it had of the prompt. */
  readonly tellsPlacement: boolean
  /** Pins, ranks, priorities, classes and tenants of clients count. */
  readonly trustsRoutingHeaders: boolean
  readonly readsNvext: boolean
  /** Streams are asked for their usage. */
  readonly injectsUsage: boolean
  readonly hasNoAdmin: boolean
  readonly adminToken: string | undefined
  readonly apiKeys: readonly string[]
  /** Hosts that workers of the API may name. */
  readonly workerAllow: readonly string[]
  /** Absent = pretty on a terminal, JSON elsewhere. */
  readonly logFormat: 'pretty' | 'json' | undefined
  readonly logLevel: LogLevel
  /** How many decisions are recorded, beside those that somebody asks for. */
  readonly decisionRecordsPerSecond: number
  /** Put before the names of metrics; absent = nothing is. */
  readonly metricsPrefix: string | undefined
  /** What was said by flags and variables, by flag without dashes; no secrets. */
  readonly given: ReadonlyMap<string, GivenSetting>
  /** To print once each. */
  readonly warnings: readonly SettingWarning[]
}

/** Texts of flags (without dashes) and variables. */
export interface ServeSources {
  readonly flags?: ServeFlags
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** What the `router` section of the policy file says wins. */
  readonly policyFile?: LoadedRouterPolicy['policyFile']
  /** Folder that paths are relative to. Default: that of the process. */
  readonly folder?: string | undefined
}

/** Settings from flags, then variables, then defaults, under the policy file. Error: `ConfigError` with every fault. */
export function readServeSettings({
  flags = {},
  environment = {},
  policyFile,
  folder = '',
}: ServeSources): ServeSettings {
  const reader = new ServeSettingReader(flags, environment)
  const file = policyFile?.router ?? {}
  const s = serveSettings
  const isLoadAware = reader.read<boolean>(s.loadAware)
  const preset = <T>(value: T): Preset<T> | undefined =>
    isLoadAware ? { origin: `--${s.loadAware.flag}`, value } : undefined
  const host = reader.read<string>(s.httpHost)
  const isLocal = isLoopback(host)
  const chatTemplate = reader.read<string | undefined>(s.chatTemplate)
  const tokenizers = reader.read<ReadonlyMap<string, string> | undefined>(s.tokenizers) ?? new Map()
  const settings: ServeSettings = {
    mode: reader.read(s.mode),
    minInitialWorkers: reader.read(s.minInitialWorkers),
    host,
    port: reader.read(s.httpPort),
    selectionPort: reader.read(s.selectionPort),
    usesKvEvents: reader.under(s.kvEvents, 'use_kv_events', file.use_kv_events, preset(false)),
    maxIndexBlocks: reader.read(s.maxIndexBlocks),
    indexRebuildHorizonSecs: reader.read(s.indexRebuildHorizonSecs),
    queueThreshold: reader.read(s.queueThreshold),
    ttlSecs: reader.under(s.ttlSecs, 'router_ttl_secs', file.router_ttl_secs),
    maxTreeSize: reader.read(s.maxTreeSize),
    pruneTargetRatio: reader.read(s.pruneTargetRatio),
    approximateCachePolicy: reader.under(
      s.approximateCachePolicy,
      'router_approximate_cache_policy',
      file.router_approximate_cache_policy,
    ),
    predictedTtlSecs: reader.under(
      s.predictedTtlSecs,
      'router_predicted_ttl_secs',
      file.router_predicted_ttl_secs,
      preset(undefined),
    ),
    tracksActiveBlocks: reader.under(
      s.trackActiveBlocks,
      'router_track_active_blocks',
      file.router_track_active_blocks,
      preset(true),
    ),
    tracksOutputBlocks: reader.under(
      s.trackOutputBlocks,
      'router_track_output_blocks',
      file.router_track_output_blocks,
    ),
    assumesKvReuse: reader.under(
      s.assumeKvReuse,
      'router_assume_kv_reuse',
      file.router_assume_kv_reuse,
      preset(false),
    ),
    tracksPrefillTokens: reader.under(
      s.trackPrefillTokens,
      'router_track_prefill_tokens',
      file.router_track_prefill_tokens,
      preset(true),
    ),
    replicaSync: reader.under(s.replicaSync, 'router_replica_sync', file.router_replica_sync),
    activeRequestExpirySecs: reader.read(s.expirySecs),
    inhibitedSecs: reader.read(s.inhibitedSecs),
    decodeBusyThreshold: reader.read(s.decodeBusy),
    prefillBusyThreshold: reader.read(s.prefillBusy),
    selectionCacheTtlSecs: reader.read(s.cacheTtlSecs),
    selectionCacheMaxEntries: reader.read(s.cacheMaxEntries),
    selectionCacheMaxBytes: reader.read(s.cacheMaxBytes),
    busyThresholds: present({
      activeDecodeBlocks: reader.read<number | undefined>(s.activeDecodeBlocks),
      activePrefillTokens: reader.read<number | undefined>(s.activePrefillTokens),
      activePrefillTokensFraction: reader.read<number | undefined>(s.activePrefillFraction),
    }),
    maxRequestsPerRank: reader.read(s.maxRequestsPerRank),
    drainTimeoutSecs: reader.read(s.drainTimeoutSecs),
    bodyLimitMb: reader.read(s.bodyLimitMb),
    bufferLimitMb: reader.read(s.bufferLimitMb),
    gracefulShutdownSecs: reader.read(s.gracefulShutdownSecs),
    drainGraceSecs: reader.read(s.drainGraceSecs),
    sseKeepAliveMs: reader.read(s.sseKeepAliveMs),
    keepAliveSecs: reader.read(s.keepAliveSecs),
    retryLimit: reader.read(s.retryLimit),
    connectTimeoutSecs: reader.read(s.connectTimeoutSecs),
    firstByteTimeoutSecs: reader.read(s.firstByteTimeoutSecs),
    idleTimeoutSecs: reader.read(s.idleTimeoutSecs),
    requestTimeoutSecs: reader.read(s.requestTimeoutSecs),
    upstreamKeepAliveSecs: reader.read(s.upstreamKeepAliveSecs),
    overloadStatusCode: reader.read(s.overloadStatusCode),
    overloadRetryAfterSecs: reader.read(s.overloadRetryAfterSecs),
    tokenizers: new Map([...tokenizers].map(([model, path]) => [model, resolve(folder, path)])),
    chatTemplate: chatTemplate === undefined ? undefined : resolve(folder, chatTemplate),
    tokenizeBudgetMs: reader.read(s.tokenizeBudgetMs),
    modelAliases: reader.read(s.modelAliases, new Map<string, string>()),
    tellsPlacement: reader.read(s.responseHeaders, isLocal),
    trustsRoutingHeaders: reader.read(s.trustedRoutingHeaders, isLocal),
    readsNvext: !reader.read<boolean>(s.disableNvext),
    injectsUsage: reader.read(s.injectUsage),
    hasNoAdmin: reader.read(s.noAdminApi),
    ...readCredentials(reader, folder),
    workerAllow: reader.read(s.workerAllow, isLocal ? loopbackHosts : []),
    logFormat: reader.read(s.logFormat),
    logLevel: reader.read(s.logLevel),
    decisionRecordsPerSecond: reader.read(s.decisionRecordsPerSecond),
    metricsPrefix: reader.read(s.metricsPrefix),
    given: reader.told,
    warnings: reader.warnings,
  }
  checkTogether(settings, reader)
  if (reader.issues.length === 0) return settings
  const message = reader.issues.map((issue) => issue.message).join('\n')
  throw new ConfigError('ROUTER_CONFIG_INVALID', message, reader.issues)
}

function present<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T
}
