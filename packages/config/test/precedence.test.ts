import { type WorkerRole, workerRoles } from '@router/sdk'
import { describe, expect, test } from 'vitest'
import { type Environment, type FlagTexts, loadRouterPolicy } from '../src/index.js'
import { catalog, refusal } from './support.js'

const text = `worker_selection:
  aggregated: yaml
  prefill: yaml
  decode: yaml
  encode: yaml
  instances:
    - {name: yaml, type: weighted}
    - {name: flag, type: weighted}
    - {name: own, type: weighted}
    - {name: shared, type: weighted}
    - {name: other, type: weighted}
`
const load = (flags: FlagTexts, environment: Environment, yaml = text) =>
  loadRouterPolicy({ catalog: catalog(), text: yaml, flags, environment })
const served = async (flags: FlagTexts, environment: Environment) => {
  const { bundle } = await load(flags, environment)
  return Object.fromEntries(workerRoles.map((role) => [role, bundle.roles[role]?.name])) as Record<
    WorkerRole,
    string
  >
}
const all = (name: string) => ({ aggregated: name, prefill: name, decode: name, encode: name })

describe('which policy serves a role', () => {
  test.each<[string, FlagTexts, Environment, Record<WorkerRole, string>]>([
    ['the file', {}, {}, all('yaml')],
    [
      'the shared variable, for every role',
      {},
      { DYN_ROUTER_WORKER_SELECTION_POLICY: 'shared' },
      all('shared'),
    ],
    [
      'the shared flag',
      { 'router-worker-selection-policy': 'shared' },
      { ROUTER_WORKER_SELECTION_POLICY: 'other' },
      all('shared'),
    ],
    [
      'own variables before the shared one, for prefill and decode',
      {},
      {
        DYN_ROUTER_PREFILL_POLICY: 'own',
        ROUTER_DECODE_POLICY: 'other',
        DYN_ROUTER_WORKER_SELECTION_POLICY: 'shared',
      },
      { ...all('shared'), prefill: 'own', decode: 'other' },
    ],
    [
      'own flags before their variables',
      { 'router-prefill-policy': 'flag', 'router-decode-policy': 'flag' },
      { DYN_ROUTER_PREFILL_POLICY: 'own', ROUTER_DECODE_POLICY: 'own' },
      { ...all('yaml'), prefill: 'flag', decode: 'flag' },
    ],
    [
      'the own variable before the shared flag',
      { 'router-worker-selection-policy': 'shared' },
      { DYN_ROUTER_DECODE_POLICY: 'own' },
      { ...all('shared'), decode: 'own' },
    ],
    [
      'our variable before the alias',
      {},
      { ROUTER_DECODE_POLICY: 'own', DYN_ROUTER_DECODE_POLICY: 'other' },
      { ...all('yaml'), decode: 'own' },
    ],
    [
      'trimmed',
      { 'router-decode-policy': '  flag\t' },
      { DYN_ROUTER_PREFILL_POLICY: ' own\n' },
      { ...all('yaml'), prefill: 'own', decode: 'flag' },
    ],
    [
      'blank is not given',
      { 'router-decode-policy': '  ' },
      { ROUTER_DECODE_POLICY: '', DYN_ROUTER_DECODE_POLICY: 'own' },
      { ...all('yaml'), decode: 'own' },
    ],
    [
      'default stops the search at any level',
      { 'router-prefill-policy': 'default' },
      {
        DYN_ROUTER_PREFILL_POLICY: 'own',
        ROUTER_DECODE_POLICY: ' default ',
        DYN_ROUTER_WORKER_SELECTION_POLICY: 'shared',
      },
      { ...all('shared'), prefill: 'default', decode: 'default' },
    ],
    ['the shared default', {}, { ROUTER_WORKER_SELECTION_POLICY: 'default' }, all('default')],
  ])('%s', async (_what, flags, environment, wanted) => {
    expect(await served(flags, environment)).toEqual(wanted)
  })

  test('roles never fall back to each other', async () => {
    const { bundle, roles } = await load(
      {},
      {},
      'worker_selection: {decode: a, instances: [{name: a, type: weighted}]}',
    )
    expect(bundle.roles.decode!.definition.type).toBe('weighted')
    for (const role of ['aggregated', 'prefill', 'encode'] as const) {
      expect(bundle.roles[role]!.definition.type).toBe('built-in')
      expect(roles[role]).toEqual({ name: 'default', origin: 'built-in' })
    }
    expect(roles.decode).toEqual({ name: 'a', origin: 'worker_selection.decode' })
  })

  test('an alias that disagrees with its twin loses with a warning; one that agrees says nothing', async () => {
    const { warnings } = await load(
      {},
      {
        ROUTER_DECODE_POLICY: 'own',
        DYN_ROUTER_DECODE_POLICY: 'other',
        ROUTER_PREFILL_POLICY: 'own',
        DYN_ROUTER_PREFILL_POLICY: ' own ',
        ROUTER_TEMPERATURE: '0.5',
        DYN_ROUTER_TEMPERATURE: '.50',
      },
    )
    expect(warnings).toEqual([
      {
        code: 'alias_disagrees',
        message: 'DYN_ROUTER_DECODE_POLICY=other is ignored: ROUTER_DECODE_POLICY=own wins',
      },
    ])
  })

  test.each([
    [{ 'router-decode-policy': 'yml' }, {}, '--router-decode-policy'],
    [{}, { DYN_ROUTER_DECODE_POLICY: 'yml' }, 'DYN_ROUTER_DECODE_POLICY'],
    [{}, { ROUTER_WORKER_SELECTION_POLICY: 'yml' }, 'ROUTER_WORKER_SELECTION_POLICY'],
  ])(
    'an unknown instance of %j %j is named with its origin and the list',
    async (flags, environment, origin) => {
      const { code, issues } = await refusal(() => load(flags, environment))
      expect(code).toBe('ROUTER_POLICY_INSTANCE_UNKNOWN')
      expect(issues).toMatchObject([
        {
          path: [origin],
          value: 'yml',
          accepted: 'default, flag, other, own, shared, yaml',
          suggestion: 'yaml',
        },
      ])
      expect(issues[0]).not.toHaveProperty('file')
    },
  )

  test('a host that does not serve a selected role is told once per role', async () => {
    const { warnings } = await loadRouterPolicy({
      catalog: catalog(),
      text,
      servedRoles: ['decode', 'prefill'],
    })
    expect(warnings.map(({ code, message }) => [code, message.match(/role (\w+)/u)?.[1]])).toEqual([
      ['role_not_served', 'aggregated'],
      ['role_not_served', 'encode'],
    ])
  })
})

describe('flags and environment', () => {
  test.each([
    ['a byte that is no UTF-8', { DYN_ROUTER_DECODE_POLICY: 'o\uFFFDn' }],
    ['half a surrogate pair', { ROUTER_TEMPERATURE: '\uD800' }],
    ['in the name of the file', { ROUTER_POLICY_CONFIG: 'p\uFFFD.yaml' }],
  ])('%s', async (_what, environment) => {
    const { code, issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), environment }))
    expect(code).toBe('ROUTER_ENVIRONMENT_NOT_TEXT')
    expect(issues[0]!.path).toEqual(Object.keys(environment))
  })

  test('every fault of the stage is reported, also of a text that another source wins over', async () => {
    const flags = { 'router-temperature': '1', 'router-temprature': '1' }
    const environment = { DYN_ROUTER_TEMPERATURE: 'hot', ROUTER_SHARED_CACHE_TYPE: 'Hicache' }
    const { code, issues } = await refusal(() => load(flags, environment))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([
      { path: ['--router-temprature'], suggestion: '--router-temperature' },
      {
        path: ['ROUTER_SHARED_CACHE_TYPE'],
        value: 'Hicache',
        accepted: "'none', 'hicache'",
        suggestion: 'hicache',
      },
      { path: ['DYN_ROUTER_TEMPERATURE'], value: 'hot', accepted: 'a finite number >= 0' },
    ])
  })

  test.each([
    ['ROUTER_TEMPRATURE', '; did you mean ROUTER_TEMPERATURE?'],
    ['ROUTER_ROUTER_TEMPERATURE', ''],
    ['ROUTER_SOMETHING_ELSE_ENTIRELY', ''],
    ['DYN_ROUTER_TEMPERATUR', '; did you mean DYN_ROUTER_TEMPERATURE?'],
    ['ROUTR_TEMPERATURE', '; did you mean ROUTER_TEMPERATURE?'],
    ['ROUTER_\u001B[2J', ''],
    ['ROUTER_PORT', ''],
  ])('an unknown variable %j has a warning', async (name, hint) => {
    const { warnings } = await load({}, { [name]: '1' })
    expect(warnings).toMatchObject([{ code: 'unknown_variable' }])
    expect(warnings[0]!.message).toContain(`there is no such setting${hint}`)
    expect(warnings[0]!.message).not.toMatch(/\p{Cc}/u)
  })

  test.each([
    ['DYN_ROUTER_MODE', '1'],
    ['DYN_NAMESPACE', '1'],
    ['ROUTER_SERVICE_HOST', '10.0.0.1'],
    ['ROUTER_SERVICE_PORT_HTTP', '8000'],
    ['ROUTER_PORT', 'tcp://10.0.0.1:8000'],
    ['ROUTER_PORT_8000_TCP_ADDR', '10.0.0.1'],
    ['PATH', '1'],
  ])('a variable of something else, %s, has none', async (name, text) => {
    expect((await load({}, { [name]: text })).warnings).toEqual([])
  })

  test('come after the file', async () => {
    expect((await refusal(() => load({ 'router-temperature': 'x' }, {}, 'planner: 1'))).issues).toMatchObject(
      [{ path: ['planner'] }],
    )
  })
})
