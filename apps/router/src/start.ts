import process from 'node:process'
import { runCli } from './cli.js'
import { processContext } from './process-context.js'

// What `npm start` runs: until there is a server, one explained selection. npm runs it in the folder of the workspace, and says
// where the user stands.

const folder = process.env['INIT_CWD'] ?? process.cwd()
await runCli(['explain', ...process.argv.slice(2)], processContext('npm start --', folder))
