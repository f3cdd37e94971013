import process from 'node:process'
import { runCommand } from './command.js'

process.exitCode = await runCommand(
  process.argv.slice(2),
  (line) => process.stdout.write(`${line}\n`),
  (line) => process.stderr.write(`${line}\n`),
)
