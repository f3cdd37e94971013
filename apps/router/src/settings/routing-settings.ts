import { setting } from './setting.js'

const ours = { alias: null }
/** Ways of choosing a worker (host.md 9). */
export const routerModes = [
  'kv',
  'round-robin',
  'random',
  'power-of-two',
  'least-loaded',
  'device-aware-weighted',
  'direct',
] as const

/** How a worker is chosen, beside the settings of policies, which are `selectionSettings` of @router/config (host.md 9, 16.1). */
export const routingSettings = {
  mode: setting('router-mode', routerModes, 'kv', 'how a worker is chosen'),
  policy: setting(
    'policy',
    'text',
    undefined,
    'instance of the policy file, or type of policy; else as the file says',
    {
      alias: null,
    },
  ),
  loadAware: setting('load-aware', 'switch', false, 'deprecated: mode kv by load alone', {
    alias: 'DYN_ROUTER_LOAD_AWARE',
  }),
  minInitialWorkers: setting(
    'router-min-initial-workers',
    'integer',
    0,
    'not ready before so many workers serve',
  ),
  activeDecodeBlocks: setting(
    'active-decode-blocks-threshold',
    'number',
    undefined,
    'share of blocks above which a rank takes no more; else there is no limit',
  ),
  activePrefillTokens: setting(
    'active-prefill-tokens-threshold',
    'number',
    undefined,
    'tokens in prefill above which it takes no more; else there is no limit',
  ),
  activePrefillFraction: setting(
    'active-prefill-tokens-threshold-frac',
    'number',
    undefined,
    'the same as a share of a batch; else there is no limit',
  ),
  decodeBusy: setting(
    'router-conditional-disagg-decode-busy-threshold',
    'number',
    undefined,
    'share of blocks above which a worker is called busy',
  ),
  prefillBusy: setting(
    'router-conditional-disagg-prefill-busy-threshold',
    'number',
    undefined,
    'share of a batch above which it is',
  ),
  maxRequestsPerRank: setting(
    'max-requests-per-rank',
    'integer',
    undefined,
    'requests of a rank at a time; else there is no limit',
    { ...ours, minimum: 1 },
  ),
  overloadStatusCode: setting('overload-status-code', 'integer', 529, 'status for overload', {
    alias: 'DYN_HTTP_OVERLOAD_STATUS_CODE',
    minimum: 200,
    maximum: 999,
  }),
  overloadRetryAfterSecs: setting(
    'overload-retry-after-secs',
    'integer',
    1,
    'Retry-After of it; 0 = none',
    ours,
  ),
  expirySecs: setting(
    'router-active-request-expiry-secs',
    'number',
    300,
    'bookings idle for so long go, seconds',
    {
      minimum: 1,
    },
  ),
  drainTimeoutSecs: setting(
    'drain-timeout-secs',
    'number',
    300,
    'a draining worker goes at the latest, seconds',
    {
      ...ours,
      minimum: 1,
      maximum: 31_536_000,
    },
  ),
  inhibitedSecs: setting(
    'inhibited-duration-secs',
    'number',
    5,
    'a worker that failed is left alone, seconds',
    {
      alias: 'DYN_RUNTIME_INHIBITED_DURATION_SECS',
    },
  ),
  cacheTtlSecs: setting('selection-cache-ttl-secs', 'number', 120, 'life of kept selections, seconds', {
    ...ours,
    minimum: 0.001,
  }),
  cacheMaxEntries: setting('selection-cache-max-entries', 'integer', 4096, 'kept selections', ours),
  cacheMaxBytes: setting('selection-cache-max-bytes', 'integer', 268_435_456, 'bytes of them', ours),
}
