import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { countCodeLines, importedSpecifiers, onlyReExports, packageOfSpecifier } from '../source-files.js'
import { filesBelow, isTestFile, readJson, workspacePackages } from '../workspace.js'
import { policyManifestProblems } from './policy-manifest.js'

/** @typedef {import('../workspace.js').WorkspacePackage} WorkspacePackage */

const REQUIRED = [
  'package.json',
  'tsconfig.json',
  'tsup.config.ts',
  'turbo.json',
  'README.md',
  'src/index.ts',
  'src/policy.ts',
  'src/parameters.ts',
  'test/conformance.test.ts',
  'test/properties.test.ts',
]
const CASE_TESTS = ['test/parity.test.ts', 'test/vectors.test.ts']
const SOURCE = /^src\/(?:[a-z0-9-]+(?:\.test|\.test-d|\.d)?\.ts|simd\/.+)$/
const HEADINGS = ['Type', 'What it does', 'Formula', 'Inputs', 'Parameters', 'Example', 'Limitations']
const TSCONFIG = { extends: '../../tsconfig.base.json', include: ['src', 'test'] }
const BUILD = "import { preset } from '@router/tooling/tsup-preset'\n\nexport default preset()\n"
const CONFORMANCE_LINES = 15
const SOURCE_CODE_LINES = 300
const TEST_LINES = 400

/**
 * Checks the size of every file of code in the workspace, and that all policy packages look alike.
 * @param {string} root of the workspace
 * @returns {string[]} problems, one line each
 */
export function checkStructure(root) {
  return workspacePackages(root).flatMap((workspacePackage) => {
    const files = filesBelow(workspacePackage.path)
    const isPolicy = workspacePackage.folder.startsWith('packages/policy-')
    return [
      ...(isPolicy ? policyProblems(workspacePackage, files) : []),
      ...sizeProblems(workspacePackage.path, files),
    ].map((problem) => `${workspacePackage.folder}: ${problem}`)
  })
}

/**
 * @param {WorkspacePackage} workspacePackage
 * @param {string[]} files
 * @returns {string[]}
 */
function policyProblems({ path, manifest }, files) {
  const has = new Set(files)
  const name = basename(path)
  /** @param {string} file */
  const read = (file) => (has.has(file) ? readFileSync(join(path, file), 'utf8') : undefined)
  const reusesKernel = Object.keys(manifest.dependencies ?? {}).some((each) =>
    each.startsWith('@router/policy-'),
  )
  const index = read('src/index.ts')
  const conformance = read('test/conformance.test.ts')
  return [
    ...REQUIRED.filter((file) => !has.has(file)).map((file) => `${file} is missing`),
    ...(CASE_TESTS.some((file) => has.has(file)) ? [] : [`${CASE_TESTS.join(' or ')} is missing`]),
    ...(has.has('src/kernel.ts') || reusesKernel
      ? []
      : ['src/kernel.ts is missing, and no kernel is reused']),
    ...files
      .filter((file) => file.startsWith('src/') && !SOURCE.test(file))
      .map((file) => `${file} is neither a kebab-case source in src nor in src/simd`),
    ...policyManifestProblems(name, manifest),
    ...(has.has('tsconfig.json') && !isDeepStrictEqual(readJson(join(path, 'tsconfig.json')), TSCONFIG)
      ? [`tsconfig.json should be ${JSON.stringify(TSCONFIG)}`]
      : []),
    ...([undefined, BUILD].includes(read('tsup.config.ts'))
      ? []
      : ['tsup.config.ts should only export the preset']),
    ...(index !== undefined && !onlyReExports(index) ? ['src/index.ts should only re-export'] : []),
    ...files
      .filter((file) => isSource(file) && !/^src\/parameters\b/.test(file))
      .flatMap((file) => zodProblems(path, file)),
    ...(conformance !== undefined && countLines(conformance) > CONFORMANCE_LINES
      ? [`test/conformance.test.ts has ${countLines(conformance)} lines, at most ${CONFORMANCE_LINES}`]
      : []),
    ...headingProblems(read('README.md')),
  ]
}

/**
 * @param {string} path
 * @param {string} file
 * @returns {string[]}
 */
function zodProblems(path, file) {
  const specifiers = importedSpecifiers(readFileSync(join(path, file), 'utf8'))
  return specifiers.some((specifier) => packageOfSpecifier(specifier) === 'zod')
    ? [`${file} imports zod; only src/parameters.ts may`]
    : []
}

/**
 * @param {string | undefined} readme
 * @returns {string[]}
 */
function headingProblems(readme) {
  if (readme === undefined) return []
  const found = [...readme.matchAll(/^##+ (.+?)\s*$/gm)].map(([, heading]) => heading ?? '')
  const known = found.filter((heading) => HEADINGS.includes(heading))
  return isDeepStrictEqual(known, HEADINGS)
    ? []
    : [
        `README.md should have the headings ${HEADINGS.join(', ')}, in this order; has ${found.join(', ') || 'none'}`,
      ]
}

/**
 * @param {string} path
 * @param {string[]} files
 * @returns {string[]}
 */
function sizeProblems(path, files) {
  return files.flatMap((file) => {
    if (!/^(?:src|test)\/.*\.[jt]s$/.test(file) || /^src\/simd\/.*-module\.ts$/.test(file)) return []
    const code = readFileSync(join(path, file), 'utf8')
    if (isTestFile(file)) {
      return countLines(code) > TEST_LINES
        ? [`${file} has ${countLines(code)} lines, at most ${TEST_LINES}`]
        : []
    }
    if (countLines(code) <= SOURCE_CODE_LINES) return []
    const lines = countCodeLines(code)
    return lines > SOURCE_CODE_LINES
      ? [`${file} has ${lines} lines of code, at most ${SOURCE_CODE_LINES}`]
      : []
  })
}

/** @param {string} file */
function isSource(file) {
  return /^src\/.*\.ts$/.test(file) && !isTestFile(file)
}

/** @param {string} text */
function countLines(text) {
  return text.replace(/\n$/, '').split('\n').length
}
