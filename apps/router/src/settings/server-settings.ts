import { setting } from './setting.js'

const ours = { alias: null }
const timeout = { alias: null, minimum: 0.001, maximum: 31_536_000 }
const megabytes = { minimum: 1, maximum: 1_048_576 }
const replicas = { alias: null, inert: 'this version has no replicas' }

/** Levels of pino. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Settings of listeners, requests and faults (host.md 16.2). */
export const serverSettings = {
  httpHost: setting('http-host', 'text', '127.0.0.1', 'address to bind', { ...ours, shortForms: ['host'] }),
  httpPort: setting('http-port', 'integer', 8000, 'port of the main listener; 0 = a free one', {
    ...ours,
    shortForms: ['port'],
    maximum: 65_535,
  }),
  selectionPort: setting(
    'selection-port',
    'integer',
    undefined,
    'port of the selection API alone; else it has none',
    {
      ...ours,
      maximum: 65_535,
    },
  ),
  bodyLimitMb: setting('http-body-limit-mb', 'number', 192, 'largest body, MiB', megabytes),
  bufferLimitMb: setting('http-buffer-limit-mb', 'number', 1024, 'bodies held at a time, MiB', {
    ...ours,
    ...megabytes,
  }),
  gracefulShutdownSecs: setting(
    'http-graceful-shutdown-timeout-secs',
    'number',
    120,
    'time for streams to finish at the end, seconds',
    { maximum: 31_536_000 },
  ),
  drainGraceSecs: setting(
    'drain-grace-secs',
    'number',
    5,
    'not ready but still accepting before that, seconds',
    {
      ...ours,
      maximum: 31_536_000,
    },
  ),
  sseKeepAliveMs: setting(
    'http-sse-keep-alive-interval-ms',
    'integer',
    0,
    'comments in silent streams, ms; 0 = none',
    {
      maximum: 2_147_483_647,
    },
  ),
  keepAliveSecs: setting('http-keep-alive-secs', 'number', 75, 'idle client connections are kept, seconds', {
    ...ours,
    maximum: 31_536_000,
  }),
  retryLimit: setting('retry-limit', 'integer', 2, 'further tries of a request, each on another worker', {
    ...ours,
    maximum: 100,
  }),
  connectTimeoutSecs: setting(
    'connect-timeout-secs',
    'number',
    2,
    'to connect to an engine, seconds',
    timeout,
  ),
  firstByteTimeoutSecs: setting(
    'first-byte-timeout-secs',
    'number',
    600,
    'until its first byte, seconds',
    timeout,
  ),
  idleTimeoutSecs: setting('idle-timeout-secs', 'number', 300, 'between its bytes, seconds', timeout),
  requestTimeoutSecs: setting(
    'request-timeout-secs',
    'number',
    1800,
    'for a request with all its tries, seconds',
    timeout,
  ),
  upstreamKeepAliveSecs: setting(
    'upstream-keep-alive-secs',
    'number',
    4,
    'idle engine connections are kept, seconds',
    { ...ours, maximum: 31_536_000 },
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
  maxRequestsPerRank: setting(
    'max-requests-per-rank',
    'integer',
    undefined,
    'requests of a rank at a time; else there is no limit',
    { ...ours, minimum: 1 },
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
  tokenizers: setting('tokenizer', 'pairs', undefined, 'folder of a tokenizer; else that of the model path', {
    ...ours,
    pattern: /^(?:[^=]+=)?[^=]+$/,
    accepts: 'FOLDER, or MODEL=FOLDER, each model once',
  }),
  chatTemplate: setting(
    'chat-template',
    'text',
    undefined,
    'file with a chat template; else that of the tokenizer',
    ours,
  ),
  tokenizeBudgetMs: setting('tokenize-budget-ms', 'number', 100, 'time for the tokens of a prompt, ms', {
    ...ours,
    minimum: 1,
    maximum: 2_147_483_647,
  }),
  modelAliases: setting('model-alias', 'pairs', undefined, 'another name for a model; else there is none', {
    ...ours,
    pattern: /^[^=]+=[^=]+$/,
    accepts: 'ALIAS=MODEL, each alias once',
  }),
  disableNvext: setting('disable-nvext', 'switch', false, 'nvext of bodies counts for nothing', {
    alias: 'DYN_DISABLE_FRONTEND_NVEXT',
  }),
  injectUsage: setting('inject-usage', 'switch', true, 'streams are asked for their usage', ours),
  responseHeaders: setting(
    'response-headers',
    'switch',
    undefined,
    'answers name their worker and its overlap; else on a loopback host only',
    ours,
  ),
  trustedRoutingHeaders: setting(
    'trusted-routing-headers',
    'switch',
    undefined,
    'pins, priorities and tenants of clients count; else on a loopback host only',
    ours,
  ),
  noAdminApi: setting('no-admin-api', 'switch', false, 'admin routes are 404', {
    alias: 'DYN_DISABLE_FRONTEND_ADMIN_API',
  }),
  adminTokenFile: setting(
    'admin-token-file',
    'text',
    undefined,
    'file with the bearer token of admin routes',
    ours,
  ),
  adminToken: setting('admin-token', 'text', undefined, 'that token itself', { ...ours, isSecret: true }),
  apiKeyFile: setting(
    'api-key-file',
    'text',
    undefined,
    'file with bearer keys of clients, one a line',
    ours,
  ),
  apiKeys: setting('api-keys', 'list', undefined, 'those keys themselves', { ...ours, isSecret: true }),
  workerAllow: setting(
    'worker-allow',
    'list',
    undefined,
    'hosts that workers of the API may name; else those of this machine',
    ours,
  ),
  logFormat: setting(
    'log-format',
    ['pretty', 'json'],
    undefined,
    'else pretty on a terminal, json elsewhere',
    ours,
  ),
  logLevel: setting('log-level', logLevels, 'info', 'least severity that is logged', ours),
  metricsPrefix: setting(
    'metrics-prefix',
    'text',
    undefined,
    'put before the names of metrics; else nothing is',
    {
      ...ours,
      pattern: /^[a-zA-Z_:][a-zA-Z0-9_:]{0,63}$/,
      accepts: 'letters, digits, _ and :, 64 at most, not beginning with a digit',
    },
  ),
  cacheTtlSecs: setting('selection-cache-ttl-secs', 'number', 120, 'life of kept selections, seconds', {
    ...ours,
    minimum: 0.001,
  }),
  cacheMaxEntries: setting('selection-cache-max-entries', 'integer', 4096, 'kept selections', ours),
  cacheMaxBytes: setting('selection-cache-max-bytes', 'integer', 268_435_456, 'bytes of them', ours),
  auditLog: setting('audit-log', 'text', undefined, 'file for changes of policies; else there is none', {
    ...ours,
    inert: 'policies cannot be changed while this version runs',
  }),
  migrationLimit: setting('migration-limit', 'integer', 0, 'moves of a request after its first output', {
    ...ours,
    inert: 'this version moves no streams',
  }),
  migrationMaxSeqLen: setting(
    'migration-max-seq-len',
    'integer',
    undefined,
    'longer requests are not moved; else any are',
    {
      ...ours,
      inert: 'this version moves no streams',
    },
  ),
  admissionControl: setting('admission-control', 'text', undefined, 'accepted, without effect', {
    inert: 'the router has no admission control by that name',
  }),
  natsUrl: setting('nats-url', 'text', undefined, 'where replicas meet; else nowhere', {
    ...replicas,
    pattern: /^(?:nats|tls|ws|wss):\/\/\S+$/,
    accepts: 'nats://host:port',
  }),
  cluster: setting('cluster', 'text', undefined, 'name that replicas share', replicas),
  indexerPeers: setting(
    'indexer-peers',
    'list',
    undefined,
    'URLs of routers to copy the index from',
    replicas,
  ),
}
