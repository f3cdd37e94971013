import { spawn } from 'node:child_process'
import process from 'node:process'
import { ROOT } from './root.mjs'

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/**
 * Runs a program in a process group of its own, so that `stopWithChildren` can end it with everything it started.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ show?: boolean, env?: Record<string, string> }} [options] `show`: print as it comes, instead of returning it
 * @returns {Promise<{ ok: boolean, output: string }>} stdout and stderr in the order of arrival
 */
export function run(command, args, { show = false, env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      detached: true,
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', ...env },
      stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.on('error', (error) => {
      running.delete(child)
      resolve({ ok: false, output: `${output}${error.message}\n` })
    })
    child.on('close', (code) => {
      running.delete(child)
      resolve({ ok: code === 0, output })
    })
  })
}

/**
 * Runs a script of an installed package or of this folder with the same Node.
 * @param {string} script from the root
 * @param {readonly string[]} args
 * @param {Parameters<typeof run>[2]} [options]
 */
export function runNode(script, args, options) {
  return run(process.execPath, [script, ...args], options)
}

/** Makes Ctrl-C and a termination request end the children too. */
export function stopWithChildren() {
  for (const [signal, code] of /** @type {const} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])) {
    process.once(signal, () => {
      for (const { pid } of running) if (pid !== undefined) endGroup(pid)
      process.exit(code)
    })
  }
}

/** @param {number} pid */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {
    // The group has ended by itself.
  }
}
