import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { dataFolder } from '../src/data.js'
import { type FileReport, runVectors } from '../src/runner/run.js'

const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
afterAll(() => rmSync(folder, { recursive: true }))

let written = 0

/** Writes a file into a folder of its own and evaluates it. */
export function runFile(name: string, content: string | Uint8Array): FileReport {
  const place = join(folder, String(written++))
  mkdirSync(place)
  writeFileSync(join(place, name), content)
  return runVectors([join(place, name)])[0]!
}

/** The text of a carried file. */
export function carried(name: string): string {
  return readFileSync(`${dataFolder}${name}`, 'utf8')
}

/** The first line of a carried file of which this holds. */
export function carriedLine(name: string, holds: (line: string) => boolean = () => true): string {
  return carried(name).split('\n').find(holds)!
}

/** What the first failure says is wrong with the file or the line. */
export function faultOf(report: FileReport): string | undefined {
  return report.failures[0]?.fault
}
