import { randomBytes } from 'node:crypto'
import process from 'node:process'
import picocolors from 'picocolors'
import type { CommandContext } from './command-context.js'
import { type LogOutput, logOutput } from './observe/log-output.js'

/** The context of a real process. */
export function processContext(program: string, folder: string): CommandContext {
  let log: LogOutput | undefined
  return {
    environment: process.env,
    write: (text) => process.stdout.write(`${text}\n`),
    writeError: (text) => {
      // What was logged before it comes before it.
      if (log === undefined) process.stderr.write(`${text}\n`)
      else log.write(`${text}\n`)
    },
    writeLog: (line) => {
      log ??= logOutput({ fileDescriptor: process.stderr.fd })
      log.write(line)
    },
    hasReader: process.stderr.isTTY,
    colors: picocolors.createColors(picocolors.isColorSupported && process.stdout.isTTY),
    program,
    folder,
    randomSeed: () => randomBytes(8).readBigUInt64LE(),
    nowMs: () => performance.now(),
    onStop: (listener) => {
      // Whoever waits for a signal serves others than those who read what it writes.
      process.stdout.removeAllListeners('error').on('error', () => undefined)
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => listener(signal))
    },
    exit: (code) => {
      process.exitCode = code
    },
    die: (code) => process.exit(code),
  }
}
