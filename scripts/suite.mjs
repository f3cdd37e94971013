import process from 'node:process'
import { CHECKS } from './lib/checks.mjs'
import { stopWithChildren } from './lib/children.mjs'
import { inLanes } from './lib/lanes.mjs'
import { runTests } from './lib/tests.mjs'
import { setUp } from './setup.mjs'

/** @typedef {import('./lib/checks.mjs').Check} Check */

const TESTS = 'tests'
const counts = { passed: 0, failed: 0, skipped: 0 }

const { only, filters, help, mistake } = readArguments(process.argv.slice(2))
if (help) {
  process.stdout.write(usage())
} else if (mistake !== undefined) {
  process.stderr.write(`${mistake}\n`)
  process.exitCode = 2
} else {
  stopWithChildren()
  if (await setUp()) {
    await runChecks(withNeeds(CHECKS.filter(({ name }) => only.length === 0 || only.includes(name))))
    if (only.length === 0 || only.includes(TESTS)) add(await runTests(filters))
  } else {
    process.stdout.write('not ok installation\n')
    counts.failed++
  }
  if (counts.skipped > 0)
    process.stdout.write(`${counts.skipped} skipped, each with its reason in its title\n`)
  process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`)
  process.exitCode = counts.failed > 0 ? 1 : 0
}

/**
 * Runs every check, two at a time; a failure stops only those that need the failed one.
 * @param {readonly Check[]} checks
 */
async function runChecks(checks) {
  /** @type {Map<string, Promise<boolean>>} */
  const results = new Map()
  await inLanes(2, checks, async (check) => {
    const result = runCheck(check, check.needs === undefined ? undefined : results.get(check.needs))
    results.set(check.name, result)
    await result
  })
}

/**
 * @param {Check} check
 * @param {Promise<boolean> | undefined} needed
 * @returns {Promise<boolean>} whether it passed
 */
async function runCheck({ name, needs, run }, needed) {
  if (needed !== undefined && !(await needed)) {
    process.stdout.write(`skipped ${name} (${needs} failed)\n`)
    counts.skipped++
    return false
  }
  const start = performance.now()
  const { ok, output, note } = await run().catch((error) => ({
    ok: false,
    output: `${error.stack}\n`,
    note: undefined,
  }))
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const details = note === undefined ? `${seconds} s` : `${seconds} s; ${note}`
  process.stdout.write(
    ok ? `ok ${name} (${details})\n` : `not ok ${name} (${seconds} s)\n${output.trimEnd()}\n`,
  )
  add(ok ? { passed: 1 } : { failed: 1 })
  return ok
}

/** @param {Partial<typeof counts>} more */
function add({ passed = 0, failed = 0, skipped = 0 }) {
  counts.passed += passed
  counts.failed += failed
  counts.skipped += skipped
}

/**
 * @param {readonly Check[]} chosen
 * @returns {readonly Check[]} with the checks that they need, in the usual order
 */
function withNeeds(chosen) {
  const needed = new Set(chosen.map(({ needs }) => needs))
  return CHECKS.filter((check) => chosen.includes(check) || needed.has(check.name))
}

/** @param {string[]} given */
function readArguments(given) {
  const end = given.indexOf('--')
  const options = end === -1 ? given : given.slice(0, end)
  const filters = end === -1 ? [] : given.slice(end + 1)
  const known = [...CHECKS.map(({ name }) => name), TESTS]
  /** @type {string[]} */
  const only = []
  let help = false
  let mistake
  for (let at = 0; at < options.length; at++) {
    const option = options[at]
    if (option === '--help') help = true
    else if (option === '--only') only.push(...(options[++at] ?? '').split(','))
    else mistake = `unknown option '${option}'; known: --only, --help, -- <vitest filter>`
  }
  const unknown = only.find((name) => !known.includes(name))
  if (unknown !== undefined) mistake = `unknown check '${unknown}'; known: ${known.join(', ')}`
  return { only, filters, help, mistake }
}

function usage() {
  return [
    'npm test -- [--only <name>[,<name>]] [-- <vitest filter>]',
    '',
    ...CHECKS.map(({ name, what }) => `  ${name.padEnd(10)} ${what}`),
    `  ${TESTS.padEnd(10)} vitest over the workspace`,
    '',
  ].join('\n')
}
