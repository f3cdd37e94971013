import process from 'node:process'
import { runCli } from './cli.js'
import { processContext } from './process-context.js'

// What `npm start` runs: until there is a server, one explained selection.

await runCli(['explain', ...process.argv.slice(2)], processContext('npm start --'))
