import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runPnpm } from '../../scripts/lib/pnpm.mjs'

// The first hour of a policy author, end to end: a package of one file in a folder that knows nothing of this workspace,
// our packages as their published tarballs, a YAML file that names the policy, a selection, and the laws.

const runFile = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../..')
/** The policy, as its author wrote it. */
export const policyFile = join(here, 'policy/index.js')
const published = ['sdk', 'kv-index', 'core', 'config', 'conformance', 'policy-default']

/**
 * Builds and packs what is published, sets the folder up, and runs both programs in it.
 * @param {string} [kept] folder to make and keep; default: one in the temporary folder, removed at the end
 * @returns {Promise<{ folder: string, selection: string, laws: string }>} the folder (gone by then) and what was printed
 */
export async function runOutsideWorkspace(kept) {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'router-outside-'))
  if (kept !== undefined) mkdirSync(kept)
  try {
    await installTarballs(folder)
    cpSync(join(here, 'router'), folder, { recursive: true })
    cpSync(join(here, 'policy'), join(folder, 'node_modules/@acme/least-busy'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, type: 'module' })}\n`)
    const selection = await runNode(folder, ['select.js'])
    const laws = await runNode(folder, ['--test', '--test-reporter=tap', 'conformance.test.js'])
    return { folder, selection, laws }
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder */
async function installTarballs(folder) {
  const filters = published.map((name) => `--filter=@router/${name}`)
  const tarballs = join(folder, 'tarballs')
  await pnpm(['exec', 'turbo', 'run', 'build', '--concurrency=2', ...filters])
  await pnpm([...filters, 'pack', '--pack-destination', tarballs])
  for (const name of published) {
    const target = join(folder, 'node_modules/@router', name)
    const manifest = readJson(join(root, 'packages', name, 'package.json'))
    mkdirSync(target, { recursive: true })
    const tarball = join(tarballs, `router-${name}-${manifest.version}.tgz`)
    await runFile('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
    checkManifest(readJson(join(target, 'package.json')))
  }
  for (const name of published) {
    const { dependencies, peerDependencies } = readJson(
      join(folder, 'node_modules/@router', name, 'package.json'),
    )
    for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
      const source = join(root, 'packages', name, 'node_modules', dependency)
      if (!dependency.startsWith('@router/')) installThirdParty(folder, dependency, source)
    }
  }
}

/**
 * What would reach npm must not depend on this workspace.
 * @param {{ name: string, exports: unknown, dependencies?: Record<string, string> }} manifest
 */
function checkManifest({ name, exports, dependencies = {} }) {
  if (JSON.stringify(exports).includes('src/')) throw new Error(`${name}: the tarball exports sources`)
  const range = Object.entries(dependencies).find(([, wanted]) => wanted.startsWith('workspace:'))
  if (range !== undefined) throw new Error(`${name}: the tarball depends on ${range.join('@')}`)
}

/**
 * Copies a package of the registry, and what it depends on, as installed here.
 * @param {string} folder
 * @param {string} name
 * @param {string} source
 */
function installThirdParty(folder, name, source) {
  const target = join(folder, 'node_modules', name)
  if (existsSync(target)) return
  const installed = realpathSync(source)
  cpSync(installed, target, { recursive: true })
  const { dependencies = {} } = readJson(join(installed, 'package.json'))
  const siblings = installed.slice(0, -name.length)
  for (const dependency of Object.keys(dependencies)) {
    installThirdParty(folder, dependency, join(siblings, dependency))
  }
}

/** @param {string[]} args */
async function pnpm(args) {
  const { ok, output } = await runPnpm(args)
  if (!ok) throw new Error(`pnpm ${args.join(' ')} failed\n${output}`)
}

/**
 * @param {string} folder
 * @param {string[]} args
 */
async function runNode(folder, args) {
  // A test runner around this one must not reach into it.
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env
  try {
    const { stdout } = await runFile(process.execPath, args, { cwd: folder, env, maxBuffer: 2 ** 24 })
    return stdout
  } catch (error) {
    throw new Error(`node ${args.join(' ')} failed\n${error.stdout}${error.stderr}`, { cause: error })
  }
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

const usage = `node run.mjs [--keep FOLDER]

Packs the packages, sets up a folder outside the workspace, selects with the example policy and runs the laws over it.
--keep FOLDER makes that folder, which must not exist, and leaves it: a start for a policy of your own.
`

/** @param {string[]} args */
async function main(args) {
  const [option, folder] = args
  if (option === '--help') return void process.stdout.write(usage)
  if (option !== undefined && (option !== '--keep' || folder === undefined || args.length > 2)) {
    process.stderr.write(`unknown arguments: ${args.join(' ')}\n${usage}`)
    process.exitCode = 2
    return
  }
  process.stdout.write('building and packing, about a minute ...\n')
  const kept = folder === undefined ? undefined : resolve(process.env.INIT_CWD ?? process.cwd(), folder)
  const { selection, laws } = await runOutsideWorkspace(kept)
  const summary = laws.split('\n').filter((line) => /^# (?:pass|fail|skipped) /.test(line))
  process.stdout.write(
    `${selection}conformance, from the tarballs: ${summary.join(', ').replaceAll('# ', '')}\n`,
  )
  if (kept !== undefined)
    process.stdout.write(`kept in ${kept}; the policy is node_modules/@acme/least-busy\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
