/** What the command uses of the process that runs it. */
declare const process: {
  readonly argv: readonly string[]
  readonly stdout: { write(text: string): void }
  readonly stderr: { write(text: string): void }
  exitCode?: number
}
