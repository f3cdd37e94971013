import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const running = new Running('--json', '--kv-events', 'tcp://127.0.0.1:0')
    await running.facts()
    running.child.kill(signal)
    expect(await running.ended()).toBe(0)
  }
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
