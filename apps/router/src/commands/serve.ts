import { ConfigError } from '@router/sdk'
import { Command } from 'commander'
import type { CommandContext } from '../command-context.js'
import { counted } from '../explain/fleet-notes.js'
import { type RouterLog, createLogger } from '../observe/router-log.js'
import { loadServePolicy } from '../serve-policy.js'
import { type RunningRouter, startRouter } from '../service/router-service.js'
import { type ServeSettings, readServeSettings } from '../settings/serve-settings.js'
import { readWorkerSources } from '../workers/sources/read-worker-sources.js'
import type { WorkerSources } from '../workers/sources/worker-discovery.js'
import { type ServeTexts, addServeOptions } from './serve-options.js'

/** What is still open so long after the second request to stop is left to the system. */
const abortMs = 1000

const examplesOf = (program: string): string => `
Every flag is a variable too: --router-ttl-secs is ROUTER_TTL_SECS, --port is ROUTER_HTTP_PORT. A flag wins over its variable, that over
Dynamo's (DYN_ROUTER_TTL_SECS), and the router section of the policy file over all of them. Secrets come from files or from the variables
ROUTER_ADMIN_TOKEN and ROUTER_API_KEYS, never from flags.

Examples:
  two engines behind one endpoint, on port 8000
    ${program} serve --worker http://10.0.0.1:8000 --worker http://10.0.0.2:8000
  with KV events, and a tokenizer so that prompts are matched token by token
    ${program} serve --worker http://10.0.0.1:8000,kv_events_endpoint=tcp://10.0.0.1:5557 --tokenizer ./llama-3
  engines that come and go: a file that is watched, or a name with an address for each
    ${program} serve --worker-file workers.yaml
    ${program} serve --worker-dns vllm.default.svc:8000
  a policy of your own, or another one that is shipped
    ${program} serve --worker-file workers.yaml --router-policy-config policy.yaml
    ${program} serve --worker-file workers.yaml --policy prefix-affinity
  for others than this machine
    ROUTER_ADMIN_TOKEN=... ${program} serve --host 0.0.0.0 --api-key-file keys.txt --worker-file workers.yaml
  the selection API alone: it answers which worker should get a request, and contacts none
    ${program} serve --selection-port 8092

  curl http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "llama-3", "messages": [{"role": "user", "content": "Hello"}]}'
  curl http://127.0.0.1:8000/health

Exit code: 0 it was asked to stop and did, 1 a setting, a file or a port is wrong, or it was asked twice, 2 wrong use.`

/** `router serve`: the router, until the process is asked to stop. */
export function serveCommand(context: CommandContext): Command {
  const command = new Command('serve')
    .description(
      'one endpoint in front of many engines, and an API that answers which of them should get a request',
    )
    .addHelpText('after', examplesOf(context.program))
  const read = addServeOptions(command)
  return command.action(async () => serve(read(command), context))
}

async function serve({ flags, workers }: ServeTexts, context: CommandContext): Promise<void> {
  const { environment, folder, write } = context
  const policy = await loadServePolicy({ flags, environment, folder })
  const settings = readServeSettings({ flags, environment, policyFile: policy.policyFile, folder })
  const sources = readWorkerSources({ ...workers, environment, folder })
  const { logFormat = context.hasReader ? 'pretty' : 'json', logLevel } = settings
  const log = createLogger({ format: logFormat, level: logLevel, write: context.writeLog })
  for (const { message } of [...policy.warnings, ...settings.warnings]) log.warn(message)
  const ports = portsOf(settings, sources)
  const router = await startRouter({
    settings,
    policy,
    sources,
    ports,
    clock: context.nowMs,
    random: context.randomSeed,
    log,
  }).catch((error: unknown) => {
    throw listenFault(error, settings) ?? error
  })
  if (ports.main !== undefined) {
    const count = counted(router.fleet.workers.list().length, 'worker')
    const { name } = policy.roles.aggregated
    write(`router on ${router.url}: ${count}, policy ${name}, mode ${settings.mode}`)
  }
  if (router.selectionUrl !== undefined) write(`selection API on ${router.selectionUrl}`)
  context.onServing?.(router)
  await untilStopped(router, settings, log, context)
}

/** The main listener is there unless nothing but the selection API is asked for. */
export function portsOf(
  { given, port, selectionPort }: ServeSettings,
  { flags = [], file, dns = [] }: WorkerSources,
): { readonly main?: number; readonly selection?: number } {
  const hasWorkers = flags.length > 0 || file !== undefined || dns.length > 0
  const isAlone = selectionPort !== undefined && !hasWorkers && !given.has('http-port')
  return {
    ...(isAlone ? {} : { main: port }),
    ...(selectionPort === undefined ? {} : { selection: selectionPort }),
  }
}

/**
 * Stops as host.md 17.2 has it. The first request to stop makes the router not ready; it still accepts for the grace period, which a person at
 * a terminal does not have to wait for, then lets requests end. The second one cuts them, and the exit code is 1.
 */
async function untilStopped(
  router: RunningRouter,
  { drainGraceSecs, gracefulShutdownSecs }: ServeSettings,
  log: RouterLog,
  { onStop, exit, die }: CommandContext,
): Promise<void> {
  let stops = 0
  await new Promise<void>((resolve) => {
    let grace: NodeJS.Timeout | undefined
    let code = 0
    const close = (graceMs: number): void => void router.close(graceMs).then(() => resolve(exit(code)))
    onStop((signal) => {
      stops++
      if (stops === 1) {
        const graceMs = signal === 'SIGTERM' ? 1000 * drainGraceSecs : 0
        log.info(`stopping: requests may end for ${gracefulShutdownSecs} s; again = at once`)
        router.drain()
        grace = setTimeout(() => close(1000 * gracefulShutdownSecs), graceMs)
      } else if (stops === 2) {
        code = 1
        clearTimeout(grace)
        router.abort()
        close(0)
        setTimeout(() => die(1), abortMs).unref()
      }
    })
  })
}

/** An address that cannot be bound, as a setting that is wrong; `undefined` for any other error. */
function listenFault(error: unknown, { selectionPort }: ServeSettings): ConfigError | undefined {
  const { code, port, address, hostname, syscall } = error as NodeJS.ErrnoException & {
    readonly port?: number
    readonly address?: string
    readonly hostname?: string
  }
  const hostFlag = '--http-host'
  if (syscall === 'getaddrinfo')
    return fault(hostFlag, hostname, 'there is no such host', 'an address or name of this machine')
  if (syscall !== 'listen') return undefined
  const portFlag = port === selectionPort ? '--selection-port' : '--http-port'
  if (code === 'EADDRINUSE') return fault(portFlag, port, `it is taken on ${address}`, 'a free port; 0 = any')
  if (code === 'EACCES')
    return fault(portFlag, port, 'the router may not have it', 'a port from 1024 on; 0 = any')
  return fault(hostFlag, address, `it cannot be bound (${code})`, 'an address of this machine')
}

function fault(origin: string, value: unknown, what: string, accepted: string): ConfigError {
  const message = `${origin}=${String(value)}: ${what}; accepted: ${accepted}`
  return new ConfigError('ROUTER_CONFIG_INVALID', message, [
    { code: 'ROUTER_CONFIG_INVALID', message, path: [origin], value, accepted },
  ])
}
