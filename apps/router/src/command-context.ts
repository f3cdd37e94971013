import type { createColors } from 'picocolors'

/** What a command may touch of the process; tests hand in their own. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Writes a line, or several, to standard output. */
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  readonly colors: ReturnType<typeof createColors>
  /** How the user started the command, for examples: `router explain` or `npm start --`. */
  readonly invocation: string
  /** Absolute folder that relative paths start from: where the user stands. */
  readonly folder: string
  /** u64. */
  readonly randomSeed: () => bigint
  readonly nowMs: () => number
  /** Resolves when the process is asked to stop. */
  readonly untilStopped: () => Promise<void>
  /** Sets the exit code; does not end the process. */
  readonly exit: (code: number) => void
}
