import { spawn } from 'node:child_process'
import { openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleFleet, examplePolicy } from '../src/example.js'
import { fileWith } from './support.js'

// What only a process has: a standard output that closes, a working directory, an end.

const root = fileURLToPath(new URL('../../..', import.meta.url))
const binary = join(root, 'node_modules', '.cache', 'router', `process-test-${process.pid}.mjs`)
const runner = join(root, 'scripts', 'run.mjs')

interface Ended {
  readonly exitCode: number | null
  readonly output: string
  readonly errors: string
}

/** Runs node; `closes` = the reader leaves before anything is written. */
async function node(
  args: readonly string[],
  options: { stdout?: number; closes?: boolean; environment?: Record<string, string>; cwd?: string } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: options.cwd ?? root,
    env: { PATH: process.env['PATH'], ...options.environment },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout?.on('data', (chunk) => (output += String(chunk)))
  child.stderr?.on('data', (chunk) => (errors += String(chunk)))
  if (options.closes === true) child.stdout?.destroy()
  const exitCode = await new Promise<number | null>((done) => child.on('close', done))
  return { exitCode, output, errors }
}

const programs: [string, string[]][] = [
  ['the binary', [binary, 'explain']],
  ['npm start', [runner, 'start', '--json']],
  ['npm run vectors', [runner, 'vectors', '--list']],
]

beforeAll(async () => {
  await bundleSources({ entry: join(root, 'apps', 'router', 'src', 'bin.ts'), outfile: binary })
})

afterAll(() => [binary, `${binary}.map`].forEach((path) => rmSync(path, { force: true })))

describe.each(programs)('the standard output of %s', (_what, args) => {
  test('may close: a silent end', async () => {
    expect(await node(args, { closes: true })).toEqual({ exitCode: 0, output: '', errors: '' })
  })

  test.runIf(process.platform === 'linux')('may be full: one line and exit code 1', async () => {
    const { exitCode, errors } = await node(args, { stdout: openSync('/dev/full', 'w') })
    expect(exitCode).toBe(1)
    expect(errors).toMatch(/^cannot write to standard output: ENOSPC.*\n$/u)
  })
})

describe('relative paths of npm start', () => {
  const folder = dirname(exampleFleet)
  const start = (environment: Record<string, string>, ...args: string[]) =>
    node([runner, 'start', ...args], { environment: { INIT_CWD: folder, ...environment } })

  test('start where the user stands', async () => {
    const flags = await start({}, '--policy-config', 'policy.yaml', '--fleet', 'fleet.yaml')
    expect(flags).toMatchObject({ exitCode: 0, errors: '' })
    expect(flags.output).toMatch(/^fleet +fleet\.yaml: /u)
    expect(flags.output).toContain('(policy.yaml)')
    const variable = await start({ ROUTER_POLICY_CONFIG: 'policy.yaml' })
    expect(variable).toMatchObject({ exitCode: 0, output: expect.stringContaining('(policy.yaml)') })
  })

  test('are named in full when they cannot be read', async () => {
    for (const flag of ['--policy-config', '--fleet']) {
      const { exitCode, errors } = await start({}, flag, 'nope.yaml')
      expect(exitCode).toBe(1)
      expect(errors).toContain(`${join(folder, 'nope.yaml')}: cannot read the file`)
    }
  })

  test('of the binary start from its working directory', async () => {
    const args = [binary, 'explain', '--policy-config', 'policy.yaml']
    const { exitCode, output } = await node(args, {
      cwd: dirname(examplePolicy),
      environment: { INIT_CWD: root },
    })
    expect(exitCode).toBe(0)
    expect(output).toContain('(policy.yaml)')
  })
})

test('a package whose top-level await never settles is named', async () => {
  const path = fileWith('worker_selection:\n  instances: [{name: a, type: t, package: ./stalled.mjs}]')
  writeFileSync(
    join(dirname(path), 'stalled.mjs'),
    'await new Promise(() => {})\nexport const policies = []\n',
  )
  const { exitCode, output, errors } = await node([binary, 'explain', '--policy-config', path])
  expect([exitCode, output]).toEqual([1, ''])
  expect(errors).toContain(`${path}:2:43: package './stalled.mjs' did not finish loading`)
  expect(errors).toContain('error: ROUTER_POLICY_PACKAGE_LOAD_FAILED')
})
