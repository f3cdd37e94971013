import { setting } from './setting.js'

const notBuilt = (what: string) => ({ inert: `this version has no ${what}` })
const queue = notBuilt('queue: nothing waits')
const sessions = notBuilt('sticky sessions')
const pools = notBuilt('separate prefill and decode workers')
const replicas = { alias: null, ...notBuilt('replicas') }
const moves = { alias: null, inert: 'this version moves no streams' }

/** What is accepted and checked, but does nothing in this version. */
export const idleSettings = {
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
    'wait after which overlap is looked up again, seconds; 0 or less = never',
    { minimum: -31_536_000, maximum: 31_536_000, ...queue },
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
  replicaSync: setting(
    'router-replica-sync',
    'switch',
    false,
    'share load with other routers',
    notBuilt('replicas'),
  ),
  natsUrl: setting('nats-url', 'text', undefined, 'where replicas meet; else nowhere', {
    ...replicas,
    pattern: /^(?:nats|tls|ws|wss):\/\/\S+$/,
    accepts: 'nats://host:port',
  }),
  cluster: setting('cluster', 'text', undefined, 'name that replicas share', replicas),
  indexerPeers: setting('indexer-peers', 'list', undefined, 'URLs of routers to copy the index from', {
    ...replicas,
    pattern: /^https?:\/\/\S+$/,
    accepts: 'http://host:port, with commas between them',
  }),
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
  migrationLimit: setting(
    'migration-limit',
    'integer',
    0,
    'moves of a request after its first output',
    moves,
  ),
  migrationMaxSeqLen: setting(
    'migration-max-seq-len',
    'integer',
    undefined,
    'longer requests are not moved; else any are',
    moves,
  ),
  auditLog: setting('audit-log', 'text', undefined, 'file for changes of policies; else there is none', {
    alias: null,
    inert: 'policies cannot be changed while this version runs',
  }),
  admissionControl: setting('admission-control', 'text', undefined, 'accepted, without effect', {
    inert: 'the router has no admission control by that name',
  }),
}
