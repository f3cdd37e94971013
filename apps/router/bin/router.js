#!/usr/bin/env node
import { existsSync } from 'node:fs'
import process from 'node:process'

// In a checkout the sources run, so that nothing has to be built first; elsewhere what was built of them.

const runner = new URL('../../../scripts/run.mjs', import.meta.url)
const isCheckout = existsSync(runner) && existsSync(new URL('../src/bin.ts', import.meta.url))
if (isCheckout) process.argv.splice(2, 0, 'router')
await import(isCheckout ? runner.href : '../dist/bin.js')
