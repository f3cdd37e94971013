#!/usr/bin/env node
import process from 'node:process'
import { runCli } from './cli.js'
import { endWithOutput } from './output-errors.js'
import { processContext } from './process-context.js'

endWithOutput()
const program = process.env['npm_lifecycle_event'] === 'npx' ? 'npx router' : 'router'
await runCli(process.argv.slice(2), processContext(program, process.cwd()))
