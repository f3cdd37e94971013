import { describe, expect, test } from 'vitest'
import { parseRouterPolicy } from '../src/index.js'
import { refusal } from './support.js'

describe('errors of the file', () => {
  const yaml = `worker_selection:
  decode: kvac
  instances:
    - name: kvca
      type: some-type
      verson: 1
      runtime: 7
router:
  use_kv_evnts: true
  shared_cache_type: hi-cache
planner: x
`

  test('name file, line, column, key, value, what is accepted and the nearest word', async () => {
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml, 'fleet/policy.yaml'))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    const file = 'fleet/policy.yaml'
    expect(issues).toMatchObject([
      { file, line: 2, column: 11, path: ['worker_selection', 'decode'], value: 'kvac', suggestion: 'kvca' },
      {
        file,
        line: 6,
        column: 7,
        path: ['worker_selection', 'instances', 0, 'verson'],
        value: 1,
        suggestion: 'version',
      },
      {
        file,
        line: 7,
        column: 16,
        path: ['worker_selection', 'instances', 0, 'runtime'],
        value: 7,
        accepted: 'true or false',
      },
      { file, line: 9, column: 3, path: ['router', 'use_kv_evnts'], suggestion: 'use_kv_events' },
      { file, line: 10, column: 22, value: 'hi-cache', accepted: "'none', 'hicache'", suggestion: 'hicache' },
      { file, line: 11, column: 1, path: ['planner'] },
    ])
    expect(issues[5]!.accepted).toContain('worker_selection, request_classifier, router')
    expect(issues[5]).not.toHaveProperty('suggestion')
  })

  test('read like those of a compiler', async () => {
    const { message } = await refusal(() =>
      parseRouterPolicy(
        'worker_selection:\n  decode: kvac\n  instances: [{name: kvca, type: t, verson: 1}]\n',
      ),
    )
    expect(message).toBe(
      [
        "router-policy.yaml:2:11: role decode names the unknown instance 'kvac'",
        '  accepted: default, kvca',
        "  did you mean 'kvca'?",
        "router-policy.yaml:3:37: unknown key 'verson' in worker_selection.instances[0]",
        '  accepted: name, type, package, version, runtime, parameters',
        "  did you mean 'version'?",
      ].join('\n'),
    )
  })

  test('a missing key stands where its mapping does', async () => {
    const { issues } = await refusal(() =>
      parseRouterPolicy('worker_selection:\n  instances:\n    - name: a\n'),
    )
    expect(issues).toMatchObject([
      { line: 3, column: 7, message: "missing key 'type' in worker_selection.instances[0]" },
    ])
  })

  test('a mistyped key is not also missing', async () => {
    const text = 'worker_selection:\n  instances:\n    - {name: a, typ: t}\n'
    const { issues } = await refusal(() => parseRouterPolicy(text))
    expect(issues.map(({ message }) => message)).toEqual([
      "unknown key 'typ' in worker_selection.instances[0]",
    ])
  })

  test('a fault hides no other one of the same section', async () => {
    const text =
      'worker_selection:\n  decode: b\n  instances: [{name: a, type: t, parameters: 1}, {name: a, type: t}]\n'
    const { issues } = await refusal(() => parseRouterPolicy(text))
    expect(issues.map(({ path }) => path.slice(1).join('.'))).toEqual([
      'decode',
      'instances.0.parameters',
      'instances.1.name',
    ])
  })

  test.each([
    ['[1, 2]', 'a list'],
    ['text', "'text'"],
    ['12', '12'],
  ])('a file that is %s', async (text, shown) => {
    const { issues } = await refusal(() => parseRouterPolicy(text))
    expect(issues).toMatchObject([
      { message: `the file cannot be ${shown}`, accepted: 'a mapping', line: 1, column: 1 },
    ])
  })

  test.each([
    ['x: 1', ['x']],
    ['worker_selection: {decode: default, x: 1}', ['worker_selection', 'x']],
    ['worker_selection: {instances: [{name: a, type: t, x: 1}]}', ['worker_selection', 'instances', 0, 'x']],
    ['router: {x: 1}', ['router', 'x']],
    ['request_classifier: {type: t, x: 1}', ['request_classifier', 'x']],
    ['models: {m: {x: 1}}', ['models', 'm', 'x']],
    ['uncached_isl_buckets: [{min_tokens: 0, bucket: b, x: 1}]', ['uncached_isl_buckets', 0, 'x']],
    ['policy_classes: [{name: a, quantum: 1, x: 1}]', ['policy_classes', 0, 'x']],
  ])('an unknown key is refused at its level: %s', async (text, path) => {
    const { code, issues } = await refusal(() => parseRouterPolicy(text))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toContainEqual(
      expect.objectContaining({ path, value: 1, message: expect.stringContaining("unknown key 'x'") }),
    )
  })
})
