import { Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from '../command-context.js'
import { loadServePolicy } from '../serve-policy.js'
import { startRouter } from '../service/router-service.js'
import { readServeSettings } from '../settings/serve-settings.js'

interface ServeOptions {
  readonly selectionPort: number
  readonly host?: string
  readonly routerPolicyConfig?: string
}

const examples = `
Examples:
  router serve --selection-port 8092
  router serve --selection-port 8092 --router-policy-config policy.yaml
  ROUTER_KV_EVENTS=false router serve --selection-port 8092      # engines tell nothing: what they hold is believed

  curl http://127.0.0.1:8092/workers -H 'content-type: application/json' \\
    -d '{"worker_id": 1, "endpoint": "http://10.0.0.1:8000", "block_size": 16, "kv_events_endpoint": "tcp://127.0.0.1:5557"}'
  curl http://127.0.0.1:8092/select -H 'content-type: application/json' -d '{"token_ids": [1, 2, 3]}'`

/** `router serve`: the selection API, until the process is asked to stop. */
export function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('answer which worker should get a request: the selection API')
    .requiredOption('--selection-port <port>', 'port of the selection API; 0 = a free one', parsePort)
    .option('--host <address>', 'address to bind; else ROUTER_HTTP_HOST, else 127.0.0.1')
    .option('--router-policy-config <file>', 'router-policy file; else ROUTER_POLICY_CONFIG')
    .addHelpText('after', examples)
    .action(async (options: ServeOptions) => serve(options, context))
}

async function serve(options: ServeOptions, context: CommandContext): Promise<void> {
  const { environment, folder, colors, write, writeError } = context
  const { selectionPort: port, host, routerPolicyConfig: path } = options
  const policy = await loadServePolicy({ path, folder, environment })
  for (const { message } of policy.warnings) writeError(`${colors.yellow('warning')}: ${message}`)
  const flags = host === undefined ? {} : { 'http-host': host }
  const settings = readServeSettings({ flags, environment, policyFile: policy.policyFile })
  const service = await startRouter({
    settings,
    policy,
    ports: { selection: port },
    clock: context.nowMs,
    random: context.randomSeed,
    onWarning: ({ message }) => writeError(`${colors.yellow('warning')}: ${message}`),
  })
  write(`selection API on ${service.url}`)
  await context.untilStopped()
  await service.close(5000)
  context.exit(0)
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new InvalidArgumentError('expected an integer from 0 to 65535')
}
