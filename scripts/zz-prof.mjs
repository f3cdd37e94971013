import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import ts from 'typescript'
import { workspacePackages } from '../packages/tooling/src/workspace.js'
import { ROOT } from './lib/root.mjs'

// All projects in one process: the libraries and the packages that several projects share are parsed once.

/** @type {Map<string, ts.SourceFile | undefined>} */
const parsed = new Map()

const wanted = process.argv.slice(2)
const diagnostics = workspacePackages(ROOT)
  .filter(
    ({ folder, path }) =>
      existsSync(join(path, 'tsconfig.json')) && (wanted.length === 0 || wanted.includes(folder)),
  )
  .flatMap(({ path }) => checkProject(join(path, 'tsconfig.json')))

if (diagnostics.length > 0) {
  const host = { getCurrentDirectory: () => ROOT, getCanonicalFileName: String, getNewLine: () => '\n' }
  process.stdout.write(ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), host))
  process.exitCode = 1
}

/**
 * @param {string} configuration path of a tsconfig.json
 * @returns {readonly ts.Diagnostic[]}
 */
function checkProject(configuration) {
  /** @type {ts.Diagnostic[]} */
  const unreadable = []
  const project = ts.getParsedCommandLineOfConfigFile(configuration, undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => unreadable.push(diagnostic),
  })
  if (project === undefined) return unreadable
  // Half-made packages have no sources yet: "no inputs were found" is not about types.
  if (project.fileNames.length === 0) return []
  const host = ts.createCompilerHost(project.options)
  const readAndParse = host.getSourceFile
  host.getSourceFile = (file, options, ...rest) => {
    const format = typeof options === 'object' ? options.impliedNodeFormat : undefined
    const key = `${format} ${file}`
    if (!parsed.has(key)) parsed.set(key, readAndParse(file, options, ...rest))
    return parsed.get(key)
  }
  const t0 = performance.now()
  const program = ts.createProgram({ rootNames: project.fileNames, options: project.options, host })
  // Sources of other packages are in the program too; each is checked with its own project.
  const own = program
    .getSourceFiles()
    .filter(({ fileName }) => isOwn(fileName, project.fileNames, dirname(configuration)))
  return [
    ...project.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ]
}

/**
 * @param {string} file
 * @param {readonly string[]} included
 * @param {string} folder of the project
 */
function isOwn(file, included, folder) {
  return included.includes(file) || (file.startsWith(`${folder}/`) && !file.includes('/node_modules/'))
}
