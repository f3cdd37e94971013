#!/usr/bin/env node
import process from 'node:process'
import { runCli } from './cli.js'
import { endWithOutput } from './output-errors.js'
import { processContext } from './process-context.js'

endWithOutput()
await runCli(process.argv.slice(2), processContext('router explain', process.cwd()))
