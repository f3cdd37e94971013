// @ts-check
import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Name and version of the package that owns a source file.
 * @typedef {{ name: string, version: string }} PackageIdentity
 */

const CONSTANT = /(?<!['"`\w$.]|\b(?:const|let|var)\s+)__PACKAGE_(NAME|VERSION)__(?![\w$])/g

/** @type {Map<string, { mtimeMs: number, identity: PackageIdentity }>} */
const identities = new Map()

/**
 * Reads the nearest package.json with a name above `path`; remembered until that file changes.
 * @param {string} path a file or a folder
 * @returns {PackageIdentity}
 */
export function packageIdentity(path) {
  for (let folder = path; ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    const mtimeMs = statSync(manifest, { throwIfNoEntry: false })?.mtimeMs
    if (mtimeMs !== undefined) {
      const known = identities.get(manifest)
      if (known?.mtimeMs === mtimeMs) return known.identity
      const { name, version = '0.0.0' } = JSON.parse(readFileSync(manifest, 'utf8'))
      if (name !== undefined) {
        const identity = { name, version }
        identities.set(manifest, { mtimeMs, identity })
        return identity
      }
    }
    if (folder === dirname(folder)) throw new Error(`no package.json with a name above ${path}`)
  }
}

/**
 * The substitutions for one package, in the form that esbuild's `define` takes.
 * @param {PackageIdentity} identity
 * @returns {Record<string, string>}
 */
export function packageDefines({ name, version }) {
  return { __PACKAGE_NAME__: JSON.stringify(name), __PACKAGE_VERSION__: JSON.stringify(version) }
}

/**
 * Puts the literals of the owning package in place of `__PACKAGE_NAME__` and `__PACKAGE_VERSION__`, without moving
 * any line. Returns the same string when there is nothing to replace.
 * @param {string} code
 * @param {string} file
 * @returns {string}
 */
export function replacePackageConstants(code, file) {
  if (!code.includes('__PACKAGE_')) return code
  return code.replace(CONSTANT, (constant) => packageDefines(packageIdentity(dirname(file)))[constant] ?? constant)
}
