// The same requests under several policies, over real HTTP, side by side: `npm run demo`.
import process from 'node:process'
import { runDemo } from './command.js'

process.exitCode = await runDemo(process.argv.slice(2), {
  // npm runs scripts in the folder of the workspace, not where the user stands.
  folder: process.env['INIT_CWD'] ?? process.cwd(),
  write: (text) => process.stdout.write(`${text}\n`),
  writeError: (text) => process.stderr.write(`${text}\n`),
  progress: process.stderr,
})
