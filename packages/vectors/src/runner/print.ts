import type { Failure, FileReport } from './run.js'

/** Mismatches that are printed below a file. */
const printedMismatches = 5

/** The sum over all files. */
export interface RunTotals {
  readonly passed: number
  readonly failed: number
}

export function totalsOf(reports: readonly FileReport[]): RunTotals {
  const sum = (key: 'passed' | 'failed'): number => reports.reduce((total, report) => total + report[key], 0)
  return { passed: sum('passed'), failed: sum('failed') }
}

/** One line a file, its first mismatches below it, last the sum in the same form. */
export function printReports(reports: readonly FileReport[], print: (line: string) => void): void {
  for (const report of reports) {
    for (const line of linesOf(report)) print(line)
  }
  const waiting = reports.flatMap((report) => report.notCovered)
  if (waiting.length > 0) {
    const lines = waiting.reduce((total, { count, unit }) => total + (unit === 'lines' ? count : 0), 0)
    const documents = waiting.filter(({ unit }) => unit === 'document').length
    print(`not covered: ${plural(lines, 'line')}, ${plural(documents, 'document')}`)
  }
  const { passed, failed } = totalsOf(reports)
  print(`total: ${passed} passed, ${failed} failed`)
}

function* linesOf(report: FileReport): Generator<string> {
  const { name, passed, failed, failures, notCovered } = report
  const [first] = notCovered
  if (passed + failed === 0 && notCovered.length === 1 && first !== undefined) {
    yield `${name}: not covered (needs ${first.needs}), ${plural(first.count, first.unit)}`
    return
  }
  yield `${name}: ${passed} passed, ${failed} failed`
  const entries = failures.flatMap((failure) => [...entriesOf(failure)])
  for (const entry of entries.slice(0, printedMismatches)) yield* entry.map((line) => `  ${line}`)
  if (entries.length > printedMismatches) yield `  and ${entries.length - printedMismatches} more`
  for (const { about, needs, count, unit } of notCovered) {
    yield `  not covered: ${about} (needs ${needs}), ${plural(count, unit)}`
  }
}

function* entriesOf({ name, fault, mismatches }: Failure): Generator<string[]> {
  const prefix = name === undefined ? '' : `${name}: `
  if (fault !== undefined) yield [`${prefix}${fault}`]
  for (const { what, expected, actual } of mismatches) {
    yield [`${prefix}${what}`, `  expected ${expected}`, `  actual   ${actual}`]
  }
}

function plural(count: number, noun: string): string {
  const singular = noun.endsWith('s') ? noun.slice(0, -1) : noun
  return `${count} ${count === 1 ? singular : `${singular}s`}`
}
