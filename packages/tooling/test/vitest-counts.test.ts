import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/files.js'

const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

test('the closing line counts tests, files that could not run and errors outside of tests', () => {
  const folder = temporaryFolder({
    'mixed.test.js':
      "test('a', () => {})\ntest('b', () => {})\ntest.skip('c', () => {})\ntest.todo('d')\ntest('e', () => { throw new Error('e') })\n",
    'broken.test.js': "throw new Error('broken')\n",
    'setup.test.js': "beforeAll(() => { throw new Error('setup') })\ntest('f', () => {})\n",
    'late.test.js': "test('g', () => { Promise.reject(new Error('late')) })\n",
  })
  const counts = join(folder, 'counts.json')
  const reporter = join(ROOT, 'scripts/lib/vitest-counts.mjs')
  const args = ['run', '--root', folder, '--globals', '--reporter', reporter]
  expect(() =>
    execFileSync(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], {
      env: { ...process.env, ROUTER_TEST_COUNTS: counts },
      stdio: 'pipe',
    }),
  ).toThrow()
  expect(JSON.parse(readFileSync(counts, 'utf8'))).toEqual({ passed: 3, failed: 4, skipped: 3 })
})
