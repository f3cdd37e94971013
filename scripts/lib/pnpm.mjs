import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './children.mjs'
import { ROOT } from './root.mjs'

const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/**
 * Runs the package manager that package.json names, without asking anything.
 * @param {readonly string[]} args
 * @param {Parameters<typeof run>[2]} [options]
 */
export function runPnpm(args, options = {}) {
  return run('npx', ['-y', packageManager, ...args], { ...options, env: { CI: '1', ...options.env } })
}
