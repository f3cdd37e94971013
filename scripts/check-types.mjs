import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import ts from 'typescript'
import { workspacePackages } from '../packages/tooling/src/workspace.js'
import { ROOT } from './lib/root.mjs'

// All projects in one process: libraries, and the packages that several projects share, are parsed once. The files of
// `test/` see Node; the sources beside them see it only when their tsconfig.json says so.

/** @typedef {{ files: readonly string[], options: ts.CompilerOptions }} Project */

/** @type {Map<string, ts.SourceFile | undefined>} */
const parsed = new Map()

const wanted = process.argv.slice(2)
const diagnostics = workspacePackages(ROOT)
  .filter(({ folder }) => wanted.length === 0 || wanted.includes(folder))
  .filter(({ path }) => existsSync(join(path, 'tsconfig.json')))
  .flatMap(({ path }) => checkPackage(path))

if (diagnostics.length > 0) {
  const host = { getCurrentDirectory: () => ROOT, getCanonicalFileName: String, getNewLine: () => '\n' }
  process.stdout.write(ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), host))
  process.exitCode = 1
}

/**
 * @param {string} folder with a tsconfig.json
 * @returns {readonly ts.Diagnostic[]}
 */
function checkPackage(folder) {
  /** @type {ts.Diagnostic[]} */
  const unreadable = []
  const configuration = ts.getParsedCommandLineOfConfigFile(join(folder, 'tsconfig.json'), undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => unreadable.push(diagnostic),
  })
  if (configuration === undefined) return unreadable
  const { fileNames, options, errors } = configuration
  // A package without sources yet is not wrong.
  if (fileNames.length === 0) return []
  const { types = [] } = options
  if (types.includes('node')) return [...errors, ...checkProject({ files: fileNames, options })]
  const isTest = (/** @type {string} */ file) => file.startsWith(`${folder}/test/`)
  return [
    ...errors,
    ...checkProject({ files: fileNames.filter((file) => !isTest(file)), options }),
    ...checkProject({
      files: fileNames.filter(isTest),
      options: { ...options, types: [...types, 'node'] },
    }),
  ]
}

/**
 * @param {Project} project
 * @returns {readonly ts.Diagnostic[]}
 */
function checkProject({ files, options }) {
  if (files.length === 0) return []
  const host = ts.createCompilerHost(options)
  const readAndParse = host.getSourceFile
  host.getSourceFile = (file, languageOptions, ...rest) => {
    const format = typeof languageOptions === 'object' ? languageOptions.impliedNodeFormat : undefined
    const key = `${format} ${file}`
    if (!parsed.has(key)) parsed.set(key, readAndParse(file, languageOptions, ...rest))
    return parsed.get(key)
  }
  const program = ts.createProgram({ rootNames: files, options, host })
  // What comes from other projects is checked with them.
  const own = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName))
  return [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ]
}
