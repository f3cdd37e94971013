#!/usr/bin/env node
import process from 'node:process'
import picocolors from 'picocolors'
import { runCli } from './cli.js'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.stderr.write(`cannot write to standard output: ${error.message}\n`)
  process.exit(1)
})
await runCli(process.argv.slice(2), {
  write: (text) => process.stdout.write(`${text}\n`),
  writeError: (text) => process.stderr.write(`${text}\n`),
  colors: picocolors.createColors(picocolors.isColorSupported && process.stdout.isTTY),
  exit: (code) => {
    process.exitCode = code
  },
  die: (code) => process.exit(code),
  onSignal: (listener) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => listener(signal))
  },
})
