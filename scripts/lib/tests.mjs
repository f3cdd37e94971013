import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runNode } from './children.mjs'

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 */

/**
 * Runs vitest once over the workspace, with its usual output.
 * @param {readonly string[]} filters as vitest takes them
 * @returns {Promise<Counts>}
 */
export async function runTests(filters) {
  const folder = mkdtempSync(join(tmpdir(), 'router-tests-'))
  const file = join(folder, 'counts.json')
  const reporters = ['--reporter=default', '--reporter=./scripts/lib/vitest-counts.mjs']
  try {
    const { ok } = await runNode('node_modules/vitest/vitest.mjs', ['run', ...reporters, ...filters], {
      show: true,
      env: { ROUTER_TEST_COUNTS: file },
    })
    const counts = readCounts(file)
    // Vitest can also fail for a reason that is no test: nothing may hide that.
    return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} file
 * @returns {Counts}
 */
function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
