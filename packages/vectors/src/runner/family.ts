import type { z } from 'zod'
import { listLimit } from '../shapes/common.js'
import type { Checks } from './checks.js'
import type { RunState } from './run-state.js'

/** A line as read: a JSON object whose fields nobody has checked yet. */
export type RawLine = Readonly<Record<string, unknown>>

/** Lines that this version cannot evaluate, and what they wait for. */
export interface NotCovered {
  /** What the lines are about, for example a policy type. Lines with the same words are counted together. */
  readonly about: string
  /** Name of the package that evaluates them once it exists. */
  readonly needs: string
}

/** How lines are played. */
export interface PlaySettings {
  /** Starts the router as a process: a program and its first arguments. Absent = it runs in this process. */
  readonly routerCommand?: readonly string[]
}

/** Files of one shape: how they are recognised, checked and evaluated. Add one to `families` and the runner knows it. */
export interface VectorFamily {
  /** Base name of the file without extensions, or the part that its files have in common. */
  readonly name: string
  /** Whether a file of this base name (without extensions) holds such lines. */
  readonly claims: (baseName: string) => boolean
  /** Whether these fields can only be a line of this family, whatever the file is called. */
  readonly recognises: (line: RawLine) => boolean
  /** Why a line cannot be evaluated; `undefined` = it can. */
  readonly notCovered: (line: RawLine) => NotCovered | undefined
  /** Checks the outer fields of a line that cannot be evaluated. Throws `ShapeError`. */
  readonly checkWaiting: (line: RawLine) => void
  /** What is covered, and by which packages; printed by `--list`. */
  readonly covers: string
  /** Checks every field of a line and compares every expected value with the shipped code. */
  readonly evaluate: (line: RawLine, checks: Checks, state: RunState) => void
  /** Where that takes sockets, and so time: it comes after `evaluate`, which then checks the fields alone. */
  readonly play?: (line: RawLine, checks: Checks, settings: PlaySettings) => Promise<void>
}

/** What a covered family states; the rest follows. */
export interface FamilySource<S extends z.ZodType> {
  readonly name: string
  readonly claims?: (baseName: string) => boolean
  readonly recognises: (line: RawLine) => boolean
  readonly notCovered?: (line: RawLine) => NotCovered | undefined
  readonly checkWaiting?: (line: RawLine) => void
  readonly covers: string
  readonly schema: S
  readonly evaluate: (line: z.output<S>, checks: Checks, state: RunState) => void
}

/** A line that is not of the shape it should have; `issues` names each field and what was expected. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
  readonly issues: readonly string[]
  constructor(issues: readonly string[]) {
    super(issues.join('; '))
    this.issues = issues
  }
}

/** A family whose lines are checked by a strict schema before they are evaluated. */
export function defineFamily<S extends z.ZodType>(source: FamilySource<S>): VectorFamily {
  const { name, schema, evaluate } = source
  return {
    name,
    claims: source.claims ?? ((baseName) => baseName === name),
    recognises: source.recognises,
    notCovered: source.notCovered ?? (() => undefined),
    checkWaiting: source.checkWaiting ?? (() => undefined),
    covers: source.covers,
    evaluate: (line, checks, state) => evaluate(parseLine(schema, line), checks, state),
  }
}

/** A line as its schema reads it. Throws `ShapeError`. */
export function parseLine<S extends z.ZodType>(schema: S, line: RawLine): z.output<S> {
  refuseLongLists(line, '')
  const parsed = schema.safeParse(line)
  if (!parsed.success) throw new ShapeError(describeIssues(parsed.error.issues, line))
  return parsed.data
}

/** A schema would first look at every entry, and say what is wrong with each. */
function refuseLongLists(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return
  const entries = Array.isArray(value) ? value : Object.values(value)
  if (entries.length > listLimit) {
    const what = path === '' ? 'the line' : path
    throw new ShapeError([`${what}: expected at most ${listLimit} entries, got ${entries.length}`])
  }
  for (const [key, inner] of Object.entries(value))
    refuseLongLists(inner, path === '' ? key : `${path}.${key}`)
}

const printedIssues = 4

function describeIssues(issues: readonly z.core.$ZodIssue[], line: RawLine): string[] {
  const texts = issues.flatMap((issue) => describeIssue(issue, line))
  const more = texts.length - printedIssues
  return more > 0 ? [...texts.slice(0, printedIssues), `and ${more} more`] : texts
}

function describeIssue(issue: z.core.$ZodIssue, line: RawLine): string[] {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `unknown field '${path === '' ? key : `${path}.${key}`}'`)
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The alternative with the fewest faults is the one that was meant.
    const closest = issue.errors.reduce((best, next) => (next.length < best.length ? next : best))
    return closest.flatMap((inner) => describeIssue({ ...inner, path: [...issue.path, ...inner.path] }, line))
  }
  const value = valueAt(line, issue.path)
  if (value === undefined) return [`field '${path}' is missing`]
  return [`${path}: ${issue.message}, got ${shortened(value)}`]
}

function valueAt(line: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    line,
  )
}

function shortened(value: unknown): string {
  const text =
    typeof value === 'bigint' ? String(value) : (JSON.stringify(value, printBigints) ?? String(value))
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}

function printBigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
