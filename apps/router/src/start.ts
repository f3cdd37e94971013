import process from 'node:process'
import { runStart } from './commands/start.js'
import { processContext } from './process-context.js'

// What `npm start` runs. npm runs it in the folder of the workspace, and says where the user stands.

const folder = process.env['INIT_CWD'] ?? process.cwd()
await runStart(process.argv.slice(2), processContext('npx router', folder))
