import { type LawCase, lawCases, skipReason } from './check-laws.js'
import type { ConformanceOptions } from './subject.js'

/** The two functions that vitest, node:test, mocha and jest have in common. */
export interface TestRunner {
  /** Groups the tests that `body` registers. */
  readonly describe: (title: string, body: () => void) => unknown
  /** Registers a test; `it.skip` one that is shown and not run, where the runner has it. */
  readonly it: ((title: string, body: () => void) => unknown) & {
    readonly skip?: (title: string, body: () => void) => unknown
  }
}

/**
 * Registers one test per law and role with the given runner. A law that cannot apply to what the policy declares is registered as
 * skipped, with the reason in its title; no option leaves a law out.
 */
export function policyConformance(runner: TestRunner, options: ConformanceOptions): void {
  const cases = lawCases(options)
  const { type, version } = options.policy
  runner.describe(`conformance of ${type} ${version}`, () => {
    for (const where of new Set(cases.map((lawCase) => lawCase.where))) {
      runner.describe(where, () => {
        for (const lawCase of cases) if (lawCase.where === where) register(runner, lawCase)
      })
    }
  })
}

function register({ it }: TestRunner, lawCase: LawCase): void {
  const { law, subject } = lawCase
  const title = `${law.id}: ${law.title}`
  const reason = skipReason(lawCase)
  if (reason === undefined) it(title, () => law.check(subject))
  else if (it.skip === undefined) it(`${title} (skipped: ${reason})`, () => {})
  else it.skip(`${title} (skipped: ${reason})`, () => {})
}
