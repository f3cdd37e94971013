import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Name and version of the package that owns a source file.
 * @typedef {{ name: string, version: string }} PackageIdentity
 */

/** @type {Map<string, { mtimeMs: number, identity: PackageIdentity }>} */
const identities = new Map()

/**
 * Reads the nearest package.json with a name at or above `folder`; remembered until that file changes.
 * @param {string} folder
 * @returns {PackageIdentity}
 */
export function packageIdentity(folder) {
  for (let at = folder; ; at = dirname(at)) {
    const manifest = join(at, 'package.json')
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
    if (at === dirname(at)) throw new Error(`no package.json with a name at or above ${folder}`)
  }
}

/**
 * The constants of one package, each as the text of its literal: what esbuild's `define` takes.
 * @param {PackageIdentity} identity
 * @returns {Record<string, string>}
 */
export function packageDefines({ name, version }) {
  return { __PACKAGE_NAME__: JSON.stringify(name), __PACKAGE_VERSION__: JSON.stringify(version) }
}

/**
 * Declares `constants` on the line where the source begins, so that no line moves.
 * @param {string} code
 * @param {Record<string, string>} constants literal texts by name
 * @returns {string}
 */
export function declareConstants(code, constants) {
  const declarations = Object.entries(constants).map(([name, literal]) => `const ${name} = ${literal};`)
  const start = code.startsWith('#!') ? code.indexOf('\n') + 1 : 0
  return code.slice(0, start) + declarations.join('') + code.slice(start)
}

/**
 * Declares `__PACKAGE_NAME__` and `__PACKAGE_VERSION__` in a source file that mentions one of them, with the values of
 * the package that owns the file. Returns the same string when it mentions neither.
 * @param {string} code
 * @param {string} file
 * @returns {string}
 */
export function declarePackageConstants(code, file) {
  if (!/\b__PACKAGE_(?:NAME|VERSION)__\b/.test(code)) return code
  return declareConstants(code, packageDefines(packageIdentity(dirname(file))))
}
