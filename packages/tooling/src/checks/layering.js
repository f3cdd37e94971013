import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { importedSpecifiers, packageOfSpecifier } from '../source-files.js'
import { filesBelow, isTestFile, readJson, runtimeDependencies, workspacePackages } from '../workspace.js'
import { allowedImports, RUNNERS } from './layers.js'

/** @typedef {import('../workspace.js').WorkspacePackage} WorkspacePackage */

/**
 * Checks that imports follow the layers, that what sources import is declared, and that each build waits for the
 * packages it needs.
 * @param {string} root of the workspace
 * @returns {string[]} problems, one line each
 */
export function checkLayering(root) {
  const packages = workspacePackages(root)
  const folders = new Map(packages.map(({ folder, manifest }) => [manifest.name, folder]))
  return packages.flatMap((workspacePackage) => [
    ...importProblems(workspacePackage, folders),
    ...declarationProblems(workspacePackage, folders),
    ...buildOrderProblems(workspacePackage, packages),
  ])
}

/**
 * @param {WorkspacePackage} workspacePackage
 * @param {Map<string, string>} folders by package name
 * @returns {string[]}
 */
function importProblems({ folder, path, manifest }, folders) {
  const allowed = allowedImports(folder)
  if (allowed === undefined)
    return [`${folder}: has no entry in the layers of packages/tooling/src/checks/layers.js`]
  const runtime = runtimeDependencies(manifest)
  const published = RUNNERS.has(lastPart(folder)) ? reachableFiles(path, 'src/index.ts') : undefined
  return filesBelow(path)
    .filter((file) => /^(?:src|test)\/.*\.[cm]?[jt]sx?$/.test(file))
    .flatMap((file) => {
      const isRuntime = !isTestFile(file) && (published === undefined || published.has(file))
      return importedSpecifiers(readFileSync(join(path, file), 'utf8')).flatMap((specifier) => {
        const where = `${folder}/${file}: '${specifier}'`
        const name = packageOfSpecifier(specifier)
        if (name === undefined) {
          const leaves = relative(path, join(path, dirname(file), specifier)).startsWith('..')
          return leaves ? [`${where} leaves its package; import the package by name`] : []
        }
        if (isBuiltin(specifier) || name === manifest.name) return []
        const target = folders.get(name)
        if (target === undefined) {
          return isRuntime && folder.startsWith('packages/') && runtime[name] === undefined
            ? [`${where} is not in dependencies or peerDependencies`]
            : []
        }
        const declared = isRuntime ? runtime : { ...runtime, ...manifest.devDependencies }
        return [
          ...(isRuntime && allowed !== 'everything' && !allowed.includes(lastPart(target))
            ? [`${where} breaks the layers; allowed here: ${allowed.join(', ') || 'no workspace package'}`]
            : []),
          ...(declared[name] === undefined ? [`${where} is not declared in package.json`] : []),
        ]
      })
    })
}

/**
 * @param {WorkspacePackage} workspacePackage
 * @param {Map<string, string>} folders
 * @returns {string[]}
 */
function declarationProblems({ folder, manifest }, folders) {
  const allowed = allowedImports(folder)
  if (allowed === undefined || allowed === 'everything') return []
  return Object.keys(runtimeDependencies(manifest)).flatMap((name) => {
    const target = folders.get(name)
    return target === undefined || allowed.includes(lastPart(target))
      ? []
      : [
          `${folder}/package.json: depends on ${name}; allowed here: ${allowed.join(', ') || 'no workspace package'}`,
        ]
  })
}

/**
 * A build needs the declarations of the packages it depends on at run time and of no other: packages may test each
 * other, so the order cannot follow devDependencies.
 * @param {WorkspacePackage} workspacePackage
 * @param {WorkspacePackage[]} packages
 * @returns {string[]}
 */
function buildOrderProblems({ folder, path, manifest }, packages) {
  if (manifest.scripts?.build === undefined || !folder.startsWith('packages/')) return []
  const built = new Set(
    packages.filter((other) => other.manifest.scripts?.build).map((other) => other.manifest.name),
  )
  const needed = Object.keys(runtimeDependencies(manifest))
    .filter((name) => built.has(name))
    .map((name) => `${name}#build`)
    .toSorted()
  const configuration = existsSync(join(path, 'turbo.json')) ? readJson(join(path, 'turbo.json')) : {}
  const stated = (configuration.tasks?.build?.dependsOn ?? []).toSorted()
  if (String(needed) === String(stated)) return []
  const wanted = { extends: ['//'], ...(needed.length > 0 && { tasks: { build: { dependsOn: needed } } }) }
  return [`${folder}/turbo.json: should be ${JSON.stringify(wanted)}`]
}

/**
 * @param {string} path of the package
 * @param {string} entry
 * @returns {Set<string>} the entry and the files of the package that it imports, directly or not
 */
function reachableFiles(path, entry) {
  /** @type {Set<string>} */
  const reached = new Set()
  const pending = [entry]
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file) || !existsSync(join(path, file))) continue
    reached.add(file)
    const here = dirname(file)
    for (const specifier of importedSpecifiers(readFileSync(join(path, file), 'utf8'))) {
      if (specifier.startsWith('.')) pending.push(join(here, specifier.replace(/\.js$/, '.ts')))
    }
  }
  return reached
}

/** @param {string} folder */
function lastPart(folder) {
  return folder.slice(folder.lastIndexOf('/') + 1)
}
