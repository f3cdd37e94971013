#!/usr/bin/env node
import process from 'node:process'
import { runCli } from './cli.js'
import { processContext } from './process-context.js'

await runCli(process.argv.slice(2), processContext('router explain'))
