import { type LoadedRouterPolicy, suggest } from '@router/config'
import { type ConfigIssue, ConfigError } from '@router/sdk'
import { loopbackHosts } from './fleet/endpoint-rules.js'
import type { BusyThresholds } from './fleet/fleet-settings.js'

/** What the services of the router are started with, beside the policy. Defaults are those of the flags. */
export interface ServeSettings {
  /** Address or name that listeners bind. */
  readonly host: string
  /** Engines tell what they hold. */
  readonly usesKvEvents: boolean
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
  /** Seconds without a sign of life after which a booking goes. */
  readonly activeRequestExpirySecs: number
  /** From which share of its capacity on a worker is called busy; absent = it is not said. */
  readonly decodeBusyThreshold: number | undefined
  readonly prefillBusyThreshold: number | undefined
  readonly selectionCacheTtlSecs: number
  readonly selectionCacheMaxEntries: number
  readonly selectionCacheMaxBytes: number
  readonly busyThresholds: BusyThresholds
  readonly maxRequestsPerRank: number | undefined
  readonly drainTimeoutSecs: number
  readonly overloadStatusCode: number
  /** 0 = no header. */
  readonly overloadRetryAfterSecs: number
  readonly keepAliveSecs: number
  readonly hasNoAdmin: boolean
  readonly adminToken: string | undefined
  readonly apiKeys: readonly string[]
  /** Hosts that workers of the API may name. */
  readonly workerAllow: readonly string[]
}

type Value = string | number | boolean | undefined
type Kind = 'switch' | 'number' | 'integer' | 'text' | readonly string[]

/** A setting that a flag or a variable gives. */
export interface ServeSetting {
  /** Without dashes. */
  readonly flag: string
  readonly variable: string
  /** Dynamo's variable. */
  readonly alias: string | undefined
  readonly kind: Kind
  readonly minimum: number
  readonly maximum: number
  readonly fallback: Value
  readonly description: string
}

function setting(
  flag: string,
  kind: Kind,
  fallback: Value,
  description: string,
  more: { readonly alias?: string | null; readonly minimum?: number; readonly maximum?: number } = {},
): ServeSetting {
  const words = flag.replaceAll('-', '_').toUpperCase()
  const { alias = `DYN_${words}`, minimum = 0, maximum = Infinity } = more
  const variable = `ROUTER_${words.replace(/^ROUTER_/, '')}`
  return { flag, variable, alias: alias ?? undefined, kind, minimum, maximum, fallback, description }
}

const ours = { alias: null }
const seconds = { alias: null, minimum: 1, maximum: 31_536_000 }

/** Every setting of the services (host.md 16), by its name in `read`. */
export const serveSettings = {
  httpHost: setting('http-host', 'text', '127.0.0.1', 'address to bind', ours),
  kvEvents: setting('router-kv-events', 'switch', true, 'engines tell what they hold', {
    alias: 'DYN_ROUTER_USE_KV_EVENTS',
  }),
  queueThreshold: setting('router-queue-threshold', 'number', undefined, 'share of a batch to queue from'),
  ttlSecs: setting('router-ttl-secs', 'number', 120, 'life of believed blocks', { minimum: 0.001 }),
  maxTreeSize: setting('router-max-tree-size', 'integer', 2 ** 20, 'believed blocks', {
    minimum: 1,
    maximum: 2 ** 30,
  }),
  pruneTargetRatio: setting('router-prune-target-ratio', 'number', 0.8, 'share left after pruning', {
    maximum: 1,
  }),
  approximateCachePolicy: setting(
    'router-approximate-cache-policy',
    ['ttl', 'lru'],
    'ttl',
    'how they are kept',
  ),
  predictedTtlSecs: setting('router-predicted-ttl-secs', 'number', undefined, 'life of predictions', {
    minimum: 0.001,
  }),
  trackActiveBlocks: setting('router-track-active-blocks', 'switch', true, 'count blocks in use'),
  trackOutputBlocks: setting('router-track-output-blocks', 'switch', false, 'count blocks of output'),
  assumeKvReuse: setting('router-assume-kv-reuse', 'switch', true, 'equal blocks are shared'),
  trackPrefillTokens: setting('router-track-prefill-tokens', 'switch', true, 'count tokens in prefill'),
  expirySecs: setting('router-active-request-expiry-secs', 'number', 300, 'idle bookings go', { minimum: 1 }),
  decodeBusy: setting(
    'router-conditional-disagg-decode-busy-threshold',
    'number',
    undefined,
    'share of blocks',
  ),
  prefillBusy: setting(
    'router-conditional-disagg-prefill-busy-threshold',
    'number',
    undefined,
    'share of a batch',
  ),
  cacheTtlSecs: setting('selection-cache-ttl-secs', 'number', 120, 'life of kept selections', {
    ...ours,
    minimum: 0.001,
  }),
  cacheMaxEntries: setting('selection-cache-max-entries', 'integer', 4096, 'kept selections', ours),
  cacheMaxBytes: setting('selection-cache-max-bytes', 'integer', 268_435_456, 'bytes of them', ours),
  activeDecodeBlocks: setting(
    'active-decode-blocks-threshold',
    'number',
    undefined,
    'share of blocks, busy above',
  ),
  activePrefillTokens: setting('active-prefill-tokens-threshold', 'number', undefined, 'tokens, busy above'),
  activePrefillFraction: setting(
    'active-prefill-tokens-threshold-frac',
    'number',
    undefined,
    'share of a batch, busy above',
  ),
  maxRequestsPerRank: setting('max-requests-per-rank', 'integer', undefined, 'requests at a time', {
    ...ours,
    minimum: 1,
  }),
  drainTimeoutSecs: setting('drain-timeout-secs', 'number', 300, 'drained workers go', seconds),
  overloadStatusCode: setting('overload-status-code', 'integer', 529, 'status for overload', {
    alias: 'DYN_HTTP_OVERLOAD_STATUS_CODE',
    minimum: 200,
    maximum: 999,
  }),
  overloadRetryAfterSecs: setting('overload-retry-after-secs', 'integer', 1, 'Retry-After; 0 = none', ours),
  keepAliveSecs: setting('http-keep-alive-secs', 'number', 75, 'idle connections are kept', {
    ...seconds,
    minimum: 0,
  }),
  noAdminApi: setting('no-admin-api', 'switch', false, 'admin routes are 404', {
    alias: 'DYN_DISABLE_FRONTEND_ADMIN_API',
  }),
  adminToken: setting(
    'admin-token',
    'text',
    undefined,
    'bearer token of admin routes; ROUTER_ADMIN_TOKEN',
    ours,
  ),
  apiKeys: setting('api-keys', 'text', undefined, 'bearer keys of clients, a comma list', ours),
  workerAllow: setting(
    'worker-allow',
    'text',
    undefined,
    'hosts that API workers may name, a comma list',
    ours,
  ),
} satisfies Record<string, ServeSetting>

/** Texts of flags (without dashes) and variables. */
export interface ServeSources {
  readonly flags?: Readonly<Record<string, string | undefined>>
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** What the `router` section of the policy file says wins. */
  readonly policyFile?: LoadedRouterPolicy['policyFile']
}

/** Settings from flags, then variables, then defaults, under the policy file. Error: `ConfigError` with every fault. */
export function readServeSettings({ flags = {}, environment = {}, policyFile }: ServeSources): ServeSettings {
  const issues: ConfigIssue[] = unknownFlags(flags)
  const read = <T extends Value>(one: ServeSetting): T => {
    const { flag, variable, alias } = one
    for (const [origin, text] of [
      [`--${flag}`, flags[flag]],
      [variable, environment[variable]],
      ...(alias === undefined ? [] : [[alias, environment[alias]] as const]),
    ] as const) {
      if (text === undefined) continue
      const value = valueOf(one, text)
      if (value !== refused) return value as T
      const accepted = acceptedBy(one)
      const message = `${origin} cannot be '${text.slice(0, 60)}'; accepted: ${accepted}`
      issues.push({ code: 'ROUTER_CONFIG_INVALID', message, path: [origin], value: text, accepted })
    }
    return one.fallback as T
  }
  const file = policyFile?.router ?? {}
  const s = serveSettings
  const settings: ServeSettings = {
    host: read<string>(s.httpHost),
    usesKvEvents: file.use_kv_events ?? read(s.kvEvents),
    queueThreshold: read(s.queueThreshold),
    ttlSecs: file.router_ttl_secs ?? read(s.ttlSecs),
    maxTreeSize: read(s.maxTreeSize),
    pruneTargetRatio: read(s.pruneTargetRatio),
    approximateCachePolicy: file.router_approximate_cache_policy ?? read(s.approximateCachePolicy),
    predictedTtlSecs: file.router_predicted_ttl_secs ?? read(s.predictedTtlSecs),
    tracksActiveBlocks: file.router_track_active_blocks ?? read(s.trackActiveBlocks),
    tracksOutputBlocks: file.router_track_output_blocks ?? read(s.trackOutputBlocks),
    assumesKvReuse: file.router_assume_kv_reuse ?? read(s.assumeKvReuse),
    tracksPrefillTokens: file.router_track_prefill_tokens ?? read(s.trackPrefillTokens),
    activeRequestExpirySecs: read(s.expirySecs),
    decodeBusyThreshold: read(s.decodeBusy),
    prefillBusyThreshold: read(s.prefillBusy),
    selectionCacheTtlSecs: read(s.cacheTtlSecs),
    selectionCacheMaxEntries: read(s.cacheMaxEntries),
    selectionCacheMaxBytes: read(s.cacheMaxBytes),
    busyThresholds: given({
      activeDecodeBlocks: read<number | undefined>(s.activeDecodeBlocks),
      activePrefillTokens: read<number | undefined>(s.activePrefillTokens),
      activePrefillTokensFraction: read<number | undefined>(s.activePrefillFraction),
    }),
    maxRequestsPerRank: read(s.maxRequestsPerRank),
    drainTimeoutSecs: read(s.drainTimeoutSecs),
    overloadStatusCode: read(s.overloadStatusCode),
    overloadRetryAfterSecs: read(s.overloadRetryAfterSecs),
    keepAliveSecs: read(s.keepAliveSecs),
    hasNoAdmin: read(s.noAdminApi),
    adminToken: read(s.adminToken),
    apiKeys: listOf(read(s.apiKeys)) ?? [],
    workerAllow: listOf(read(s.workerAllow)) ?? loopbackHosts,
  }
  issues.push(...contradictions(settings))
  if (issues.length === 0) return settings
  const message = issues.map((issue) => issue.message).join('\n')
  throw new ConfigError('ROUTER_CONFIG_INVALID', message, issues)
}

const refused = Symbol('refused')

function valueOf({ kind, minimum, maximum }: ServeSetting, text: string): Value | typeof refused {
  if (kind === 'text') return text.trim() === '' ? undefined : text.trim()
  if (kind === 'switch') {
    if (text === 'true' || text === '1') return true
    return text === 'false' || text === '0' ? false : refused
  }
  if (typeof kind !== 'string') return kind.includes(text) ? text : refused
  if (text === 'None') return undefined
  const value = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN
  const isInRange = value >= minimum && value <= maximum && value < Infinity
  return isInRange && (kind === 'number' || Number.isSafeInteger(value)) ? value : refused
}

function acceptedBy({ kind, minimum, maximum }: ServeSetting): string {
  if (kind === 'switch') return 'true, false'
  if (typeof kind !== 'string') return kind.join(', ')
  const what = kind === 'integer' ? 'an integer' : 'a finite number'
  return maximum === Infinity ? `${what} >= ${minimum}` : `${what} from ${minimum} to ${maximum}`
}

function unknownFlags(flags: Readonly<Record<string, string | undefined>>): ConfigIssue[] {
  const known = Object.values(serveSettings).map(({ flag }) => flag)
  return Object.keys(flags).flatMap((flag) => {
    if (known.includes(flag)) return []
    const near = suggest(flag, known)
    const hint = near === undefined ? '' : `; did you mean --${near}?`
    const message = `unknown flag --${flag}${hint}`
    return [{ code: 'ROUTER_CONFIG_INVALID', message, path: [`--${flag}`], accepted: known.join(', ') }]
  })
}

/** Settings that cannot be together (host.md 16.3). */
function contradictions(settings: ServeSettings): ConfigIssue[] {
  const { tracksActiveBlocks, tracksOutputBlocks, predictedTtlSecs, usesKvEvents } = settings
  const rules: [boolean, ServeSetting, string][] = [
    [
      tracksOutputBlocks && !tracksActiveBlocks,
      serveSettings.trackOutputBlocks,
      'router-track-active-blocks on',
    ],
    [predictedTtlSecs !== undefined && !usesKvEvents, serveSettings.predictedTtlSecs, 'router-kv-events on'],
    [
      settings.approximateCachePolicy === 'lru' && usesKvEvents,
      serveSettings.approximateCachePolicy,
      'ttl, or router-kv-events off',
    ],
  ]
  return rules.flatMap(([isBroken, { flag }, accepted]) =>
    isBroken
      ? [
          {
            code: 'ROUTER_CONFIG_INVALID',
            message: `--${flag} needs ${accepted}`,
            path: [`--${flag}`],
            accepted,
          },
        ]
      : [],
  )
}

function listOf(text: string | undefined): string[] | undefined {
  const entries = text?.split(',').map((entry) => entry.trim())
  return entries?.filter((entry) => entry !== '')
}

function given<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T
}
