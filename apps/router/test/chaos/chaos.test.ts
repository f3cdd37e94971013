import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runChaos } from './chaos-run.js'

// The short form of `npm run chaos`. Nothing here depends on how fast the machine is: laws with seconds in them are judged there.

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const binary = join(root, 'node_modules', '.cache', 'router', `chaos-test-${process.pid}.mjs`)

beforeAll(async () => {
  await bundleSources({ entry: join(root, 'apps', 'mock-engine', 'src', 'bin.ts'), outfile: binary })
}, 120_000)

afterAll(() => [binary, `${binary}.map`].forEach((path) => rmSync(path, { force: true })))

it('U17, U31-U34, U38, F1, F6: engines that die, hang and answer badly, and clients that go, cost nobody else anything', async () => {
  const report = await runChaos({
    binary,
    engines: 4,
    requests: 300,
    seed: 11,
    concurrency: 12,
    pace: { everyRequests: [40, 40], downMs: [300, 300], hangMs: [300, 300], faultsMs: [300, 300] },
    // A kill, a hang, bad answers, and another kill.
    leastTroubles: 4,
    isTimed: false,
  })
  expect(report.stories).toEqual([])
  expect(report.violations).toBe(0)
  // Each of these was there to be looked at.
  const { troubles, verdicts, left, checks } = report
  expect(Object.values(troubles).every((count) => count > 0)).toBe(true)
  expect([verdicts.answered > 0, left.nothing > 0, left.events > 0, report.triedAgain > 0]).not.toContain(
    false,
  )
  const { refused, known, empty, books, engines } = checks
  expect([refused, known, empty, books, engines].map(({ checked }) => checked > 0)).not.toContain(false)
}, 180_000)
