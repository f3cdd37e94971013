import process from 'node:process'
import { runCommand } from './command.js'
import {
  type MeasureTask,
  launchProcesses,
  measureCommand,
  serveMeasurement,
} from './harness/process-launch.js'
import { variantNamed } from './selection/selection-bench.js'

const [command, task = ''] = process.argv.slice(2)
if (command === measureCommand) {
  const parsed = JSON.parse(task) as MeasureTask
  serveMeasurement(parsed, variantNamed(parsed.group, parsed.workers, parsed.variant))
} else {
  process.exitCode = await runCommand(process.argv.slice(2), {
    print: (text) => process.stdout.write(`${text}\n`),
    progress: process.stderr,
    // npm runs scripts in the folder of the workspace, not where the user stands.
    folder: process.env['INIT_CWD'] ?? process.cwd(),
    launchProcesses: launchProcesses(process.argv[1]!),
  })
}
