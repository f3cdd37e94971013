import { ConfigError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { serveSettings } from '../../src/settings/serve-setting-table.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'

const issuesOf = (call: () => unknown) => {
  try {
    call()
    return []
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    return error.issues.map(({ path, value, accepted }) => ({ path: path[0], value, accepted }))
  }
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
