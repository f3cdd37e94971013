import { access, constants, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { SingleBar } from 'cli-progress'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { type CompareOptions, type Comparison, compare } from './compare.js'
import { fittingSpeedup } from './pace.js'
import { type DemoPolicy, demoPolicies } from './policies.js'
import { type Reach, reachLines, reachOf } from './reach.js'
import { tableOf } from './report.js'
import { sessionWorkload } from './sessions.js'
import { carriedRows, readTrace, traceWorkload } from './trace.js'
import { type Workload, requestsOf } from './workload.js'

/** Requests of the trace are large: it goes so much slower than the chats, where nobody says how fast. */
const tracePace = 0.7

/** What the demo may touch of its process. */
export interface DemoContext {
  /** Absolute folder that relative paths start from. */
  readonly folder: string
  /** Writes lines to standard output. */
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  /** Where the progress bar goes. */
  readonly progress: NodeJS.WritableStream
}

interface DemoOptions {
  readonly seed: number
  readonly policies: readonly DemoPolicy[]
  readonly engines: number
  readonly sessions: number
  readonly rows: number
  readonly speedup?: number
  readonly json?: string
}

const examples = `
Examples:
  npm run demo
  npm run demo -- --policies round-robin,default --rows 0
  npm run demo -- --seed 2 --json demo.json`

/**
 * Runs the demo with arguments: a table per workload, and what of it was to be reached. Resolves with the exit code: 0 done, 1 the
 * numbers cannot be written, 2 wrong use. Rejects when a request fails.
 */
export async function runDemo(args: readonly string[], context: DemoContext): Promise<number> {
  const { write, writeError, folder } = context
  const command = demoCommand(context)
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
  const options = command.opts<DemoOptions>()
  const { seed, engines, sessions, rows } = options
  const jsonPath = options.json === undefined ? undefined : resolve(folder, options.json)
  try {
    if (jsonPath !== undefined) await access(dirname(jsonPath), constants.W_OK)
  } catch (error) {
    writeError(`--json=${jsonPath}: ${(error as Error).message}; accepted: a file in a folder that is there`)
    return 1
  }
  const fitting = options.speedup ?? (await fittingSpeedup())
  const comparisons: Comparison[] = []
  const play = async (workload: Workload, speedup: number): Promise<Comparison> => {
    const comparison = await shown(workload, { ...options, speedup }, context)
    comparisons.push(comparison)
    return comparison
  }
  const reach: Reach[] = []
  if (sessions > 0) {
    reach.push(...reachOf(await play(sessionWorkload(sessions, seed), fitting)))
    write(`\n${reachLines(reach)}`)
  }
  if (rows > 0) await play(traceWorkload(readTrace(rows)), options.speedup ?? tracePace * fitting)
  if (jsonPath !== undefined) {
    await writeFile(jsonPath, `${JSON.stringify({ seed, engines, comparisons, reach }, undefined, 2)}\n`)
    writeError(`numbers written to ${jsonPath}`)
  }
  return 0
}

function demoCommand({ write, writeError }: DemoContext): Command {
  const names = demoPolicies.map(({ name }) => name).join(', ')
  return new Command('npm run demo --')
    .description(
      'plays the same requests once per policy, through a router to simulated engines, and compares what their caches held',
    )
    .addOption(number('--seed <n>', 'of sessions and ties', 0, 1))
    .addOption(
      new Option('--policies <names>', `a comma list of ${names}`)
        .argParser(policiesOf)
        .default(demoPolicies, 'all'),
    )
    .addOption(number('--engines <n>', 'simulated engines', 1, 4))
    .addOption(number('--sessions <n>', 'chats; 0 = none', 0, 40))
    .addOption(
      number(
        '--rows <n>',
        `rows of the trace; 0 = none, at most ${carriedRows}`,
        0,
        carriedRows,
        carriedRows,
      ),
    )
    .addOption(
      number('--speedup <n>', 'times faster than engines and people are', 1, undefined).default(
        undefined,
        'as this machine can',
      ),
    )
    .option('--json <file>', 'writes the numbers there too')
    .addHelpText('after', examples)
    .showHelpAfterError('see npm run demo -- --help')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => write(text.trimEnd()),
      writeErr: (text) => writeError(text.trimEnd()),
    })
}

/** Plays a workload under a progress bar, and writes its table. */
async function shown(
  workload: Workload,
  options: Omit<CompareOptions, 'onStep' | 'onRequest'>,
  { write, progress }: DemoContext,
): Promise<Comparison> {
  const bar = new SingleBar({
    stream: progress,
    format: `${workload.name} {step} [{bar}] {value} of {total} requests`,
    noTTYOutput: true,
    notTTYSchedule: 10_000,
    stopOnComplete: false,
    hideCursor: false,
  })
  bar.start(requestsOf(workload) * (options.policies.length + 1), 0, { step: '' })
  try {
    const comparison = await compare(workload, {
      ...options,
      onStep: (step) => bar.update({ step }),
      onRequest: () => bar.increment(),
    })
    bar.stop()
    write(`\n${tableOf(comparison)}`)
    return comparison
  } finally {
    bar.stop()
  }
}

function number(
  flags: string,
  description: string,
  least: number,
  usual: number | undefined,
  most = 2 ** 31,
): Option {
  return new Option(flags, description).default(usual).argParser((text) => {
    const value = /^\d{1,10}$/u.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`accepted: a whole number from ${least} to ${most}`)
  })
}

function policiesOf(text: string): DemoPolicy[] {
  return text.split(',').map((given) => {
    const policy = demoPolicies.find(({ name }) => name === given.trim())
    if (policy !== undefined) return policy
    throw new InvalidArgumentError(`accepted: ${demoPolicies.map(({ name }) => name).join(', ')}`)
  })
}
