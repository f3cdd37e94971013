import { describe, expect, it } from 'vitest'
import { portsOf } from '../../src/commands/serve.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import type { WorkerSources } from '../../src/workers/sources/worker-discovery.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { fileWith, run } from '../support.js'

/** Lines of the log, without their times, its end, and what is only told when a start takes a second. */
function warningsIn(errors: string): string[] {
  const lines = errors.split('\n').map((line) => line.replace(/^[\d:.]+ /, ''))
  return lines.filter((line) => line !== '' && !/code=no_workers|^INFO {2}stopping: /.test(line))
}

describe('router serve', () => {
  it('starts, says where, and ends when it is asked to', async () => {
    const { exitCode, output, errors } = await run(['serve', '--selection-port', '0'])
    expect([exitCode, warningsIn(errors)]).toEqual([0, []])
    expect(errors).toContain('INFO  stopping: ')
    expect(output).toMatch(/^selection API on http:\/\/127\.0\.0\.1:\d+$/)
  })

  it('serves the OpenAI API on request', async () => {
    const { exitCode, output } = await run(['serve', '--port', '0', '--selection-port', '0'])
    expect(exitCode).toBe(0)
    expect(output).toMatch(
      /^router on http:\/\/127\.0\.0\.1:\d+: 0 workers, policy default, mode kv\nselection API on \S+$/,
    )
  })

  it('serves it unless the selection API alone is asked for', () => {
    const selection = { 'selection-port': '5' }
    const ports = (flags: Record<string, string>, sources: WorkerSources = {}) =>
      portsOf(readServeSettings({ flags }), sources)
    expect(ports({})).toEqual({ main: 8000 })
    expect(ports(selection)).toEqual({ selection: 5 })
    expect(ports({ ...selection, port: '6' })).toEqual({ main: 6, selection: 5 })
    expect(ports({ ...selection, 'http-port': '6' })).toEqual({ main: 6, selection: 5 })
    for (const sources of [
      { flags: [parseWorkerFlag('http://a:1')] },
      { file: 'f' },
      { dns: [{ host: 'a', port: 1 }] },
    ])
      expect(ports(selection, sources)).toEqual({ main: 8000, selection: 5 })
  })

  it('takes a policy file, and says what is wrong with one', async () => {
    const good = fileWith('router: {use_kv_events: false}')
    expect((await run(['serve', '--selection-port', '0', '--router-policy-config', good])).exitCode).toBe(0)
  })

  it('U53: a typo in the parameters of a policy stops the start, and the near name is told', async () => {
    const typo = fileWith(
      'worker_selection:\n  instances: [{name: a, type: dynamo-default-cost-fn, parameters: {prefil_load_scale: 1}}]',
    )
    const { exitCode, output, errors } = await run(['serve', '--port', '0', '--router-policy-config', typo])
    expect([exitCode, output]).toEqual([1, ''])
    expect(errors).toMatch(/prefil_load_scale.*prefill_load_scale/s)
  })

  it.each([
    ['instances: [{name: a}]', /type/],
    ['instances: [{name: a, type: nothing-like-it}]', /nothing-like-it/],
    ['aggregated: b\n  instances: [{name: a, type: dynamo-random}]', /unknown instance 'b'/],
  ])('U54: an instance that cannot be stops the start: %s', async (text, errors) => {
    const path = fileWith(`worker_selection:\n  ${text}`)
    const ended = await run(['serve', '--port', '0', '--router-policy-config', path])
    expect([ended.exitCode, ended.output]).toEqual([1, ''])
    expect(ended.errors).toMatch(errors)
    expect(ended.errors).toMatch(/error: ROUTER_[A-Z_]+$/)
  })

  it.each([
    [
      ['--selection-port', '70000'],
      1,
      /--selection-port cannot be '70000'; accepted: an integer from 0 to 65535/,
    ],
    [['--router-mod', 'kv'], 2, /Did you mean --router-mode\?/],
    [['--port', '0', '--http-port', '1'], 1, /--http-port=1: --port=0 says otherwise/],
    [['--host', '0.0.0.0'], 1, /loopback/],
    [['--host', '203.0.113.7'], 1, /--host=203\.0\.113\.7: .*--admin-token-file/],
    [['--host', '203.0.113.7', '--no-admin-api'], 1, /--http-host=203\.0\.113\.7: it cannot be bound/],
    [['--worker', 'ftp://x'], 1, /--worker: 'ftp:\/\/x' is no URL/],
    [
      ['--router-mode', 'direct', '--policy', 'default'],
      1,
      /--router-mode=direct: --policy names a policy as well/,
    ],
  ])('%j ends with %i', async (args, exitCode, errors) => {
    const ended = await run(['serve', ...args])
    expect([ended.exitCode, ended.output]).toEqual([exitCode, ''])
    expect(ended.errors).toMatch(errors)
  })

  it('warns once where keys of clients would be due, and of what it does not know', async () => {
    const { errors } = await run(['serve', '--selection-port', '0', '--host', '0.0.0.0', '--no-admin-api'], {
      DYN_SYSTEM_PORT: '1',
      DYN_NAMESPACE: 'x',
      ROUTER_TTL_SEC: '1',
    })
    expect(warningsIn(errors)).toEqual([
      'WARN  ROUTER_TTL_SEC has no effect: there is no such setting; did you mean ROUTER_TTL_SECS?',
      'WARN  DYN_NAMESPACE, DYN_SYSTEM_PORT: ignored, the router has no such settings',
      'WARN  whoever reaches 0.0.0.0 may send requests: there is no --api-key-file',
    ])
  })
})

it('variables of router serve are none that router explain does not know', async () => {
  const { exitCode, errors } = await run(['explain'], {
    ROUTER_TTL_SECS: '1',
    ROUTER_WORKER_URLS: 'http://a:1',
  })
  expect([exitCode, errors]).toEqual([0, ''])
})

describe('the help', () => {
  it.each([
    [['--help'], /router serve --worker http/],
    [['serve', '--help'], /router serve --worker http.*Exit code/s],
    [['explain', '--help'], /Examples:\n +router explain/],
  ])('of %j has examples', async (args, example) => {
    const { exitCode, output } = await run(args)
    expect(exitCode).toBe(0)
    expect(output).toMatch(example)
  })
})
