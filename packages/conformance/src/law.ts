import { LawViolation } from './law-violation.js'
import { type Outcome, differenceOf } from './outcome.js'
import { PolicyHost, type PolicyHostOptions } from './policy-host.js'
import type { Subject } from './subject.js'

/** One property that every policy has. A plain object, so that any runner can check it. */
export interface Law {
  /** Stable identifier, kebab-case. */
  readonly id: string
  /** What holds, in one sentence. */
  readonly title: string
  /** `definition`: the role does not matter. `role`: to be checked for every role. */
  readonly level: 'definition' | 'role'
  /** Why the law cannot apply, from what the policy declares; `undefined` = it applies. */
  readonly skip: (subject: Subject) => string | undefined
  /** Throws a `LawViolation` that names what was expected and what was found. Leaves nothing behind. */
  readonly check: (subject: Subject) => void
}

interface LawSource {
  readonly id: string
  readonly title: string
  readonly level?: 'definition'
  readonly skip?: (subject: Subject) => string | undefined
  readonly check: (subject: Subject) => void
}

/** Completes a law; whatever `check` throws becomes a violation of it. */
export function defineLaw(source: LawSource): Law {
  const { id, title, level = 'role', skip = () => undefined } = source
  const check = (subject: Subject): void => {
    try {
      source.check(subject)
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause)
      throw new LawViolation(id, message, { cause })
    }
  }
  return Object.freeze({ id, title, level, skip, check })
}

/** Throws unless `holds`. */
export function demand(holds: boolean, message: string | (() => string)): asserts holds {
  if (!holds) throw new Error(typeof message === 'string' ? message : message())
}

/** Throws when two outcomes differ; `where` says which selection. */
export function demandSame(expected: Outcome, actual: Outcome, where: string): void {
  const difference = differenceOf(expected, actual)
  if (difference !== undefined) throw new Error(`${where}: ${difference}`)
}

/** Throws at the first step where two runs differ. */
export function demandSameRun(expected: readonly Outcome[], actual: readonly Outcome[], where: string): void {
  for (const [index, outcome] of expected.entries())
    demandSame(outcome, actual[index]!, `${where}, step ${index}`)
}

/** A policy object under a hand-made host; default options give equal objects. */
export function hostFor(subject: Subject, options?: PolicyHostOptions): PolicyHost {
  return new PolicyHost(subject, options)
}
