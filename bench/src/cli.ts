import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { runCommand } from './command.js'
import {
  type MeasureTask,
  launchProcesses,
  measureCommand,
  serveMeasurement,
} from './harness/process-launch.js'
import { partCommand, servePart } from './proxy/part-process.js'
import { partStarts } from './proxy/parts.js'
import { variantNamed } from './selection/selection-bench.js'
import { stateBenches } from './state/benches.js'
import { type RowTask, launchRowProcesses, serveRow, takeCommand } from './state/row-process.js'

const [command, task = ''] = process.argv.slice(2)
if (command === measureCommand) {
  const parsed = JSON.parse(task) as MeasureTask
  serveMeasurement(parsed, variantNamed(parsed.group, parsed.workers, parsed.variant))
} else if (command === takeCommand) {
  await serveRow(JSON.parse(task) as RowTask, stateBenches)
} else if (command === partCommand) {
  await servePart(task, partStarts)
} else {
  process.exitCode = await runCommand(process.argv.slice(2), {
    print: (text) => process.stdout.write(`${text}\n`),
    progress: process.stderr,
    // npm runs scripts in the folder of the workspace, not where the user stands.
    folder: process.env['INIT_CWD'] ?? process.cwd(),
    resultsFolder: fileURLToPath(new URL('../results/', import.meta.url)),
    stateBenches,
    launchProcesses: launchProcesses(process.argv[1]!),
    launchRow: launchRowProcesses(process.argv[1]!),
  })
}
