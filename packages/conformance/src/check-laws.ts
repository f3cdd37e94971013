import { LawViolation } from './law-violation.js'
import type { Law } from './law.js'
import { laws as allLaws } from './laws/index.js'
import { type ConformanceOptions, type Subject, describeSubject, subjectsOf } from './subject.js'

/** What became of one law in one place. */
export interface LawReport {
  /** Identifier of the law. */
  readonly law: string
  /** What holds, in one sentence. */
  readonly title: string
  /** The role (and kind of disaggregation) examined; `definition` for a law about the definition. */
  readonly subject: string
  /** Whether it holds. */
  readonly status: 'passed' | 'failed' | 'skipped'
  /** Why it was skipped, or how it failed. */
  readonly reason?: string
  /** Present when it failed. */
  readonly violation?: LawViolation
}

/** One law in one place, to be checked by whoever runs it. */
export interface LawCase {
  readonly law: Law
  readonly subject: Subject
  /** As in `LawReport`. */
  readonly where: string
}

/** Every law with every place that it has to be checked in. */
export function lawCases(options: ConformanceOptions, laws: readonly Law[] = allLaws): LawCase[] {
  const subjects = subjectsOf(options)
  const definition = laws.filter((law) => law.level === 'definition')
  const byRole = laws.filter((law) => law.level === 'role')
  return [
    ...definition.map((law) => ({ law, subject: subjects[0]!, where: 'definition' })),
    ...subjects.flatMap((subject) =>
      byRole.map((law) => ({ law, subject, where: describeSubject(subject) })),
    ),
  ]
}

/** Why the law cannot apply. A policy that cannot even be asked is not excused: its `check` will tell. */
export function skipReason({ law, subject }: LawCase): string | undefined {
  try {
    return law.skip(subject)
  } catch {
    return undefined
  }
}

/** Checks every law without a test runner. Never throws. */
export function checkLaws(options: ConformanceOptions, laws: readonly Law[] = allLaws): LawReport[] {
  return lawCases(options, laws).map((lawCase) => {
    const { law, subject, where } = lawCase
    const report = { law: law.id, title: law.title, subject: where }
    const reason = skipReason(lawCase)
    if (reason !== undefined) return { ...report, status: 'skipped', reason }
    try {
      law.check(subject)
      return { ...report, status: 'passed' }
    } catch (error) {
      const violation =
        error instanceof LawViolation ? error : new LawViolation(law.id, String(error), { cause: error })
      return { ...report, status: 'failed', reason: violation.message, violation }
    }
  })
}
