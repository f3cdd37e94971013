import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { byteFolder } from './support/tokenizer-folders.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const tsup = join(packageFolder, 'node_modules/tsup/dist/cli-default.js')

/** What users install, but with the index in it, whose own build need not be there. */
const configuration = `
  import configured from '../../tsup.config.ts'

  export default {
    ...configured,
    outDir: import.meta.dirname + '/dist',
    dts: false,
    noExternal: ['@router/kv-index'],
    esbuildOptions: (options) => { options.conditions = ['router-source'] },
  }
`

// Nothing is closed: a reader must not keep a process alive.
const program = `
  import { createPromptReader } from './dist/index.js'

  const reader = createPromptReader({ budgetMs: 60000 })
  const body = new TextEncoder().encode('{ "prompt": "hello" }')
  const reading = await reader.read({ endpoint: 'completions', body, tokenizer: process.argv[2], blockSize: 4 })
  console.log(JSON.stringify([reading.exactness, [...reading.tokens], reading.blocks.count]))
`

it('the built package finds its threads, and a process ends although its reader was not closed', async () => {
  const folder = mkdtempSync(join(packageFolder, 'node_modules/.built-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'tsup.config.mjs'), configuration)
  writeFileSync(join(folder, 'program.mjs'), program)
  const run = promisify(execFile)
  await run(process.execPath, [tsup, '--config', join(folder, 'tsup.config.mjs')], { cwd: packageFolder })
  const { stdout, stderr } = await run(process.execPath, [join(folder, 'program.mjs'), byteFolder()])
  expect([JSON.parse(stdout), stderr]).toEqual([['exact', [104, 101, 108, 108, 111], 1], ''])
})
