import { expect, test } from 'vitest'
import { lint } from './support/oxlint.js'

const RULE = 'no-platform'

const VALID = [
  "import { a } from './a.js'\nimport { z } from 'zod'\nexport const b = [a, z]",
  'export const f = (process: number, performance: { now(): number }) => process + performance.now()',
  'export const at = (ms: number) => new Date(ms)',
  'export const largest = Math.max(1, 2)',
  'export interface Host { setTimeout(): void; crypto: number }',
  'export const read = (host: { process: number }) => host.process + globalThis.parseInt("1")',
  'import process from "./process.js"\nexport const x = process',
  'export const memory = new WebAssembly.Memory({ initial: 1 })',
]

const INVALID: ReadonlyArray<readonly [source: string, what: string]> = [
  ["import { readFileSync } from 'node:fs'\nexport const x = readFileSync", "The Node built-in 'node:fs'"],
  ["import path from 'path'\nexport const x = path", "The Node built-in 'path'"],
  [
    "import type { Readable } from 'node:stream'\nexport type X = Readable",
    "The Node built-in 'node:stream'",
  ],
  ["export * from 'node:os'", "The Node built-in 'node:os'"],
  ["export { join } from 'node:path'", "The Node built-in 'node:path'"],
  ["export const x = await import('fs/promises')", "The Node built-in 'fs/promises'"],
  ['export const x = process.env', '`process`'],
  ['export const x = globalThis.process', '`globalThis.process`'],
  ["export const x = globalThis['crypto']", '`globalThis.crypto`'],
  ['export const x = Date.now()', '`Date.now`'],
  ['export const { now } = { now: Date.now }', '`Date.now`'],
  ['export const x = new Date()', '`new Date()`'],
  ['export const x = Date()', '`Date()`'],
  ['export const x = performance.now()', '`performance`'],
  ['export const x = () => Math.random()', '`Math.random`'],
  ['export const x = () => setTimeout(() => 1, 2)', '`setTimeout`'],
  ['export const x = () => setInterval(() => 1, 2)', '`setInterval`'],
  ['export const x = crypto.randomUUID()', '`crypto`'],
  ["export const x = () => fetch('/')", '`fetch`'],
]

test('what a package without a platform may do', () => {
  const sources = Object.fromEntries(VALID.map((source, index) => [`valid-${index}.ts`, source]))
  for (const [file, messages] of lint(RULE, sources)) expect(messages, sources[file]).toEqual([])
})

test('what it must take from its host', () => {
  const sources = Object.fromEntries(INVALID.map(([source], index) => [`invalid-${index}.ts`, source]))
  const reports = lint(RULE, sources)
  for (const [index, [source, what]] of INVALID.entries()) {
    const expected = `${what} is not available here; take it from the host.`
    expect(reports.get(`invalid-${index}.ts`), source).toEqual([expected])
  }
})
