import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { runPnpm } from './lib/pnpm.mjs'
import { ROOT } from './lib/root.mjs'

const STAMP = join(ROOT, 'node_modules', '.router-setup')

/**
 * Installs the dependencies of the lockfile unless they are in place. Works before anything is installed.
 * @returns {Promise<boolean>} false after the installation failed and its output was printed
 */
export async function setUp() {
  const wanted = installationHash()
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return true
  process.stderr.write('installing dependencies\n')
  const { ok, output } = await runPnpm(['install', '--frozen-lockfile'])
  if (!ok) {
    process.stderr.write(output)
    return false
  }
  writeFileSync(STAMP, wanted)
  return true
}

/** A digest of every file that decides what is installed where. */
function installationHash() {
  const hash = createHash('sha256').update(`${process.version} ${process.platform} ${process.arch}`)
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', ...manifests()]) {
    hash.update(`\0${file}\0`)
    if (existsSync(join(ROOT, file))) hash.update(readFileSync(join(ROOT, file)))
  }
  return hash.digest('hex')
}

function manifests() {
  const parents = ['packages', 'apps', 'examples'].filter((parent) => existsSync(join(ROOT, parent)))
  const nested = parents.flatMap((parent) =>
    readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`),
  )
  return [...nested.toSorted(), 'bench', 'docs']
    .map((folder) => `${folder}/package.json`)
    .filter((file) => existsSync(join(ROOT, file)))
}
