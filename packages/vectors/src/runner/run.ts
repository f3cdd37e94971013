import { basename } from 'node:path'
import { Checks, type Mismatch } from './checks.js'
import { families } from './families.js'
import { type NotCovered, type PlaySettings, type RawLine, ShapeError, type VectorFamily } from './family.js'
import { ContentError, type FoundFile, type ParsedLine, findFiles, readContent } from './files.js'
import { checkGoldenDigests } from './golden-digests.js'
import { RunState } from './run-state.js'
import { waitingDocuments } from './uncovered.js'

/** A case that failed, or a fault of the file itself. */
export interface Failure {
  /** Id of the case, else its line number; absent for a fault of the file. */
  readonly name?: string
  /** What is wrong with the file or the line; absent when values differ. */
  readonly fault?: string
  readonly mismatches: readonly Mismatch[]
}

/** Lines that nothing evaluates yet. */
export interface NotCoveredLines extends NotCovered {
  readonly count: number
  readonly unit: 'lines' | 'document'
}

/** A line that takes sockets: it is neither passed nor failed before it is played. */
export interface LaterLine {
  readonly name: string
  readonly play: (checks: Checks, settings: PlaySettings) => Promise<void>
}

/** What became of one file. A case is a line; a fault of the file counts as one failed case. */
export interface FileReport {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly failures: readonly Failure[]
  readonly notCovered: readonly NotCoveredLines[]
  /** What `playLater` has to play; absent = nothing. */
  readonly later?: readonly LaterLine[]
}

/** Evaluates files and folders with the shipped code. Never throws for what it finds in them. */
export function runVectors(paths: readonly string[]): FileReport[] {
  const state = new RunState()
  const seen = new Set<string>()
  const reports: FileReport[] = []
  const found = paths.map((path) => ({ path, files: findFiles(path) }))
  const baseNames = found.flatMap(({ files }) => files.map((file) => basename(file.path)))
  for (const { path, files } of found) {
    if (files.length === 0)
      reports.push(faulty(path, 'no such file, or a folder without .jsonl or .json files'))
    for (const file of files) {
      if (seen.has(file.realPath)) continue
      seen.add(file.realPath)
      const baseName = basename(file.path)
      const isUnique = baseNames.indexOf(baseName) === baseNames.lastIndexOf(baseName)
      reports.push({ ...runFile(file, state), name: isUnique ? baseName : file.path })
    }
  }
  const digests = checkGoldenDigests(state)
  return digests === undefined ? reports : [...reports, digests]
}

/** Scenarios that are played at a time: they wait more than they work. */
const playedAtOnce = 4

/** Plays what is left to play, and counts it. */
export async function playLater(
  reports: readonly FileReport[],
  settings: PlaySettings = {},
): Promise<FileReport[]> {
  const played: FileReport[] = []
  for (const { later, ...report } of reports) {
    const failures: Failure[] = []
    const waiting = [...(later ?? [])]
    const work = async (): Promise<void> => {
      for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
        const failure = await playedLine(line, settings)
        if (failure !== undefined) failures.push(failure)
      }
    }
    await Promise.all(Array.from({ length: playedAtOnce }, work))
    const passed = report.passed + (later?.length ?? 0) - failures.length
    const failed = report.failed + failures.length
    played.push({ ...report, passed, failed, failures: [...report.failures, ...failures] })
  }
  return played
}

async function playedLine({ name, play }: LaterLine, settings: PlaySettings): Promise<Failure | undefined> {
  const checks = new Checks()
  try {
    await play(checks, settings)
    return checks.mismatches.length === 0 ? undefined : { name, mismatches: checks.mismatches }
  } catch (error) {
    return { name, fault: `the code under test threw ${summary(error)}`, mismatches: checks.mismatches }
  }
}

/** Evaluates lines that were not read from a file, for example altered copies. `baseName` as the file would be called. */
export function runLines(
  baseName: string,
  lines: readonly ParsedLine[],
  state: RunState = new RunState(),
): FileReport {
  if (lines.length === 0) return faulty(baseName, 'the file is empty')
  const report = new Report(baseName)
  const family = families.find((candidate) => candidate.claims(baseName))
  for (const line of lines) report.add(line, (value, checks) => evaluate(family, value, checks, state))
  return report.finish()
}

function runFile(file: FoundFile, state: RunState): FileReport {
  if (file.fault !== undefined) return faulty(file.baseName, file.fault)
  try {
    const content = readContent(file.path)
    return content.kind === 'lines'
      ? runLines(file.baseName, content.lines, state)
      : runDocument(file, content.document)
  } catch (error) {
    const { message } = error as Error
    return faulty(file.baseName, error instanceof ContentError ? message : `cannot be read: ${message}`)
  }
}

/** The one entry point for a line: `NotCovered`, or everything that does not match in `checks`. Throws `ShapeError`. */
function evaluate(
  byName: VectorFamily | undefined,
  line: RawLine,
  checks: Checks,
  state: RunState,
): NotCovered | LaterLine['play'] | undefined {
  const family = familyOf(byName, line)
  const notCovered = family.notCovered(line)
  if (notCovered !== undefined) {
    family.checkWaiting(line)
    return notCovered
  }
  family.evaluate(line, checks, state)
  const { play } = family
  return play && ((playing, settings) => play(line, playing, settings))
}

function familyOf(byName: VectorFamily | undefined, line: RawLine): VectorFamily {
  if (byName?.recognises(line) === true) return byName
  const byFields = families.find((family) => family.recognises(line))
  // A name that says one thing must not send a line of another file to the lines that nothing evaluates.
  if (byFields !== undefined && (byName === undefined || byFields.notCovered(line) === undefined))
    return byFields
  if (byName !== undefined) return byName
  const fields = Object.keys(line).join(', ')
  throw new ShapeError([
    `unknown shape: neither the file name nor the fields tell it (${fields === '' ? 'none' : fields})`,
  ])
}

function runDocument(file: FoundFile, document: RawLine): FileReport {
  const family = waitingDocuments.find((candidate) => candidate.recognises(document))
  const notCovered = family?.notCovered(document)
  if (family === undefined || notCovered === undefined)
    return runLines(file.baseName, [{ number: 1, value: document }])
  try {
    family.checkWaiting(document)
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    return faulty(file.baseName, error.message)
  }
  const lines: NotCoveredLines = { ...notCovered, count: 1, unit: 'document' }
  return { name: file.baseName, passed: 0, failed: 0, failures: [], notCovered: [lines] }
}

function faulty(name: string, fault: string): FileReport {
  return { name, passed: 0, failed: 1, failures: [{ fault, mismatches: [] }], notCovered: [] }
}

class Report {
  readonly #name: string
  readonly #failures: Failure[] = []
  readonly #notCovered = new Map<string, NotCovered & { count: number }>()
  readonly #later: LaterLine[] = []
  #passed = 0

  constructor(name: string) {
    this.#name = name
  }

  add(
    line: ParsedLine,
    evaluateLine: (value: RawLine, checks: Checks) => NotCovered | LaterLine['play'] | undefined,
  ): void {
    if (line.value === undefined) {
      this.#failures.push({ name: `line ${line.number}`, fault: line.fault ?? 'no value', mismatches: [] })
      return
    }
    const name = caseName(line.value, line.number)
    const checks = new Checks()
    try {
      const rest = evaluateLine(line.value, checks)
      if (typeof rest === 'function') this.#later.push({ name, play: rest })
      else if (rest !== undefined) this.#wait(rest)
      else if (checks.mismatches.length === 0) this.#passed++
      else this.#failures.push({ name, mismatches: checks.mismatches })
    } catch (error) {
      const fault =
        error instanceof ShapeError ? error.message : `the code under test threw ${summary(error)}`
      this.#failures.push({ name, fault, mismatches: checks.mismatches })
    }
  }

  finish(): FileReport {
    return {
      name: this.#name,
      passed: this.#passed,
      failed: this.#failures.length,
      failures: this.#failures,
      notCovered: [...this.#notCovered.values()].map((lines) => ({ ...lines, unit: 'lines' as const })),
      ...(this.#later.length === 0 ? {} : { later: this.#later }),
    }
  }

  #wait(notCovered: NotCovered): void {
    const known = this.#notCovered.get(notCovered.about)
    this.#notCovered.set(notCovered.about, { ...notCovered, count: (known?.count ?? 0) + 1 })
  }
}

function caseName(line: RawLine, number: number): string {
  const { id, kind } = line
  const name = typeof id === 'string' ? `${id} (line ${number})` : `line ${number}`
  return typeof kind === 'string' ? `${name}, ${kind}` : name
}

/** Message of what was thrown, and where from. */
function summary(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const frame = /^\s+at .*$/m.exec(error.stack ?? '')?.[0].trim()
  return `${error.name}: ${error.message}${frame === undefined ? '' : ` (${frame})`}`
}
