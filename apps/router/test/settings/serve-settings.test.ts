import { ConfigError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { loadServePolicy } from '../../src/serve-policy.js'
import { serveSettings } from '../../src/settings/serve-setting-table.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { fileWith } from '../support.js'

const issuesOf = (call: () => unknown) => {
  try {
    call()
    return []
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    return error.issues.map(({ path, value, accepted }) => ({ path: path[0], value, accepted }))
  }
}

/** Of a policy file. */
async function fileOf(text: string) {
  return (await loadServePolicy({ path: fileWith(text) })).policyFile
}

describe('C1: settings of the services', () => {
  it("have defaults; a flag wins over our variable, that over Dynamo's", () => {
    expect(readServeSettings({})).toMatchObject({
      host: '127.0.0.1',
      usesKvEvents: true,
      ttlSecs: 120,
      maxTreeSize: 1_048_576,
      selectionCacheMaxEntries: 4096,
      overloadStatusCode: 529,
      busyThresholds: {},
    })
    const environment = { ROUTER_TTL_SECS: '2', DYN_ROUTER_TTL_SECS: '3' }
    expect(readServeSettings({ environment }).ttlSecs).toBe(2)
    expect(readServeSettings({ environment, flags: { 'router-ttl-secs': '1' } }).ttlSecs).toBe(1)
    expect(readServeSettings({ environment: { DYN_ROUTER_TTL_SECS: '3' } }).ttlSecs).toBe(3)
  })

  it('each have names of their own', () => {
    const all = Object.values(serveSettings)
    expect(new Set(all.map(({ variable }) => variable)).size).toBe(all.length)
    expect(serveSettings.ttlSecs).toMatchObject({ variable: 'ROUTER_TTL_SECS', alias: 'DYN_ROUTER_TTL_SECS' })
    expect(serveSettings.cacheTtlSecs).toMatchObject({
      variable: 'ROUTER_SELECTION_CACHE_TTL_SECS',
      alias: undefined,
    })
  })

  it.each([
    ['ROUTER_TTL_SECS', 'soon', 'a finite number >= 0.001'],
    ['ROUTER_TTL_SECS', 'Infinity', 'a finite number >= 0.001'],
    ['ROUTER_TTL_SECS', '-1', 'a finite number >= 0.001'],
    ['ROUTER_MAX_TREE_SIZE', '1.5', 'an integer from 1 to 1073741824'],
    ['ROUTER_PRUNE_TARGET_RATIO', '1.1', 'a finite number from 0 to 1'],
    ['DYN_ROUTER_USE_KV_EVENTS', 'yes', 'true, false, 1, 0'],
    ['ROUTER_APPROXIMATE_CACHE_POLICY', 'fifo', 'ttl, lru'],
    ['DYN_HTTP_OVERLOAD_STATUS_CODE', '199', 'an integer from 200 to 999'],
    ['DYN_HTTP_OVERLOAD_STATUS_CODE', '1000', 'an integer from 200 to 999'],
  ])('%s=%s is refused, with what is accepted', (name, value, accepted) => {
    expect(issuesOf(() => readServeSettings({ environment: { [name]: value } }))).toEqual([
      { path: name, value, accepted },
    ])
  })

  it('an unknown flag is refused, and the near one named', () => {
    expect(() => readServeSettings({ flags: { 'router-ttl-sec': '1' } })).toThrow(
      /did you mean --router-ttl-secs\?/,
    )
  })

  it.each([
    ['ROUTER_TRACK_OUTPUT_BLOCKS', 'true', { ROUTER_TRACK_ACTIVE_BLOCKS: 'false' }],
    ['ROUTER_PREDICTED_TTL_SECS', '1', { ROUTER_KV_EVENTS: 'false' }],
    ['ROUTER_APPROXIMATE_CACHE_POLICY', 'lru', {}],
    ['DYN_ROUTER_REPLICA_SYNC', 'true', {}],
    ['ROUTER_CONDITIONAL_DISAGG_CONFIG', '{}', {}],
  ])('%s=%s contradicts %j', (name, value, others) => {
    const [issue, ...more] = issuesOf(() => readServeSettings({ environment: { ...others, [name]: value } }))
    expect(more).toEqual([])
    expect(issue).toMatchObject({ path: name, value })
    expect(issue!.accepted).toBeTruthy()
  })

  it('every fault is told at once', () => {
    const environment = { ROUTER_TTL_SECS: 'x', ROUTER_MAX_TREE_SIZE: 'y' }
    expect(issuesOf(() => readServeSettings({ environment }))).toHaveLength(2)
  })
})

describe('what wins over settings', () => {
  it('the router section of the policy file, with a warning where they disagree', async () => {
    const policyFile = await fileOf(
      'router: {use_kv_events: false, router_ttl_secs: 7, router_assume_kv_reuse: true}',
    )
    const environment = { ROUTER_TTL_SECS: '3', ROUTER_ASSUME_KV_REUSE: 'true' }
    const settings = readServeSettings({ environment, policyFile })
    expect(settings).toMatchObject({ usesKvEvents: false, ttlSecs: 7, assumesKvReuse: true })
    expect(settings.warnings).toMatchObject([{ code: 'overridden' }])
    expect(settings.warnings[0]!.message).toMatch(
      /^ROUTER_TTL_SECS=3 is ignored: router\.router_ttl_secs .* 7$/,
    )
  })

  it('load alone, under that section', async () => {
    const flags = { 'load-aware': 'true', 'router-kv-events': 'true', 'router-predicted-ttl-secs': '3' }
    const settings = readServeSettings({
      flags,
      policyFile: await fileOf('router: {router_assume_kv_reuse: true}'),
    })
    expect(settings).toMatchObject({
      usesKvEvents: false,
      assumesKvReuse: true,
      tracksActiveBlocks: true,
      predictedTtlSecs: undefined,
    })
    expect(settings.warnings.map(({ code }) => code)).toEqual([
      'overridden',
      'overridden',
      'deprecated_setting',
    ])
    expect(issuesOf(() => readServeSettings({ flags: { ...flags, 'router-mode': 'random' } }))).toMatchObject(
      [{ path: '--load-aware', value: 'true' }],
    )
  })

  it('C1: the file as well, where settings contradict', async () => {
    const policyFile = await fileOf('router: {router_replica_sync: true}')
    expect(issuesOf(() => readServeSettings({ policyFile }))).toMatchObject([
      { accepted: expect.stringContaining('--nats-url') },
    ])
    expect(readServeSettings({ policyFile, flags: { 'nats-url': 'nats://a:1' } }).replicaSync).toBe(true)
  })
})

describe('what is given away', () => {
  it('follows from the host unless it is said', () => {
    const of = (flags: Record<string, string>) => {
      const { tellsPlacement, trustsRoutingHeaders, workerAllow } = readServeSettings({ flags })
      return [tellsPlacement, trustsRoutingHeaders, workerAllow.length > 0]
    }
    const open = { host: '0.0.0.0', 'no-admin-api': 'true' }
    expect(of({})).toEqual([true, true, true])
    expect(of(open)).toEqual([false, false, false])
    const said = {
      'response-headers': 'true',
      'trusted-routing-headers': 'true',
      'worker-allow': '10.0.0.0/8',
    }
    expect(of({ ...open, ...said })).toEqual([true, true, true])
    expect(of({ 'response-headers': 'false' })).toEqual([false, true, true])
  })

  it('C1: admin routes beyond this machine need a token; keys are missed once', () => {
    const open = { host: '10.1.2.3' }
    expect(issuesOf(() => readServeSettings({ flags: open }))).toEqual([
      {
        path: '--host',
        value: '10.1.2.3',
        accepted: 'a loopback host, --admin-token-file, or --no-admin-api',
      },
    ])
    const environment = { ROUTER_ADMIN_TOKEN: 'secret' }
    const { adminToken, warnings, given } = readServeSettings({ flags: open, environment })
    expect(given.get('admin-token')).toEqual({ origin: 'ROUTER_ADMIN_TOKEN', value: '...' })
    expect([adminToken, warnings.map(({ code }) => code)]).toEqual(['secret', ['unprotected']])
    expect(
      readServeSettings({ flags: open, environment: { ...environment, ROUTER_API_KEYS: 'a, b' } }),
    ).toMatchObject({
      apiKeys: ['a', 'b'],
      warnings: [],
    })
  })

  it('is in files, of which no word gets into a message', () => {
    const keys = fileWith('# clients\n  one \n\ntwo\r\n')
    const token = fileWith('very-secret\n')
    const flags = { 'api-key-file': keys, 'admin-token-file': token }
    expect(readServeSettings({ flags, environment: { ROUTER_ADMIN_TOKEN: 'other' } })).toMatchObject({
      apiKeys: ['one', 'two'],
      adminToken: 'very-secret',
    })
    const wrong = { 'api-key-file': fileWith('# none\n'), 'admin-token-file': keys }
    expect(issuesOf(() => readServeSettings({ flags: wrong }))).toMatchObject([
      { path: '--admin-token-file', value: keys },
      { path: '--api-key-file' },
    ])
    const missing = issuesOf(() =>
      readServeSettings({ flags: { 'api-key-file': 'nope' }, folder: '/nowhere' }),
    )
    expect(missing).toMatchObject([
      { path: '--api-key-file', value: 'nope', accepted: 'the path of a readable file' },
    ])
  })

  it('paths start where the user stands', () => {
    const flags = { tokenizer: ['a', 'm=/b'], 'chat-template': 't.jinja' }
    expect(readServeSettings({ flags, folder: '/here' })).toMatchObject({
      tokenizers: new Map([
        ['', '/here/a'],
        ['m', '/b'],
      ]),
      chatTemplate: '/here/t.jinja',
    })
  })
})

describe('C1: conditional disaggregation', () => {
  const faults = (config: string, more: Record<string, string> = {}) =>
    issuesOf(() =>
      readServeSettings({
        flags: { 'router-conditional-disagg-config': config, 'router-conditional-disagg': 'true', ...more },
      }),
    ).map(({ path }) => path)

  it('has a configuration without unknown keys, and a threshold where its policy looks at load', () => {
    expect(faults('{}')).toEqual([])
    for (const config of [
      '{',
      '[]',
      '{"eff_isl": 1}',
      '{"policy": "best"}',
      '{"eff_isl_ratio_threshold": 2}',
    ])
      expect(faults(config)).toEqual(['--router-conditional-disagg-config'])
    const byLoad = '{"policy": "prefill_load"}'
    expect(faults(byLoad)).toEqual(['--router-conditional-disagg-config'])
    expect(faults('{"policy": "isl_or_load", "prefill_busy_threshold": 1}')).toEqual([])
    expect(faults(byLoad, { 'router-queue-threshold': '1' })).toEqual([])
    expect(faults(byLoad, { 'router-conditional-disagg-prefill-busy-threshold': '1' })).toEqual([])
    expect(faults('{}', { 'router-conditional-disagg': 'false' })).toEqual([
      '--router-conditional-disagg-config',
    ])
  })
})
