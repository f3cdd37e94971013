import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../../../node_modules/.cache/mock-engine-python', import.meta.url))
const installMs = 240_000

/** A Python that has packages, or why there is none. */
export type PythonEnvironment =
  | { readonly python: string; readonly missing?: undefined }
  | { readonly python?: undefined; readonly missing: string }

/**
 * A Python with pinned packages (`name==version`), in an environment of its own inside the repository: made once, whole or not at all,
 * and found again later. Takes at most some minutes the first time.
 */
export async function pythonWith(requirements: readonly string[]): Promise<PythonEnvironment> {
  try {
    const version = (await run('python3', ['--version'])).stdout
    const key = createHash('sha256')
      .update(JSON.stringify([version, requirements]))
      .digest('hex')
      .slice(0, 16)
    const folder = join(cache, key)
    const python = join(folder, 'bin', 'python')
    if (!existsSync(python)) await install(folder, requirements)
    return { python }
  } catch (error) {
    const lines = `${(error as { stderr?: string }).stderr ?? ''}\n${(error as Error).message}`
      .trim()
      .split('\n')
    return { missing: `no python3 with ${requirements.join(', ')}: ${lines[0]}` }
  }
}

async function install(folder: string, requirements: readonly string[]): Promise<void> {
  const unfinished = `${folder}-${process.pid}`
  try {
    await mkdir(cache, { recursive: true })
    await run('python3', ['-m', 'venv', unfinished], { timeout: installMs })
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...requirements]
    await run(join(unfinished, 'bin', 'python'), pip, { timeout: installMs })
    // Another process may have been first.
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/** Runs a script, and gives what it printed. Rejects with what it said where it fails. */
export async function runPython(python: string, script: string, args: readonly string[]): Promise<string> {
  return (await run(python, [script, ...args], { timeout: installMs })).stdout
}
