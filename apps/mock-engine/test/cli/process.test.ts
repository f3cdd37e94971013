import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Json, ask, chat, until } from '../support/mock-server.js'
import { RawClient } from '../support/raw-client.js'

// What only a process has: signals, an end, a standard output that closes.

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const binary = join(root, 'node_modules', '.cache', 'router', `mock-engine-test-${process.pid}.mjs`)

beforeAll(async () => {
  await bundleSources({ entry: join(root, 'apps', 'mock-engine', 'src', 'bin.ts'), outfile: binary })
})

afterAll(() => [binary, `${binary}.map`].forEach((path) => rmSync(path, { force: true })))

class Running {
  output = ''
  errors = ''
  exitCode: number | null | undefined
  readonly child: ChildProcess

  constructor(...args: string[]) {
    this.child = spawn(process.execPath, [binary, '--port', '0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout!.on('data', (chunk) => (this.output += String(chunk)))
    this.child.stderr!.on('data', (chunk) => (this.errors += String(chunk)))
    this.child.on('close', (code) => (this.exitCode = code))
  }

  async facts(): Promise<Json> {
    await until('it listens', () => this.output.includes('\n') || this.exitCode !== undefined)
    expect(this.errors).toBe('')
    return JSON.parse(this.output.split('\n')[0]!)
  }

  async ended(): Promise<number | null> {
    await until('it ended', () => this.exitCode !== undefined)
    return this.exitCode!
  }
}

test('a signal lets requests end, then the process ends with 0', async () => {
  const running = new Running('--json', '--fault', 'slow:delay_ms=300,path=/version')
  const facts = await running.facts()
  const pending = ask(facts, '/version')
  await until('it is held', async () => {
    const { in_flight: held, requests } = (await ask(facts, '/stats')).json
    return held === 1 || requests['/version'] !== undefined
  })
  running.child.kill('SIGTERM')
  expect((await pending).status).toBe(200)
  expect(await running.ended()).toBe(0)
})

test('a second signal does not wait', async () => {
  const running = new Running('--json', '--fault', 'hang')
  const facts = await running.facts()
  const client = new RawClient(facts).post('/v1/chat/completions', chat('x'))
  await until('it hangs', async () => (await ask(facts, '/stats')).json.in_flight === 1)
  running.child.kill('SIGTERM')
  await until('it refuses connections', () =>
    fetch(facts.url).then(
      () => false,
      () => true,
    ),
  )
  expect(running.exitCode).toBeUndefined()
  running.child.kill('SIGINT')
  expect(await running.ended()).toBe(1)
  await until('cut', () => client.ending !== undefined)
})

test('an idle process ends with 0 at a signal', async () => {
  const running = new Running('--json', '--kv-events', 'tcp://127.0.0.1:0')
  await running.facts()
  running.child.kill('SIGINT')
  expect(await running.ended()).toBe(0)
})

test('a crash on purpose ends it with 1 in the middle of an answer', async () => {
  const running = new Running('--json', '--fault', 'crash:after_chunks=2')
  const facts = await running.facts()
  const client = new RawClient(facts).post('/v1/chat/completions', chat('x', { stream: true }))
  expect(await running.ended()).toBe(1)
  await until('cut', () => client.ending !== undefined)
  expect(client.received.split('data:')).toHaveLength(3)
  expect(running.errors).toBe('crashed on purpose\n')
})

test('the reader of its output may leave', async () => {
  const running = new Running()
  await until('it listens', () => running.output.includes('listening'))
  running.child.stdout!.destroy()
  running.child.kill('SIGINT')
  expect(await running.ended()).toBe(0)
  expect(running.errors).toBe('')
})

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const shellBlocks = [...readme.matchAll(/```sh\n(.*?)```/gsu)].map(([, block]) => block!)
const hasShell = spawnSync('bash', ['-c', 'curl --version']).status === 0

const folder = mkdtempSync(join(tmpdir(), 'mock-engine-readme-'))
/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

describe.skipIf(!hasShell)(
  `the blocks of the README${hasShell ? '' : ' (skipped: no bash or no curl)'}`,
  () => {
    let engine: ChildProcess
    let ports: number[] = []
    const bash = (block: string) => {
      const [http, events, replay] = ports
      const command = block
        .replaceAll('8000', String(http))
        .replaceAll('5557', String(events))
        .replaceAll('5657', String(replay))
        .replaceAll('curl -s', 'curl -s --fail-with-body')
        .replace(/ &\n$/u, '\n')
      return ['-euo', 'pipefail', '-c', command]
    }
    const options = { cwd: folder, env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` } }
    const run = (block: string) => execFileSync('bash', bash(block), { ...options, encoding: 'utf8' })

    beforeAll(async () => {
      const npx = join(folder, 'npx')
      writeFileSync(npx, `#!/bin/sh\nshift\nexec '${process.execPath}' '${binary}' "$@"\n`)
      chmodSync(npx, 0o755)
      ports = await freePorts(3)
      engine = spawn('bash', bash(`exec ${shellBlocks[0]!}`), { ...options, stdio: 'ignore' })
      await until('it listens', () =>
        fetch(`http://127.0.0.1:${ports[0]}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
    })

    afterAll(() => {
      engine.kill('SIGKILL')
    })

    test('do what they say', async () => {
      const outputs = shellBlocks.slice(1).map(run)
      expect(outputs[0]).toContain('"object":"chat.completion"')
      const [first, second] = outputs[1]!
        .trim()
        .split('\n')
        .map((line) => Number(line.split(':')[1]))
      expect(first).toBe(0)
      expect(second).toBeGreaterThan(0)
      expect(JSON.parse(outputs[2]!)).toMatchObject({ fault: { kind: 'cut' }, remaining: 2 })
      expect(outputs[3]).toContain('vllm:prefix_cache_hits_total')
      expect(existsSync(join(folder, 'mock-model', 'tokenizer.json'))).toBe(true)
      expect(outputs.at(-1)).toContain('"num_gpu_blocks":512')
      expect(outputs).toHaveLength(6)
      const { json } = await ask({ url: `http://127.0.0.1:${ports[0]}` }, '/stats')
      expect(json.restarts).toBe(1)
    })
  },
)
