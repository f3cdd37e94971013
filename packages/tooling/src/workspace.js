import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A package of the workspace.
 * @typedef {object} WorkspacePackage
 * @property {string} folder from the root, with forward slashes: `packages/sdk`
 * @property {string} path absolute
 * @property {Manifest} manifest
 *
 * The parts of a package.json that the checks read.
 * @typedef {Record<string, unknown> & {
 *   name: string,
 *   version?: string,
 *   private?: boolean,
 *   scripts?: Record<string, string>,
 *   dependencies?: Record<string, string>,
 *   peerDependencies?: Record<string, string>,
 *   optionalDependencies?: Record<string, string>,
 *   devDependencies?: Record<string, string>,
 * }} Manifest
 */

const PARENTS = ['packages', 'apps', 'examples']
const SINGLES = ['bench', 'docs']
const GENERATED = new Set(['node_modules', 'dist', 'coverage', 'fixtures', '.turbo'])

/**
 * Every folder of the workspace that has a package.json, in name order.
 * @param {string} root
 * @returns {WorkspacePackage[]}
 */
export function workspacePackages(root) {
  const nested = PARENTS.filter((parent) => existsSync(join(root, parent))).flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
  )
  return [...nested, ...SINGLES]
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .toSorted()
    .map((folder) => ({
      folder,
      path: join(root, folder),
      manifest: readJson(join(root, folder, 'package.json')),
    }))
}

/** @param {WorkspacePackage} workspacePackage */
export function isPublished({ folder, manifest }) {
  return folder.startsWith('packages/') && manifest.private !== true
}

/**
 * What a package needs when it runs: `dependencies`, `peerDependencies` and `optionalDependencies`.
 * @param {Manifest} manifest
 * @returns {Record<string, string>} ranges by name
 */
export function runtimeDependencies(manifest) {
  return { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }
}

/**
 * Files below `folder`, relative to it, with forward slashes and in name order; without installed, built or fixture
 * files.
 * @param {string} folder
 * @returns {string[]}
 */
export function filesBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .flatMap((entry) => {
      if (GENERATED.has(entry.name)) return []
      if (!entry.isDirectory()) return [entry.name]
      return filesBelow(join(folder, entry.name)).map((file) => `${entry.name}/${file}`)
    })
}

/** @param {string} file */
export function isTestFile(file) {
  return /\.(?:test|test-d)\.ts$/.test(file) || file.startsWith('test/')
}

/**
 * @param {string} path
 * @returns {any}
 */
export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
