import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Texts by path; `undefined` leaves the file out. */
export type Files = Record<string, string | undefined>

/** Writes the files to a new folder, which is removed after the test. */
export function temporaryFolder(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'router-tooling-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(files)) {
    if (text === undefined) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

/** A copy in which the value at `keys` is another one, or absent when `value` is `undefined`. */
export function withValue<T extends object>(original: T, keys: readonly string[], value: unknown): T {
  const copy = structuredClone(original)
  const parent = keys
    .slice(0, -1)
    .reduce<Record<string, unknown>>(
      (at, key) => (at[key] ??= {}) as Record<string, unknown>,
      copy as Record<string, unknown>,
    )
  const last = keys.at(-1) ?? ''
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}
