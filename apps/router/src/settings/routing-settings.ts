import { setting } from './setting.js'

const notBuilt = (what: string) => ({ inert: `this version has no ${what}` })
const queue = notBuilt('queue: nothing waits')
const sessions = notBuilt('sticky sessions')
const pools = notBuilt('separate prefill and decode workers')
const kvOnly = { isKvOnly: true }

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

/** Settings of routing (host.md 16.1) beside those of policies, which are `selectionSettings` of @router/config. */
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
  minInitialWorkers: setting(
    'router-min-initial-workers',
    'integer',
    0,
    'not ready before so many workers serve',
  ),
  loadAware: setting('load-aware', 'switch', false, 'deprecated: mode kv by load alone', {
    alias: 'DYN_ROUTER_LOAD_AWARE',
  }),
  kvEvents: setting('router-kv-events', 'switch', true, 'engines tell what they hold', {
    alias: 'DYN_ROUTER_USE_KV_EVENTS',
    ...kvOnly,
  }),
  ttlSecs: setting('router-ttl-secs', 'number', 120, 'life of believed blocks, seconds', {
    minimum: 0.001,
    ...kvOnly,
  }),
  maxTreeSize: setting('router-max-tree-size', 'integer', 2 ** 20, 'believed blocks of a partition', {
    minimum: 1,
    maximum: 2 ** 30,
    ...kvOnly,
  }),
  pruneTargetRatio: setting('router-prune-target-ratio', 'number', 0.8, 'share of them left after pruning', {
    maximum: 1,
    ...kvOnly,
  }),
  approximateCachePolicy: setting(
    'router-approximate-cache-policy',
    ['ttl', 'lru'],
    'ttl',
    'how they are kept',
    kvOnly,
  ),
  predictedTtlSecs: setting(
    'router-predicted-ttl-secs',
    'number',
    undefined,
    'life of predictions beside events, seconds; else there are none',
    { minimum: 0.001, ...kvOnly },
  ),
  trackActiveBlocks: setting('router-track-active-blocks', 'switch', true, 'count blocks in use', kvOnly),
  trackOutputBlocks: setting(
    'router-track-output-blocks',
    'switch',
    false,
    'count blocks of output too',
    kvOnly,
  ),
  assumeKvReuse: setting('router-assume-kv-reuse', 'switch', true, 'equal blocks are shared', kvOnly),
  trackPrefillTokens: setting(
    'router-track-prefill-tokens',
    'switch',
    true,
    'count tokens in prefill',
    kvOnly,
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
  inhibitedSecs: setting(
    'inhibited-duration-secs',
    'number',
    5,
    'a worker that failed is left alone, seconds',
    {
      alias: 'DYN_RUNTIME_INHIBITED_DURATION_SECS',
    },
  ),
  queueThreshold: setting(
    'router-queue-threshold',
    'number',
    undefined,
    'share of a batch from which requests wait; else they never do',
    queue,
  ),
  queuePolicy: setting('router-queue-policy', ['fcfs', 'wspt'], 'fcfs', 'who waits shortest', queue),
  overlapRefreshSecs: setting(
    'router-overlap-refresh-after-secs',
    'number',
    10,
    'wait after which overlap is looked up again, seconds',
    queue,
  ),
  replicaSync: setting(
    'router-replica-sync',
    'switch',
    false,
    'share load with other routers',
    notBuilt('replicas'),
  ),
  sessionAffinityTtlSecs: setting(
    'router-session-affinity-ttl-secs',
    'integer',
    undefined,
    'idle life of a session; else they are not sticky',
    { minimum: 1, maximum: 31_536_000, ...sessions },
  ),
  sessionAffinityMode: setting(
    'router-session-affinity-mode',
    ['hard', 'soft'],
    'hard',
    'whether a session must stay',
    sessions,
  ),
  sessionFromPrefixTokens: setting(
    'session-from-prefix-tokens',
    'integer',
    undefined,
    'tokens of a prompt that stand for its session; else none do',
    { minimum: 1, ...sessions },
  ),
  decodeFallback: setting(
    'decode-fallback',
    'switch',
    false,
    'decode workers serve what prefill cannot',
    pools,
  ),
  conditionalDisagg: setting(
    'router-conditional-disagg',
    'switch',
    false,
    'prefill where it pays only',
    pools,
  ),
  conditionalDisaggConfig: setting(
    'router-conditional-disagg-config',
    'text',
    undefined,
    'its settings, a JSON object; else their defaults',
    pools,
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
  minRemotePrefillTokens: setting(
    'min-remote-prefill-tokens',
    'integer',
    undefined,
    'shorter prompts are not sent to prefill workers; else all are',
    pools,
  ),
  localContinuations: setting(
    'local-continuations',
    'switch',
    false,
    'a known session stays on its decode worker',
    pools,
  ),
  kvMigration: setting('kv-migration', 'switch', false, 'blocks are pulled from worker to worker', pools),
  kvMigrationMinTokens: setting(
    'kv-migration-min-tokens',
    'integer',
    8192,
    'gain from which they are',
    pools,
  ),
}
