import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../../node_modules/.cache/python-environments', import.meta.url))
const limitMs = 240_000

/**
 * A Python with pinned packages (`name==version`), in an environment of its own inside the repository: made once, whole or not at all,
 * and found again later. Takes at most some minutes the first time.
 * @param {readonly string[]} requirements
 * @returns {Promise<import('../types/python-environment.js').PythonEnvironment>} never rejects
 */
export async function pythonWith(requirements) {
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
    const { stderr = '', message } = /** @type {Error & { stderr?: string }} */ (error)
    const [line] = `${stderr}\n${message}`.trim().split('\n')
    return { missing: `no python3 with ${requirements.join(', ')}: ${line}` }
  }
}

/**
 * @param {string} folder
 * @param {readonly string[]} requirements
 */
async function install(folder, requirements) {
  const unfinished = `${folder}-${process.pid}`
  try {
    await mkdir(cache, { recursive: true })
    await run('python3', ['-m', 'venv', unfinished], { timeout: limitMs })
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...requirements]
    await run(join(unfinished, 'bin', 'python'), pip, { timeout: limitMs })
    // Another process may have been first.
    await rename(unfinished, folder).catch((error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/**
 * Runs a script.
 * @param {string} python
 * @param {string} script path
 * @param {readonly string[]} args
 * @returns {Promise<string>} what it printed; rejects with what it said where it fails
 */
export async function runPython(python, script, args) {
  return (await run(python, [script, ...args], { timeout: limitMs })).stdout
}
