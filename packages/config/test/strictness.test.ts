import { describe, expect, test } from 'vitest'
import { parseRouterPolicy } from '../src/index.js'
import { refusal } from './support.js'

const instance = (line: string) =>
  `worker_selection:\n  instances:\n    - name: a\n      type: t\n      ${line}\n`
const parameters = (text: string) =>
  parseRouterPolicy(instance(`parameters: ${text}`)).workerSelection?.instances?.[0]?.parameters as Record<
    string,
    unknown
  >

describe('what counts as not written', () => {
  test.each([
    'router: {}\nworker_selection:\n',
    'router: {}\nworker_selection: ~\nrequest_classifier: null\nmodels:\n',
    'router: {}\nmodels: {}\n',
    'router: {}\ndefault_policy_family:\npolicy_classes:\n',
  ])('%j', (yaml) => {
    const file = parseRouterPolicy(yaml)
    expect(file).toMatchObject({
      workerSelection: undefined,
      requestClassifier: undefined,
      profile: undefined,
      router: {},
    })
    expect(file.models.size).toBe(0)
  })

  test('a null role, null instances and null optional keys', () => {
    const file = parseRouterPolicy(
      'worker_selection: {decode: default, prefill: , encode: ~, allow_alpha: , instances: }\n',
    )
    expect(file.workerSelection).toEqual({ decode: 'default' })
    expect(parseRouterPolicy(instance('package: ~')).workerSelection?.instances).toEqual([
      { name: 'a', type: 't' },
    ])
  })

  test.each([
    '',
    '# nothing\n',
    '---\n',
    '{}',
    'models: {}',
    'router:',
    'worker_selection:\nrequest_classifier: ~\n',
  ])('%j defines nothing', async (yaml) => {
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([{ path: [], message: 'the file defines nothing', line: 1 }])
  })

  test.each([
    'worker_selection: {}',
    'worker_selection: {decode: , instances: []}',
    'worker_selection: {allow_alpha: true}',
  ])('%s selects nothing', async (yaml) => {
    const { issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(issues).toMatchObject([
      { path: ['worker_selection'], message: 'worker_selection selects nothing' },
    ])
  })
})

describe('parameters', () => {
  test('absent and empty are an empty mapping', () => {
    expect(parseRouterPolicy(instance('runtime: true')).workerSelection?.instances?.[0]).not.toHaveProperty(
      'parameters',
    )
    expect(parameters('{}')).toEqual({})
  })

  test.each(['', 'null', '~', '[]', '5', "'{}'"])('%j is refused', async (text) => {
    const { code, issues } = await refusal(() => parameters(text))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([
      { path: ['worker_selection', 'instances', 0, 'parameters'], accepted: 'a mapping', line: 5 },
    ])
  })

  test('values keep their kind', () => {
    const text =
      "{a: 0x10, b: 0o17, c: +5, d: 010, e: 1_000, f: 1e3, g: .inf, h: '1', i: true, j: ~, k: [1, x], l: {m: no}, n: !!str 7}"
    expect(parameters(text)).toEqual({
      a: 16,
      b: 15,
      c: 5,
      d: '010',
      e: '1_000',
      f: 1000,
      g: Infinity,
      h: '1',
      i: true,
      j: null,
      k: [1, 'x'],
      l: { m: 'no' },
      n: '7',
    })
  })

  test('integers are exact up to 2^64 - 1', () => {
    expect(parameters('{a: 9007199254740991, b: 9007199254740993, c: 18446744073709551615}')).toEqual({
      a: 9007199254740991,
      b: 9007199254740993n,
      c: 18446744073709551615n,
    })
  })

  test('a larger integer fails the parse', async () => {
    const { code, issues } = await refusal(() => parameters('{a: 18446744073709551616}'))
    expect(code).toBe('ROUTER_CONFIG_PARSE')
    expect(issues).toMatchObject([{ line: 5, column: 23 }])
  })
})

describe('names, types and roles are read as text', () => {
  test('plain scalars of other kinds', () => {
    const yaml =
      'worker_selection: {aggregated: 1.0, prefill: true, decode: 0x10, instances: [{name: 1.0, type: 12}, {name: true, type: null}, {name: 0x10, type: 010}]}'
    expect(parseRouterPolicy(yaml).workerSelection).toEqual({
      aggregated: '1.0',
      prefill: 'true',
      decode: '0x10',
      instances: [
        { name: '1.0', type: '12' },
        { name: 'true', type: 'null' },
        { name: '0x10', type: '010' },
      ],
    })
  })

  test.each(['name: ~', "name: ''", 'name: a b', 'name: "ä"', 'name: [a]', 'name: a/b', 'name:'])(
    '%s is refused',
    async (name) => {
      const { issues } = await refusal(() =>
        parseRouterPolicy(`worker_selection: {instances: [{${name}, type: t}]}`),
      )
      expect(issues).toMatchObject([
        { code: 'ROUTER_CONFIG_INVALID', path: ['worker_selection', 'instances', 0, 'name'] },
      ])
    },
  )

  test.each(['Default', "' a '", "''", 'b'])('the role value %s is an unknown instance', async (value) => {
    const yaml = `worker_selection: {decode: ${value}, instances: [{name: a, type: t}]}`
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([
      {
        code: 'ROUTER_POLICY_INSTANCE_UNKNOWN',
        path: ['worker_selection', 'decode'],
        accepted: 'default, a',
      },
    ])
  })

  test.each([
    ['name: default, type: t', 'name'],
    ['name: a, type: ""', 'type'],
    ['name: a, type: x y', 'type'],
    ['name: a, type: t, version: not a range', 'version'],
    ['name: a, type: t, version: ""', 'version'],
    ['name: a, type: t, package: ""', 'package'],
    ['name: a, type: t, runtime: yes', 'runtime'],
    ['name: a', 'type'],
  ])('an instance {%s} is refused for its %s', async (text, key) => {
    const { issues } = await refusal(() => parseRouterPolicy(`worker_selection: {instances: [{${text}}]}`))
    expect(issues.map(({ path }) => path)).toEqual([['worker_selection', 'instances', 0, key]])
  })

  test('type: default passes the file; the catalog refuses it', () => {
    expect(
      parseRouterPolicy('worker_selection: {instances: [{name: a, type: default}]}').workerSelection
        ?.instances,
    ).toHaveLength(1)
  })
})

describe('request_classifier', () => {
  test('type, package and parameters', () => {
    const { requestClassifier } = parseRouterPolicy(
      'request_classifier: {type: 12, package: "@acme/x", parameters: {a: 1}}',
    )
    expect(requestClassifier).toEqual({ type: '12', package: '@acme/x', parameters: { a: 1 } })
  })

  test.each([
    '{}',
    '{type: default}',
    '{type: "a b"}',
    '{type: t, parameters: }',
    '{type: t, version: 1}',
    '[]',
  ])('%s is refused', async (text) => {
    expect((await refusal(() => parseRouterPolicy(`request_classifier: ${text}`))).code).toBe(
      'ROUTER_CONFIG_INVALID',
    )
  })
})

describe('router', () => {
  test('every key, typed', () => {
    const yaml =
      'router:\n  host_cache_hit_weight: 1\n  disk_cache_hit_weight: -0.0\n  use_kv_events: True\n  use_remote_indexer: false\n  serve_indexer: false\n' +
      '  enable_session_prefix_index: false\n  shared_cache_type: none\n  router_replica_sync: false\n  router_track_active_blocks: true\n' +
      '  router_track_output_blocks: false\n  router_assume_kv_reuse: true\n  router_track_prefill_tokens: true\n  router_tracking_hash: public-xxh3-v1\n' +
      '  router_tracking_key_file: null\n  router_tracking_key_id:\n  router_prefill_load_model: none\n  router_ttl_secs: 5\n' +
      '  router_approximate_cache_policy: lru\n  router_event_threads: 4\n  router_predicted_ttl_secs: null\n'
    const { router } = parseRouterPolicy(yaml)
    expect(router).toMatchObject({
      host_cache_hit_weight: 1,
      use_kv_events: true,
      router_ttl_secs: 5,
      router_event_threads: 4,
    })
    expect(router).not.toHaveProperty('router_predicted_ttl_secs')
  })

  test.each([
    'router_temperature: 1.0',
    'overlap_score_credit: 1',
    'router_max_tree_size: 10',
    'use_kv_events: 3',
    'use_kv_events: "false"',
    'use_kv_events: null',
    'use_kv_events: yes',
    'use_remote_indexer: true',
    'serve_indexer: true',
    'enable_session_prefix_index: true',
    'router_tracking_hash: keyed-xxh3-v1',
    'router_tracking_hash: md5',
    'router_tracking_key_file: key',
    'router_prefill_load_model: aic',
    'router_event_threads: null',
    'router_event_threads: 1.0',
    'router_event_threads: "4"',
    'host_cache_hit_weight: .inf',
    'host_cache_hit_weight: .nan',
    'host_cache_hit_weight: 1.01',
    'disk_cache_hit_weight: -0.1',
    'shared_cache_type: Hicache',
    'router_ttl_secs: .inf',
    'router_predicted_ttl_secs: -1',
  ])('{%s} is refused, once', async (line) => {
    const { code, issues } = await refusal(() => parseRouterPolicy(`router:\n  ${line}\n`))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([{ path: ['router', line.split(':')[0]], line: 2 }])
  })
})
