import process from 'node:process'

/**
 * Ends the process when standard output takes no more: in silence when its reader left (`| head -1`), else with one line on
 * standard error and exit code 1. A lost standard error ends nothing.
 */
export function endWithOutput() {
  process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === 'EPIPE') process.exit()
    process.stderr.write(`cannot write to standard output: ${error.message}\n`)
    process.exit(1)
  })
  process.stderr.on('error', () => {})
}
