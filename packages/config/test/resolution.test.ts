import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PolicyCatalog, nonNegative, workerRoles, inputSchemaOf } from '@router/sdk'
import { describe, expect, test } from 'vitest'
import { createPolicyCatalog, loadRouterPolicy } from '../src/index.js'
import { catalog, plain, refusal, weighted } from './support.js'

const load = (text: string, with_ = catalog()) =>
  loadRouterPolicy({ catalog: with_, text, path: 'policy.yaml' })

describe('resolution', () => {
  test('an upstream file loads unchanged and keeps its parameters', async () => {
    const { bundle, policyFile } = await load(`worker_selection:
  decode: w
  prefill: default
  instances:
    - name: w
      type: weighted
      parameters: {prefill_load_scale: 0.5, seed: 18446744073709551615}
`)
    expect(policyFile!.workerSelection!.instances![0]!.parameters).toEqual({
      prefill_load_scale: 0.5,
      seed: 2n ** 64n - 1n,
    })
    expect(bundle.roles.decode!.parameters).toEqual({
      prefill_load_scale: 0.5,
      mode: 'fast',
      seed: 2n ** 64n - 1n,
    })
    expect(bundle.roles.prefill!.definition.type).toBe('built-in')
    expect(bundle.selectsCustomInstance).toBe(true)
  })

  test('parameters are validated once per instance, whatever roles share it', async () => {
    const policy = weighted()
    const text =
      'worker_selection: {aggregated: a, prefill: a, decode: b, encode: b, instances: [{name: a, type: weighted}, {name: b, type: weighted-alias}]}'
    const { bundle } = await load(text, new PolicyCatalog().register(policy))
    expect(policy.validated()).toBe(2)
    expect(bundle.roles.aggregated).toBe(bundle.roles.prefill)
    expect(bundle.roles.decode).not.toBe(bundle.roles.prefill)
  })

  test('no file at all is the built-in policy for every role', async () => {
    const { bundle, policyFile, notYetActive } = await loadRouterPolicy({ catalog: catalog() })
    expect(workerRoles.map((role) => bundle.roles[role]!.name)).toEqual(Array(4).fill('default'))
    expect([policyFile, notYetActive]).toEqual([undefined, []])
  })

  test('a role without instance needs a built-in policy once another has one', async () => {
    const without = createPolicyCatalog().register(weighted())
    expect((await load('router: {}', without)).bundle.roles.decode).toBeUndefined()
    const text = 'worker_selection: {decode: a, instances: [{name: a, type: weighted}]}'
    expect((await refusal(() => load(text, without))).code).toBe('ROUTER_POLICY_DEFAULT_MISSING')
  })

  test('what is checked but does not act yet is listed', async () => {
    const profile = '{default_policy_class: a, policy_classes: [{name: a, slo_ms: 1, quantum: 1}]}'
    const { notYetActive } = await load(
      `router: {use_kv_events: true, host_cache_hit_weight: 1}\nmodels: {m: ${profile}}\n${profile.slice(1, -1).replace(', policy', '\npolicy')}\n`,
    )
    expect(notYetActive.map(({ path }) => path.join('.'))).toEqual([
      'router.use_kv_events',
      'policy_classes',
      'models.m',
    ])
  })
})

describe('faults of instances', () => {
  const at = (index: number, ...more: (string | number)[]) => [
    'worker_selection',
    'instances',
    index,
    ...more,
  ]

  test('stand at the offending parameter, with what its schema accepts', async () => {
    const text = `worker_selection:
  instances:
    - name: a
      type: weighted
      parameters:
        prefil_load_scale: 1
        prefill_load_scale: -1
        mode: fats
        limits:
          maximum: 11
          minimum: 2
    - name: b
      type: weighted
      parameters:
        limits: {}
        prefill_load_scale: .nan
        seed: soon
`
    const { code, issues, message } = await refusal(() => load(text))
    expect(code).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect(new Set(issues.map((issue) => issue.code))).toEqual(new Set(['ROUTER_POLICY_PARAMETERS_INVALID']))
    expect(issues).toMatchObject([
      {
        line: 6,
        column: 9,
        path: at(0, 'parameters', 'prefil_load_scale'),
        accepted: 'prefill_load_scale, mode, limits, seed',
        suggestion: 'prefill_load_scale',
      },
      { line: 7, column: 29, value: -1, accepted: 'a number >= 0' },
      { line: 8, column: 15, value: 'fats', accepted: "'fast', 'fair'", suggestion: 'fast' },
      {
        line: 10,
        column: 20,
        path: at(0, 'parameters', 'limits', 'maximum'),
        value: 11,
        accepted: 'an integer from 1 to 10',
      },
      { line: 11, column: 11, value: 2, accepted: 'maximum' },
      {
        line: 15,
        column: 17,
        path: at(1, 'parameters', 'limits', 'maximum'),
        accepted: 'an integer from 1 to 10',
      },
      { line: 16, column: 29, value: Number.NaN, accepted: 'a number >= 0' },
      { line: 17, column: 15, value: 'soon', accepted: 'an integer' },
    ])
    expect(message).toContain(
      "policy.yaml:6:9: unknown key 'prefil_load_scale' in worker_selection.instances[0].parameters\n" +
        "  accepted: prefill_load_scale, mode, limits, seed\n  did you mean 'prefill_load_scale'?",
    )
  })

  test('a policy without parameters accepts an absent or empty mapping only', async () => {
    await load(
      'worker_selection: {instances: [{name: a, type: plain}, {name: b, type: plain, parameters: {}}]}',
    )
    const { issues } = await refusal(() =>
      load('worker_selection: {instances: [{name: a, type: plain, parameters: {x: 1}}]}'),
    )
    expect(issues).toMatchObject([{ path: at(0, 'parameters', 'x'), accepted: 'no keys' }])
  })

  test('all instances are checked, selected or not, in file order', async () => {
    const text =
      'worker_selection:\n  decode: a\n  instances:\n    - {name: a, type: wieghted}\n    - {name: b, type: default}\n    - {name: c, type: plain, runtime: true}\n'
    const { code, issues } = await refusal(() => load(text))
    expect(code).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(issues).toMatchObject([
      {
        code: 'ROUTER_POLICY_TYPE_UNKNOWN',
        path: at(0, 'type'),
        line: 4,
        suggestion: 'weighted',
        accepted: 'plain, weighted, weighted-alias',
      },
      {
        code: 'ROUTER_POLICY_TYPE_UNKNOWN',
        path: at(1, 'type'),
        line: 5,
        suggestion: 'dynamo-default-cost-fn',
      },
      { code: 'ROUTER_POLICY_PARAMETERS_INVALID', path: at(2, 'runtime'), line: 6, accepted: 'false' },
    ])
  })

  test('come before faults of roles', async () => {
    const text = 'worker_selection: {instances: [{name: a, type: unknown}]}'
    const flags = { 'router-decode-policy': 'b' }
    const { issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), text, flags }))
    expect(issues.map(({ code }) => code)).toEqual(['ROUTER_POLICY_TYPE_UNKNOWN'])
  })

  test('several versions in one catalog', async () => {
    const versions = createPolicyCatalog()
      .register(plain('p', '1.0.0'))
      .register(plain('p', '2.0.0-rc.1'))
      .withDefault(plain())
    const text = (range: string) => `worker_selection: {instances: [{name: a, type: p, version: ${range}}]}`
    expect((await load(text('1.x'), versions)).bundle.instances[0]!.definition.version).toBe('1.0.0')
    expect((await load(text('2.0.0-rc.1'), versions)).bundle.instances[0]!.definition.version).toBe(
      '2.0.0-rc.1',
    )
    expect((await refusal(() => load(text('">=2"'), versions))).code).toBe('ROUTER_POLICY_VERSION_UNKNOWN')
  })
})

describe('reading the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'policy-file-'))
  const path = join(folder, 'policy.yaml')

  test('by path, flag, variable and alias, in this order', async () => {
    const named = (name: string) => {
      const file = join(folder, `${name}.yaml`)
      writeFileSync(file, `router: {router_ttl_secs: ${name.length}}`)
      return file
    }
    const environment = { DYN_ROUTER_POLICY_CONFIG: named('alias') }
    const ttl = async (options: object) =>
      (await loadRouterPolicy({ catalog: catalog(), ...options })).policyFile!.router!.router_ttl_secs
    expect(await ttl({ environment })).toBe(5)
    expect(await ttl({ environment: { ...environment, ROUTER_POLICY_CONFIG: named('variable') } })).toBe(8)
    expect(await ttl({ environment, flags: { 'router-policy-config': named('flag') } })).toBe(4)
    expect(await ttl({ environment, path: named('argument') })).toBe(8)
  })

  test('a file that is not there', async () => {
    const { code, issues, cause } = await refusal(() => loadRouterPolicy({ catalog: catalog(), path }))
    expect(code).toBe('ROUTER_CONFIG_READ')
    expect(issues).toMatchObject([{ code, file: path, value: path }])
    expect(cause).toMatchObject({ code: 'ENOENT' })
  })

  test('bytes that are no UTF-8', async () => {
    writeFileSync(path, Buffer.concat([Buffer.from('router: {}\n# '), Buffer.from([0xff, 0x0a])]))
    const { code, issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), path }))
    expect(code).toBe('ROUTER_CONFIG_PARSE')
    expect(issues).toMatchObject([{ file: path, line: 2, column: 3 }])
    rmSync(folder, { recursive: true, force: true })
  })
})

test('an integer above 2^53 is the nearest double where a parameter is a number', async () => {
  const { bundle } = await loadRouterPolicy({
    catalog: catalog(),
    text: 'worker_selection: {aggregated: a, instances: [{name: a, type: weighted, parameters: {prefill_load_scale: 9007199254740993}}]}',
  })
  expect(bundle.roles.aggregated?.parameters).toMatchObject({ prefill_load_scale: 9007199254740992 })
  const { properties } = inputSchemaOf(weighted().parameters)
  expect(properties?.['prefill_load_scale']).toEqual({ type: 'number', minimum: 0, default: 1 })
  expect(inputSchemaOf(nonNegative())).toMatchObject({ type: 'number', minimum: 0 })
})
