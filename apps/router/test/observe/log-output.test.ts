import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { logOutput } from '../../src/observe/log-output.js'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const cache = join(root, 'node_modules', '.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'log-output-'))
afterAll(() => rmSync(folder, { recursive: true }))

const lines = Array.from({ length: 6000 }, (_, line) => `line ${line}\n`)

test('lines are written in their order', async () => {
  const path = join(folder, 'lines')
  const file = openSync(path, 'w')
  const output = logOutput({ fileDescriptor: file })
  for (const line of lines) output.write(line)
  await output.drained()
  output.write('one more\n')
  await output.drained()
  expect(readFileSync(path, 'utf8')).toBe(`${lines.join('')}one more\n`)
  expect(output.dropped()).toBe(0)
  closeSync(file)
})

beforeAll(async () => {
  const entry = join(root, 'apps', 'router', 'src', 'observe', 'log-output.ts')
  await bundleSources({ entry, outfile: join(folder, 'log-output.mjs') })
})

test('what is kept is written when the process exits', async () => {
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { logOutput } from './log-output.mjs'
const { write } = logOutput()
for (let line = 0; line < 600; line++) write('line ' + line + '\\n')
process.exit(0)`,
  )
  const { stdout, stderr, status } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  expect(stdout).toBe(lines.slice(0, 600).join(''))
})

test.runIf(process.platform === 'linux')(
  'a reader that stands still costs lines and no memory; one that left costs the rest',
  async () => {
    const path = join(folder, 'pipe')
    spawnSync('mkfifo', [path])
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    const output = logOutput({ fileDescriptor: writer, maximumLength: 100_000 })
    const line = `${'x'.repeat(999)}\n`
    for (let count = 0; count < 300; count++) {
      output.write(line)
      // Lines are handed over between.
      if (count % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const dropped = output.dropped()
    expect(dropped).toBeGreaterThan(0)
    const drained = output.drained()
    let read = 0
    const buffer = Buffer.alloc(65_536)
    while (read < 1000 * (300 - dropped)) {
      try {
        read += readSync(reader, buffer)
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    await drained
    expect(read).toBe(1000 * (300 - dropped))
    closeSync(reader)
    output.write(line)
    await output.drained()
    output.write(line)
    expect(output.dropped()).toBe(dropped + 1)
    closeSync(writer)
  },
)

test.runIf(process.platform === 'linux')(
  'a reader that stands still does not keep the process from its end, whoever shares the pipe',
  () => {
    const path = join(folder, 'shared-pipe')
    spawnSync('mkfifo', [path])
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(path, 'w')
    const program = join(folder, 'silent-reader.mjs')
    writeFileSync(
      program,
      `import { spawnSync } from 'node:child_process'
import { logOutput } from './log-output.mjs'
const { write } = logOutput({ fileDescriptor: 2 })
spawnSync(process.execPath, ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] })
for (let line = 0; line < 200; line++) write('x'.repeat(999) + '\\n')`,
    )
    // What a child of Node inherits waits for its reader from then on, for all who share it.
    const { status } = spawnSync(process.execPath, [program], {
      stdio: ['ignore', 'ignore', writer],
      timeout: 30_000,
      killSignal: 'SIGKILL',
    })
    closeSync(writer)
    closeSync(reader)
    expect(status).toBe(0)
  },
)
