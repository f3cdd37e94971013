import { writeFileSync } from 'node:fs'
import process from 'node:process'

/**
 * Vitest reporter that leaves the counts of the run in the file that `ROUTER_TEST_COUNTS` names. A file of tests that
 * could not run, and an error outside of every test, count as one failure each.
 */
// oxlint-disable-next-line import/no-default-export
export default class CountsReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      const before = counts.failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        counts[state === 'pending' ? 'failed' : state]++
      }
      if (counts.failed === before && !module.ok()) counts.failed++
    }
    const file = process.env.ROUTER_TEST_COUNTS
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts))
  }
}
