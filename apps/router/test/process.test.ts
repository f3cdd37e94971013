import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { startMockEngine } from 'router-mock-engine'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { examplePolicy } from '../src/example.js'
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
  ['npm start', [runner, 'start', '--help']],
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

test('relative paths start where the user stands, and are named in full when they cannot be read', async () => {
  const folder = dirname(examplePolicy)
  const explain = (...args: string[]) =>
    node([binary, 'explain', ...args], { cwd: folder, environment: { INIT_CWD: root } })
  const found = await explain('--policy-config', 'policy.yaml', '--fleet', 'fleet.yaml')
  expect(found).toMatchObject({ exitCode: 0, errors: '' })
  expect(found.output).toMatch(/^fleet +fleet\.yaml: /u)
  expect(found.output).toContain('(policy.yaml)')
  for (const flag of ['--policy-config', '--fleet']) {
    const { exitCode, errors } = await explain(flag, 'nope.yaml')
    expect(exitCode).toBe(1)
    expect(errors).toContain(`${join(folder, 'nope.yaml')}: cannot read the file`)
  }
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

test('examples begin as the user did: npx router, or router', async () => {
  const environment = { npm_lifecycle_event: 'npx' }
  const { output } = await node([binary, 'serve', '--help'], { environment })
  expect(output).toMatch(/^ +npx router serve --worker http/mu)
  expect((await node([binary, 'serve', '--prot'], { environment })).errors).toContain(
    'see npx router serve --help',
  )
  expect((await node([binary, 'serve', '--prot'])).errors).toContain('see router serve --help')
})

test('a start that fails ends with what is wrong, after all that was logged, and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'router-process-test-'))
  const failed = async (...flags: string[]) => {
    const environment = { ROUTER_MADE_UP: '1', TMPDIR: folder }
    const worker = ['--port', '0', '--worker', 'http://127.0.0.1:1']
    const { exitCode, errors } = await node([binary, 'serve', ...worker, ...flags], { environment })
    expect(exitCode).toBe(1)
    expect(errors).toContain('ROUTER_MADE_UP')
    const [said, code] = errors.trimEnd().split('\n').slice(-2)
    expect([code, readdirSync(folder)]).toEqual(['error: ROUTER_CONFIG_INVALID', []])
    return said
  }
  expect(await failed('--tokenizer', folder)).toMatch(/^--tokenizer: /)
  expect(await failed('--tokenizer', '/none', '--chat-template', examplePolicy)).toMatch(/^--tokenizer: /)
  expect(await failed('--tokenizer', folder, '--chat-template', '/none')).toMatch(/^--chat-template: /)
  rmSync(folder, { recursive: true })
})

describe('router serve', () => {
  const started: { readonly kill: () => void }[] = []
  afterEach(() => started.splice(0).forEach(({ kill }) => kill()))

  /** A router process; ended after the test. */
  async function serve(...args: string[]) {
    const child = spawn(process.execPath, [binary, 'serve', ...args], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.push({ kill: () => child.kill('SIGKILL') })
    let output = ''
    const ended = new Promise<number | null>((done) => child.on('close', done))
    const told = new Promise<string>((found) => {
      const read = (chunk: Buffer): void => {
        output += String(chunk)
        const [, url] = /^(?:router|selection API) on ([^\s:]+:\/\/[^\s:]+:\d+)/m.exec(output) ?? []
        if (url !== undefined) found(url)
      }
      for (const stream of [child.stdout, child.stderr]) stream.on('data', read)
    })
    const url = await Promise.race([told, ended.then(() => Promise.reject(new Error(output)))])
    return { url, ended, stop: (signal: NodeJS.Signals) => child.kill(signal), output: () => output }
  }

  const slowEngine = async () => {
    const timing = { type: 'fixed', prefill_ms: 1, decode_ms: 20 } as const
    const engine = await startMockEngine({ speedup: 1, timing })
    started.push({ kill: () => void engine.close() })
    return engine
  }

  /** The answer of a stream, of which the first bytes are here. */
  async function stream(url: string, tokens: number) {
    const body = { model: 'mock-model', prompt: 'hi', max_tokens: tokens, ignore_eos: true, stream: true }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const reader = answer.body!.getReader()
    const first = await reader.read()
    const rest = (async () => {
      let text = Buffer.from(first.value!).toString()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return text
        text += Buffer.from(value).toString()
      }
    })()
    // A test that fails before it looks kills the router.
    rest.catch(() => undefined)
    return { status: answer.status, rest }
  }

  const freePort = async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return port
  }

  const readiness = async (url: string) => (await fetch(`${url}/ready`)).status

  async function untilReadiness(url: string, status: number): Promise<void> {
    while ((await readiness(url)) !== status) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  test('SIGTERM: not ready but serving, until a second one cuts what is open and ends it with 1', async () => {
    const engine = await slowEngine()
    const router = await serve('--port', '0', '--worker', engine.url, '--drain-grace-secs', '3600')
    await untilReadiness(router.url, 200)
    const open = await stream(router.url, 5000)
    router.stop('SIGTERM')
    await untilReadiness(router.url, 503)
    const late = await stream(router.url, 2)
    expect([late.status, (await late.rest).endsWith('[DONE]\n\n')]).toEqual([200, true])
    const cut = open.rest.then(
      (text) => text.includes('[DONE]'),
      () => false,
    )
    router.stop('SIGTERM')
    expect([await router.ended, await cut]).toEqual([1, false])
  })

  test('SIGTERM: streams end, then the process does, with 0', async () => {
    const engine = await slowEngine()
    const router = await serve('--port', '0', '--worker', engine.url, '--drain-grace-secs', '0')
    await untilReadiness(router.url, 200)
    const open = await stream(router.url, 100)
    router.stop('SIGTERM')
    const text = await open.rest
    expect(text.endsWith('[DONE]\n\n')).toBe(true)
    expect(text.match(/^data: \{/gm)!.length).toBeGreaterThan(90)
    expect(await router.ended).toBe(0)
    expect(router.output()).toMatch(/^router on \S+: 1 worker, policy default, mode kv$/m)
  })

  test('whoever reads its output may leave: it serves on, and on SIGTERM streams end', async () => {
    const engine = await slowEngine()
    const port = await freePort()
    const args = ['--port', String(port), '--worker', engine.url, '--drain-grace-secs', '0']
    const child = spawn(process.execPath, [binary, 'serve', ...args], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    started.push({ kill: () => child.kill('SIGKILL') })
    child.stdout.destroy()
    const ended = new Promise<number | null>((done) => child.on('exit', done))
    const url = `http://127.0.0.1:${port}`
    const status = async () => (child.exitCode === null ? readiness(url).catch(() => 0) : 'ended')
    while ((await status()) !== 200) expect(await status()).not.toBe('ended')
    const open = await stream(url, 60)
    child.kill('SIGTERM')
    expect([(await open.rest).endsWith('[DONE]\n\n'), await ended]).toEqual([true, 0])
  })

  test('SIGTERM: what does not end within the shutdown time is cut', async () => {
    const engine = await slowEngine()
    const times = ['--drain-grace-secs', '0', '--http-graceful-shutdown-timeout-secs', '0.2']
    const router = await serve('--port', '0', '--worker', engine.url, ...times)
    await untilReadiness(router.url, 200)
    const open = await stream(router.url, 30_000)
    const cut = open.rest.then(
      (text) => text.includes('[DONE]'),
      () => false,
    )
    router.stop('SIGTERM')
    expect([await router.ended, await cut]).toEqual([0, false])
  })

  test('a port that is taken: one error that names it, and nothing is left running', async () => {
    const first = await serve('--selection-port', '0')
    const { port } = new URL(first.url)
    const second = await node([binary, 'serve', '--port', '0', '--selection-port', port])
    expect([second.exitCode, second.output]).toEqual([1, ''])
    expect(second.errors).toMatch(
      new RegExp(
        `^--selection-port=${port}: it is taken .*; accepted: .*\nerror: ROUTER_CONFIG_INVALID\n$`,
        'u',
      ),
    )
  })

  test('its help has every flag', async () => {
    const help = await node([binary, 'serve', '--help'])
    expect(help).toMatchObject({ exitCode: 0, errors: '' })
    expect(help.output).toContain('  --first-byte-timeout-secs <number>')
  })
})

test('the root of a checkout has the command, without a build, for npx router', async () => {
  const { default: manifest } = await import('../package.json', { with: { type: 'json' } })
  const command = join(root, 'node_modules', '.bin', 'router')
  const child = spawn(command, ['--version'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  const exitCode = await new Promise((done) => child.on('close', done))
  expect([exitCode, output]).toEqual([0, `${manifest.version}\n`])
})
