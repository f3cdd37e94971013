import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { runNode, stopWithChildren } from './lib/children.mjs'
import { inLanes } from './lib/lanes.mjs'

// What npm users would get: exports, files and types of every tarball in the folder given.

const PUBLINT = 'node_modules/publint/src/cli.js'
const ATTW = 'node_modules/@arethetypeswrong/cli/dist/index.js'

stopWithChildren()
const [folder = ''] = process.argv.slice(2)
const tarballs = readdirSync(folder).filter((file) => file.endsWith('.tgz'))
await inLanes(2, tarballs, async (tarball) => {
  const path = join(folder, tarball)
  const publint = await runNode(PUBLINT, ['run', '--strict', path])
  const attw = await runNode(ATTW, [path, '--profile', 'esm-only'])
  for (const { ok, output } of [publint, attw]) {
    if (ok) continue
    process.stdout.write(`${tarball}\n${output}`)
    process.exitCode = 1
  }
})
if (tarballs.length === 0) process.stdout.write('no package to publish\n')
