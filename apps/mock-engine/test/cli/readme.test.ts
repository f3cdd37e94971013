import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { describe, expect, test, vi } from 'vitest'
import { addFlags } from '../../src/cli-flags.js'
import { routesOf } from '../../src/http/routes.js'
import { faultKinds } from '../../src/index.js'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
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
