import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { type Files, temporaryFolder } from './files.js'

const PACKAGE = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const OXLINT = join(PACKAGE, 'node_modules/oxlint/bin/oxlint')

interface Report {
  readonly diagnostics: ReadonlyArray<{
    readonly message: string
    readonly code: string
    readonly filename: string
  }>
}

/**
 * Runs oxlint with one rule of the plugin over sources; one run for all of them, because a process is dear.
 *
 * @returns the messages by file, in the order of the source
 */
export function lint(rule: string, sources: Files): Map<string, string[]> {
  const folder = temporaryFolder({
    ...sources,
    '.oxlintrc.json': JSON.stringify({
      categories: { correctness: 'off' },
      jsPlugins: [join(PACKAGE, 'src/oxlint-plugin.js')],
      rules: { [`router/${rule}`]: 'error' },
    }),
  })
  const messages = new Map(Object.keys(sources).map((file): [string, string[]] => [file, []]))
  for (const { filename, message, code } of run(folder).diagnostics) {
    messages.get(filename)?.push(code.includes(rule) ? message : `${code}: ${message}`)
  }
  return messages
}

function run(folder: string): Report {
  try {
    return JSON.parse(
      execFileSync(process.execPath, [OXLINT, '--format', 'json', '.'], { cwd: folder, encoding: 'utf8' }),
    )
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout)
  }
}
