import { createServer } from 'node:net'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { type MockEngine, startMockEngine } from 'router-mock-engine'
import { runCli } from '../cli.js'
import type { CommandContext } from '../command-context.js'
import type { RunningRouter } from '../service/router-service.js'

const usualPort = 8000
const portVariable = 'ROUTER_HTTP_PORT'
/** Ports that are tried where nobody asked for one. */
const triedPorts = 100
/** Engines in one process. */
const mostEngines = 64

interface StartOptions {
  readonly port?: number
  readonly engines: number
}

const examples = `
Every flag of router serve may follow, such as --policy prefix-affinity or --log-level debug: see npx router serve --help.

Examples:
  npm start
  npm start -- --port 9000 --engines 8
  npm start -- --policy prefix-affinity
  npm start -- --router-policy-config policy.yaml`

/**
 * Runs a router with simulated engines in the same process, until it is asked to stop. Sets the exit code: 0 it was asked to stop and did,
 * 1 it could not start, 2 wrong use.
 */
export async function runStart(args: readonly string[], context: CommandContext): Promise<void> {
  const { write, writeError, exit } = context
  const command = new Command('npm start --')
    .description('a router in front of simulated engines, all in one process: to try it out, no GPU needed')
    .option(
      '--port <n>',
      `port of the router (default: ${portVariable}, else ${usualPort}, else the next free one)`,
      whole(0, 65_535),
    )
    .option('--engines <n>', 'simulated engines', whole(1, mostEngines), 4)
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText('after', examples)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => write(text.trimEnd()),
      writeErr: (text) => writeError(text.trimEnd()),
    })
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    exit(error.exitCode === 0 ? 0 : 2)
    return
  }
  const options = command.opts<StartOptions>()
  await startAll(options, command.args, context)
}

async function startAll(
  { port: askedPort, engines: count }: StartOptions,
  serveArguments: readonly string[],
  context: CommandContext,
): Promise<void> {
  const { write, colors, environment } = context
  const isAsked = askedPort !== undefined || Boolean(environment[portVariable])
  const port = isAsked ? askedPort : await freePort()
  const engines: MockEngine[] = []
  let stopLooking = (): void => undefined
  try {
    while (engines.length < count) engines.push(await startEngine())
    const note = !isAsked && port !== usualPort ? `port ${usualPort} is taken` : undefined
    await runCli(
      [
        'serve',
        ...(port === undefined ? [] : [`--http-port=${port}`]),
        `--tokenizer=${engines[0]!.modelFolder}`,
        // Nobody balances over this router: nobody has to notice that it is about to go.
        '--drain-grace-secs=0',
        ...engines.flatMap((engine) => ['--worker', workerText(engine)]),
        ...serveArguments,
      ],
      {
        ...context,
        onServing: (router) => {
          stopLooking = whenAllServe(router, count, () => write(greeting(router, engines, note, colors)))
        },
      },
    )
  } finally {
    stopLooking()
    await Promise.all(engines.map((engine) => engine.close()))
  }
}

function startEngine(): Promise<MockEngine> {
  const anyPort = 'tcp://127.0.0.1:0'
  return startMockEngine({ events: { endpoint: anyPort, replayEndpoint: anyPort } })
}

/**
 * Calls back once the router knows its engines, which takes a moment.
 * @returns ends the wait
 */
function whenAllServe({ fleet }: RunningRouter, count: number, callback: () => void): () => void {
  const look = setInterval(() => {
    if (fleet.workers.schedulable < count) return
    clearInterval(look)
    callback()
  }, 10)
  return () => clearInterval(look)
}

/** An engine as `--worker` names it. */
function workerText({ url, kvEventsEndpoints: [events], replayEndpoints: [replay] }: MockEngine): string {
  return `${url},kv_events_endpoint=${events},replay_endpoint=${replay}`
}

function greeting(
  { url }: RunningRouter,
  engines: readonly MockEngine[],
  note: string | undefined,
  colors: CommandContext['colors'],
): string {
  const model = engines[0]!.model
  const body = `{"model": "${model}", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}`
  const line = (name: string, text: string) => `${name.padEnd(13)}${text}`
  return [
    '',
    line('address', colors.bold(url) + (note === undefined ? '' : `   (${note})`)),
    line('engines', engines.map((engine) => engine.url).join('  ')),
    line('try', `curl -N ${url}/v1/chat/completions -H 'content-type: application/json' \\`),
    line('', `  -d '${body}'`),
    line('decisions', `${url}/debug/decisions?limit=1`),
    line('workers', `${url}/workers`),
    line('metrics', `${url}/metrics`),
    line('health', `${url}/health`),
    line('end', 'Ctrl-C ends the router and the engines'),
  ].join('\n')
}

/** The usual port or the first one after it that can be bound; when none can, the usual one, whose error says so. */
async function freePort(): Promise<number> {
  for (let port = usualPort; port < usualPort + triedPorts; port++) if (await isFree(port)) return port
  return usualPort
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .on('error', () => resolve(false))
      .listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)))
  })
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,5}$/u.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`accepted: a whole number from ${least} to ${most}`)
  }
}
