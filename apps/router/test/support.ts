import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import picocolors from 'picocolors'
import { runCli } from '../src/cli.js'

/** What a run of the command left behind. */
export interface Run {
  readonly exitCode: number | undefined
  readonly output: string
  readonly errors: string
}

/** Runs `router` in this process, without colors, and with seed 1 where none is given. */
export async function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Run> {
  const output: string[] = []
  const errors: string[] = []
  let exitCode: number | undefined
  await runCli(args, {
    environment,
    write: (text) => output.push(text),
    writeError: (text) => errors.push(text),
    writeLog: (line) => errors.push(line.trimEnd()),
    hasReader: true,
    colors: picocolors.createColors(false),
    program: 'router',
    folder: process.cwd(),
    randomSeed: () => 1n,
    nowMs: () => 0,
    onStop: (listener) => listener('SIGINT'),
    exit: (code) => {
      exitCode = code
    },
    die: (code) => {
      exitCode = code
    },
  })
  return { exitCode, output: output.join('\n'), errors: errors.join('\n') }
}

export const explain = (...args: string[]) => run(['explain', ...args])

const folder = mkdtempSync(join(tmpdir(), 'router-explain-'))
let files = 0

/** Path of a new file with this text. */
export function fileWith(text: string): string {
  const path = join(folder, `${++files}.yaml`)
  writeFileSync(path, text)
  return path
}

/** Cells of the row of one rank in a report, by two or more spaces. */
export function cellsOf(output: string, rank: string): string[] {
  const line = output.split('\n').find((each) => each.startsWith(`${rank} `))
  return line?.trimEnd().split(/ {2,}/u) ?? []
}
