import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * The command that runs the router of this checkout, from its sources as they are now. Other calls may do so at once: the file is
 * the same, and takes its place whole.
 */
export async function bundledRouter(): Promise<readonly string[]> {
  const outfile = join(root, 'node_modules', '.cache', 'router', 'vectors-router.mjs')
  await bundleSources({ entry: join(root, 'apps', 'router', 'src', 'bin.ts'), outfile })
  return [process.execPath, outfile]
}

/** A program that runs, with whatever it starts itself. */
export interface ProcessGroup {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Exit code of the program or the signal that ended it, once nothing of the group has its output open. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Asks all of it to stop: a program such as npx passes no signal on. */
  end(): void
}

/** Leaders of the groups that run: they end with this process, which alone hears of Ctrl-C. */
const running = new Set<number>()
let listens = false

/** Starts a program in a process group of its own, without input. A program that is not there is an `error` event of the child. */
export function startGroup(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ProcessGroup {
  if (!listens) {
    listens = true
    process.once('SIGINT', () => endWithGroups(130))
    process.once('SIGTERM', () => endWithGroups(143))
  }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const { pid } = child
  if (pid !== undefined) running.add(pid)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.on('close', (code, signal) => {
      if (pid !== undefined) running.delete(pid)
      resolve(code ?? signal!)
    }),
  )
  return { child, ended, end: () => signalGroup(pid, 'SIGTERM') }
}

function endWithGroups(exitCode: number): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL')
  process.exit(exitCode)
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It is over.
  }
}
