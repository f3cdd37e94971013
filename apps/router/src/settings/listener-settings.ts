import { longestTimerSecs, setting } from './setting.js'

const ours = { alias: null }
const megabytes = { minimum: 1, maximum: 1_048_576 }

/** Levels of the log, the most severe first; `silent` = no line at all. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** A name, a suffix of names, an address of either family, or a network. */
const hostOrNetwork =
  /^(?:(?:\*\.)?[a-z0-9][a-z0-9._-]*|\d{1,3}(?:\.\d{1,3}){3}\/(?:[12]?\d|3[0-2])|[0-9a-f.]*:[0-9a-f:.]*(?:\/(?:\d{1,2}|1[01]\d|12[0-8]))?)$/i

/** Listeners: where they are, what they take, who may come in (host.md 14.1, 16.2). */
export const listenerSettings = {
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
    'hosts that workers of the API may name; else those of this machine, and none beyond loopback',
    {
      ...ours,
      pattern: hostOrNetwork,
      accepts: 'names, *.suffixes, addresses, and networks as 10.0.0.0/8, with commas between them',
    },
  ),
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
  bodyLimitMb: setting('http-body-limit-mb', 'number', 192, 'largest body, MiB', megabytes),
  bufferLimitMb: setting('http-buffer-limit-mb', 'number', 1024, 'bodies held at a time, MiB', {
    ...ours,
    ...megabytes,
  }),
  keepAliveSecs: setting('http-keep-alive-secs', 'number', 75, 'idle client connections are kept, seconds', {
    ...ours,
    maximum: longestTimerSecs,
  }),
  drainGraceSecs: setting(
    'drain-grace-secs',
    'number',
    5,
    'not ready but still accepting before that, seconds',
    {
      ...ours,
      maximum: longestTimerSecs,
    },
  ),
  gracefulShutdownSecs: setting(
    'http-graceful-shutdown-timeout-secs',
    'number',
    120,
    'time for streams to finish at the end, seconds',
    { maximum: longestTimerSecs },
  ),
  logFormat: setting(
    'log-format',
    ['pretty', 'json'],
    undefined,
    'form of log lines; else pretty on a terminal, json elsewhere',
    ours,
  ),
  logLevel: setting('log-level', logLevels, 'info', 'least severity that is logged', ours),
  decisionRecordsPerSecond: setting(
    'decision-records-per-second',
    'number',
    10,
    'decisions that /debug/decisions keeps; those among many ranks count for more; 0 = only those asked for',
    ours,
  ),
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
}
