import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { addFlags } from '../../src/cli-flags.js'
import { routesOf } from '../../src/http/routes.js'
import { faultKinds } from '../../src/index.js'
import { ask, until } from '../support/mock-server.js'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const shellBlocks = [...readme.matchAll(/```sh\n(.*?)```/gsu)].map(([, block]) => block!)
const hasShell = spawnSync('bash', ['-c', 'curl --version']).status === 0

const folder = mkdtempSync(join(tmpdir(), 'mock-engine-readme-'))
const binary = fileURLToPath(
  new URL(`../../../../node_modules/.cache/router/mock-engine-readme-${process.pid}.mjs`, import.meta.url),
)

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
      await bundleSources({
        entry: fileURLToPath(new URL('../../src/bin.ts', import.meta.url)),
        outfile: binary,
      })
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

describe('the README', () => {
  test('has the example that runs here', async () => {
    const example = readFileSync(new URL('fixtures/embed.js', import.meta.url), 'utf8')
    expect(readme).toContain(`\`\`\`js\n${example}\`\`\`\n`)
    const log = vi.spyOn(console, 'log').mockReturnValue()
    // @ts-expect-error -- plain JavaScript, as a test of a router would save it
    await import('./fixtures/embed.js')
    expect(log.mock.calls).toEqual([
      ['usage', 8],
      ['subscribe to', 2, 'endpoints'],
      ['statuses', { '/v1/completions': { 200: 1 } }],
      ['arrived as', '{"model":"mock-model","prompt":"Hello","max_tokens":8}'],
      ['health', 200],
    ])
    log.mockRestore()
  })

  test('has every endpoint, and no other', () => {
    const routes = new Set(
      [...routesOf('vllm'), ...routesOf('sglang')].map(({ method, path }) => `${method} ${path}`),
    )
    const table = readme.slice(readme.indexOf('## Endpoints'), readme.indexOf('## KV events'))
    const named = [...table.matchAll(/`((?:GET|POST|DELETE) \/[^`]*)`/gu)].map(([, route]) => route!)
    expect(named.toSorted()).toEqual([...routes].toSorted())
  })

  test('has every flag, and no other', () => {
    const program = new Command()
    addFlags(program)
    const flags = program.options.map(({ long }) => long!)
    const table = readme.slice(readme.indexOf('## Flags'), readme.indexOf('## What is real'))
    const named = [...table.matchAll(/^\| (.*?) \|/gmu)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(--[^`]*)`/gu)].map(([, flag]) => flag!),
    )
    expect(named.toSorted()).toEqual(flags.toSorted())
  })

  test('has every kind of fault', () => {
    const table = readme.slice(readme.indexOf('| kind |'), readme.indexOf('The last four'))
    const named = [...table.matchAll(/^\| (`.*?) \|/gmu)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([a-z_]*)`/gu)].map(([, kind]) => kind!),
    )
    expect(named).toEqual(faultKinds)
  })
})
