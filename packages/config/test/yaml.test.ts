import { describe, expect, test } from 'vitest'
import { parseRouterPolicy } from '../src/index.js'
import { refusal } from './support.js'

const instances = (text: string) => parseRouterPolicy(text).workerSelection?.instances

describe('YAML', () => {
  test('anchors and aliases work, at any place', () => {
    const yaml = `worker_selection:
  decode: &name one
  instances:
    - &first {name: *name, type: t, parameters: &shared {a: [1, 2]}}
    - {name: two, type: u, parameters: *shared}
    - {name: three, type: v, parameters: {b: *shared, c: *shared}}
`
    expect(instances(yaml)).toEqual([
      { name: 'one', type: 't', parameters: { a: [1, 2] } },
      { name: 'two', type: 'u', parameters: { a: [1, 2] } },
      { name: 'three', type: 'v', parameters: { b: { a: [1, 2] }, c: { a: [1, 2] } } },
    ])
  })

  test('an alias means the latest anchor before it', () => {
    expect(
      instances('worker_selection: {instances: [{name: &n a, type: *n}, {name: &n b, type: *n}]}'),
    ).toEqual([
      { name: 'a', type: 'a' },
      { name: 'b', type: 'b' },
    ])
  })

  test('a merge key is an ordinary key', async () => {
    const yaml =
      'worker_selection:\n  instances:\n    - &a {name: a, type: t}\n    - {<<: *a, name: b, type: t}\n'
    const { issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(issues).toMatchObject([{ path: ['worker_selection', 'instances', 1, '<<'], line: 4, column: 8 }])
    const free = instances('worker_selection: {instances: [{name: a, type: t, parameters: {<<: {x: 1}}}]}')
    expect(free?.[0]?.parameters).toEqual({ '<<': { x: 1 } })
  })

  test('a byte-order mark and a document end are ignored', () => {
    expect(parseRouterPolicy('\uFEFF---\nrouter: {}\n...\n').router).toEqual({})
  })

  test('mappings have no prototype to reach', () => {
    const [first] = instances(
      'worker_selection: {instances: [{name: a, type: t, parameters: {constructor: 1, toString: {x: 2}}}]}',
    )!
    expect(first!.parameters).toEqual({ constructor: 1, toString: { x: 2 } })
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  test.each([
    ['several documents', 'router: {}\n---\nrouter: {}\n', 2, 1],
    ['an unclosed list', 'router: {}\nmodels: [1\n', 3, 1],
    ['a tab as indentation', 'router:\n\tuse_kv_events: true\n', 2, 1],
    ['an unknown anchor', 'router: *nothing\n', 1, 9],
    ['an anchor that contains itself', 'router: &a\n  x: *a\n', 2, 6],
    ['a repeated key', 'router: {}\nworker_selection: {decode: default}\nrouter: {}\n', 3, 1],
    ['a repeated key below router', 'router:\n  router_ttl_secs: 1\n  router_ttl_secs: 1\n', 3, 3],
    [
      'a repeated key in parameters',
      'worker_selection:\n  instances: [{name: a, type: t, parameters: {x: 1, "x": 2}}]\n',
      2,
      53,
    ],
    ['a mapping as key', 'router: {}\n? {a: 1}\n: 2\n', 2, 3],
    [
      'a prototype key',
      'router: {}\nworker_selection: {instances: [{name: a, type: t, parameters: {__proto__: {x: 1}}}]}\n',
      2,
      64,
    ],
    ['a tag without meaning', 'router: !mine {}\n', 1, 15],
    ['a tag on a scalar', 'router: {use_kv_events: !mine true}\n', 1, 31],
    [
      'a value that belies its tag',
      'worker_selection: {instances: [{name: a, type: t, parameters: {x: !!int y}}]}\n',
      1,
      73,
    ],
  ])('%s fails the parse', async (_what, yaml, line, column) => {
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml, 'p.yaml'))
    expect(code).toBe('ROUTER_CONFIG_PARSE')
    expect(issues[0]).toMatchObject({ code: 'ROUTER_CONFIG_PARSE', file: 'p.yaml', line, column })
  })

  test('all repeated keys are reported', async () => {
    const { issues } = await refusal(() =>
      parseRouterPolicy('router: {}\nrouter: {}\nmodels: {}\nmodels: {}\n'),
    )
    expect(issues.map(({ line }) => line)).toEqual([2, 4])
  })

  test('an alias bomb is refused at once', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `y${level + 1}: &x${level + 1} [${`*x${level}, `.repeat(10)}]`,
    )
    const bomb = `{x: &x0 [1, 1, 1], ${levels.join(', ')}}`
    const yaml = `worker_selection: {instances: [{name: a, type: t, parameters: ${bomb}}]}`
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(code).toBe('ROUTER_CONFIG_PARSE')
    expect(issues).toMatchObject([{ message: 'aliases expand to more than 100000 values' }])
  })

  test.each([
    ['lists', '['.repeat(100_000)],
    ['closed lists', `${'['.repeat(5000)}${']'.repeat(5000)}`],
    ['dashes', `${'- '.repeat(5000)}x`],
    ['keys', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    [
      'aliases',
      `a0: &a0 [1]\n${Array.from({ length: 500 }, (_, level) => `a${level + 1}: &a${level + 1} [*a${level}]`).join('\n')}`,
    ],
  ])('deeply nested %s do not exhaust the stack', async (_what, yaml) => {
    expect((await refusal(() => parseRouterPolicy(yaml))).code).toBe('ROUTER_CONFIG_PARSE')
  })
})
