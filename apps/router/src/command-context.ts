import type { createColors } from 'picocolors'
import type { RunningRouter } from './service/router-service.js'

/** What a command may touch of the process; tests hand in their own. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Writes a line, or several, to standard output. */
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  /** Takes a line of the log, with its line break; for standard error. */
  readonly writeLog: (line: string) => void
  /** Whether a person reads the log as it comes. */
  readonly hasReader: boolean
  readonly colors: ReturnType<typeof createColors>
  /** How the user calls the router, for examples: `router` or `npx router`. */
  readonly program: string
  /** Absolute folder that relative paths start from: where the user stands. */
  readonly folder: string
  /** u64. */
  readonly randomSeed: () => bigint
  readonly nowMs: () => number
  /** Tells of every request to stop from now on: `SIGINT` is a person at a terminal, `SIGTERM` whoever looks after the process. */
  readonly onStop: (listener: (signal: 'SIGINT' | 'SIGTERM') => void) => void
  /** Told of a router once it listens. */
  readonly onServing?: ((router: RunningRouter) => void) | undefined
  /** Sets the exit code; does not end the process. */
  readonly exit: (code: number) => void
  /** Ends the process at once. */
  readonly die: (code: number) => void
}
