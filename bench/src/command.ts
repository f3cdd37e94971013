import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import type { Launch } from './harness/contest-run.js'
import { measureVariant } from './harness/variant-figures.js'
import { Progress, type ProgressStream } from './progress.js'
import { renderReport } from './selection/print-report.js'
import * as selectionBench from './selection/selection-bench.js'
import type { StateBench } from './state/benches.js'
import { renderRows } from './state/print-rows.js'
import type { LaunchRow } from './state/row-process.js'
import * as stateBench from './state/state-bench.js'

/** What the command needs of its process. */
export interface CommandContext {
  readonly print: (text: string) => void
  readonly progress: ProgressStream
  /** Folder that relative file names start from. */
  readonly folder: string
  /** Where the results of a state bench go when no file is named. */
  readonly resultsFolder: string
  readonly stateBenches: readonly StateBench[]
  readonly launchProcesses: Launch
  readonly launchRow: LaunchRow
}

interface SelectionOptions {
  readonly json?: string
  readonly quick?: boolean
  readonly workers?: readonly number[]
  readonly filter?: string
  readonly inProcess?: boolean
}

type StateOptions = Pick<SelectionOptions, 'json' | 'quick' | 'filter'>

const examples = `
Examples:
  npm run bench -- selection                              everything; some minutes on an idle machine
  npm run bench -- selection --quick                      the same, too short to publish
  npm run bench -- selection --workers 64,1024            two sizes
  npm run bench -- selection --filter holes --quick       one group
  npm run bench -- selection --json bench/results/mine.json

Speed is printed, never asserted: the exit code is 0 whatever the figures.`

const stateExamples = (name: string): string => `
Examples:
  npm run bench -- ${name}                              everything; writes bench/results/${name}.json
  npm run bench -- ${name} --quick                      the same, too short to publish; writes no file
  npm run bench -- ${name} --filter TEXT --json some.json

Speed is printed, never asserted: the exit code is 0 whatever the figures, 1 when a row could not be measured.`

/** Runs the command and returns its exit code: 0 done, 1 something could not be measured, 2 wrong use. */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<number> {
  const write = (text: string): void => context.print(text.replace(/\n$/, ''))
  const program = new Command('bench')
    .description('Benches of this repository. Each has a --help of its own.')
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride()
    .action(() => program.outputHelp())
  program
    .command('selection')
    .description('what one selection costs, from 8 to 10,000 workers: time, bytes, ratios, figures to reach')
    .option('--json <file>', 'write rows, ratios and figures to this file too')
    .option('--quick', 'few and short rounds, to see that it works')
    .option('--workers <list>', 'these sizes for every group, such as 64,1024', parseSizes)
    .option('--filter <text>', 'only groups and variants whose name contains this')
    .option('--in-process', 'all variants in one process, to see how they disturb each other')
    .addHelpText('after', examples)
    .action((options: SelectionOptions) => selection(options, context))
  let exitCode = 0
  for (const bench of context.stateBenches) {
    program
      .command(bench.name)
      .description(bench.description)
      .option('--json <file>', 'write the rows to this file')
      .option('--quick', 'one short round, to see that it works')
      .option('--filter <text>', 'only groups and rows whose name contains this')
      .addHelpText('after', stateExamples(bench.name))
      .action(async (options: StateOptions) => {
        exitCode = await state(bench, options, context)
      })
  }
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    context.print(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return 1
  }
}

async function selection(options: SelectionOptions, context: CommandContext): Promise<void> {
  const { json, quick = false, workers, filter, inProcess = false } = options
  const progress = new Progress(context.progress)
  const report = await selectionBench
    .runSelectionBench({
      workers,
      filter,
      effort: quick ? selectionBench.quickEffort : selectionBench.fullEffort,
      launch: inProcess ? launchHere : context.launchProcesses,
      isIsolated: !inProcess,
      onStep: (what) => progress.show(what),
    })
    .finally(() => progress.clear())
  context.print(renderReport(report))
  if (json !== undefined) writeReport(resolve(context.folder, json), report, context)
}

/** Returns the exit code. */
async function state(bench: StateBench, options: StateOptions, context: CommandContext): Promise<number> {
  const { json, quick = false, filter } = options
  const progress = new Progress(context.progress)
  const report = await stateBench
    .runStateBench(bench, {
      filter,
      effort: quick ? stateBench.quickEffort : stateBench.fullEffort,
      launch: context.launchRow,
      onStep: (what) => progress.show(what),
    })
    .finally(() => progress.clear())
  if (report.rows.length === 0) {
    const rows = filter === undefined ? 'row' : `row with '${filter}' in its name or group`
    context.print(`nothing measured: ${bench.name} has no ${rows}`)
    return 2
  }
  context.print(renderRows(report))
  const isWhole = !quick && filter === undefined
  if (json !== undefined) writeReport(resolve(context.folder, json), report, context)
  else if (isWhole) writeReport(resolve(context.resultsFolder, `${bench.name}.json`), report, context)
  return report.rows.some(({ value }) => value === null) ? 1 : 0
}

function writeReport(file: string, report: object, context: CommandContext): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`)
  context.print(`\nwritten to ${file}`)
}

const launchHere: Launch = async (_contest, variant, effort) => measureVariant(variant, effort)

const mostWorkers = 100_000

function parseSizes(text: string): number[] {
  const sizes = text.split(',').map(Number)
  if (sizes.every((size) => Number.isInteger(size) && size >= 2 && size <= mostWorkers)) return sizes
  throw new InvalidArgumentError(`Accepted: integers from 2 to ${mostWorkers}, separated by commas.`)
}
