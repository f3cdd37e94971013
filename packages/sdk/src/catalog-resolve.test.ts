import semver from 'semver'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { caught, codeOf } from '../test/support/caught.js'
import { countedPolicy, testPolicy } from '../test/support/policies.js'
import type { WorkerSelectionConfig } from './catalog-config.js'
import { PolicyCatalog } from './catalog.js'
import { ConfigError, type RouterError } from './errors.js'
import { workerRoles } from './worker.js'

const builtIn = testPolicy('default')
const weights = testPolicy('weights', {
  aliases: ['w'],
  runtime: ['weight'],
  parameters: z.strictObject({ weight: z.number().min(0).default(1) }),
})

function newCatalog(): PolicyCatalog {
  return new PolicyCatalog({ selectVersion: semver.maxSatisfying }).withDefault(builtIn).register(weights)
}

describe('resolve', () => {
  it('gives every role the built-in when nothing is selected', () => {
    for (const config of [{}, { decode: 'default' }, { instances: [{ name: 'a', type: 'weights' }] }]) {
      const bundle = newCatalog().resolve(config)
      expect(bundle.selectsCustomInstance).toBe(false)
      for (const role of workerRoles) expect(bundle.roles[role]).toBe(bundle.roles.aggregated)
      expect(bundle.roles.decode).toMatchObject({
        definition: builtIn,
        name: 'default',
        configured: {},
        runtime: false,
      })
    }
  })

  it('gives no role anything when nothing is selected and there is no built-in', () => {
    const { roles, selectsCustomInstance } = new PolicyCatalog().resolve({ prefill: 'default' })
    expect(roles).toEqual({ aggregated: undefined, prefill: undefined, decode: undefined, encode: undefined })
    expect(selectsCustomInstance).toBe(false)
  })

  it('gives selected roles their instance and the others the built-in', () => {
    const { roles, instances, selectsCustomInstance } = newCatalog().resolve({
      decode: 'heavy',
      encode: 'default',
      instances: [
        { name: 'light', type: 'w', parameters: { weight: 0 } },
        { name: 'heavy', type: 'weights', runtime: true, parameters: { weight: 9 } },
      ],
    })
    expect(selectsCustomInstance).toBe(true)
    expect(instances.map(({ name }) => name)).toEqual(['light', 'heavy'])
    expect(roles.decode).toBe(instances[1])
    expect(instances[1]).toMatchObject({ definition: weights, runtime: true, parameters: { weight: 9 } })
    expect(instances[0]).toMatchObject({ definition: weights, runtime: false, parameters: { weight: 0 } })
    expect([roles.aggregated, roles.prefill, roles.encode].map((role) => role?.name)).toEqual(
      Array(3).fill('default'),
    )
  })

  it('keeps parameters as configured beside the output of the schema', () => {
    const { instances } = newCatalog().resolve({ instances: [{ name: 'a', type: 'weights' }] })
    expect(instances[0]).toMatchObject({ configured: {}, parameters: { weight: 1 } })
    expect(Object.keys(instances[0]!.configured)).toEqual([])
  })

  it('validates an instance once, however many roles name it, and the built-in once', () => {
    const one = countedPolicy('one')
    const two = countedPolicy('two')
    const fallback = countedPolicy('default')
    const catalog = new PolicyCatalog().withDefault(fallback.policy).register(one.policy).register(two.policy)
    const instances = [
      { name: 'a', type: 'one' },
      { name: 'b', type: 'two' },
    ]
    const { roles } = catalog.resolve({ aggregated: 'a', prefill: 'b', decode: 'a', encode: 'b', instances })
    expect([one.validations(), two.validations(), fallback.validations()]).toEqual([1, 1, 0])
    expect(roles.aggregated).toBe(roles.decode)
    expect(roles.prefill).toBe(roles.encode)
    catalog.resolve({ instances })
    expect([one.validations(), two.validations(), fallback.validations()]).toEqual([2, 2, 1])
  })

  it('tells two instances of one type apart', () => {
    const { roles } = newCatalog().resolve({
      prefill: 'a',
      decode: 'b',
      instances: [
        { name: 'a', type: 'weights', parameters: { weight: 1 } },
        { name: 'b', type: 'weights', parameters: { weight: 2 } },
      ],
    })
    expect(roles.prefill).not.toBe(roles.decode)
    expect([roles.prefill?.parameters, roles.decode?.parameters]).toEqual([{ weight: 1 }, { weight: 2 }])
  })

  it('looks in the named package and range', () => {
    const catalog = newCatalog()
    catalog.registerPackage('@acme/p', {
      policies: [testPolicy('x', { version: '1.2.0' }), testPolicy('x', { version: '1.3.0' })],
    })
    const { instances } = catalog.resolve({
      instances: [{ name: 'a', type: 'x', package: '@acme/p', version: '^1.0.0' }],
    })
    expect(instances[0]!.definition).toMatchObject({ package: '@acme/p', version: '1.3.0' })
  })
})

describe('faults', () => {
  const instance = { name: 'a', type: 'weights' }

  it('of role values: an instance that does not exist, by exact name', () => {
    const config = { instances: [{ name: 'b', type: 'weights' }, instance] }
    for (const name of ['c', 'A', ' a ', '']) {
      const error = caught(() => newCatalog().resolve({ ...config, encode: name }))
      expect(error.code).toBe('ROUTER_POLICY_INSTANCE_UNKNOWN')
      expect(error.details).toEqual({ name, role: 'encode', available: 'a, b' })
    }
    expect(caught(() => newCatalog().resolve({ decode: 'a' })).details.available).toBe('<none>')
  })

  it('of role values: no built-in for a role that selects nothing', () => {
    const catalog = new PolicyCatalog().register(weights)
    const selected = { aggregated: 'a', prefill: 'a', decode: 'a', instances: [instance] }
    const error = caught(() => catalog.resolve(selected))
    expect([error.code, error.details]).toEqual(['ROUTER_POLICY_DEFAULT_MISSING', { role: 'encode' }])
    expect(catalog.resolve({ ...selected, encode: 'a' }).roles.encode?.name).toBe('a')
    expect(codeOf(() => catalog.resolveForRole({}, 'decode'))).toBe('ROUTER_POLICY_DEFAULT_MISSING')
  })

  it.each([
    [{ name: 'a', type: 'nothing' }, 'ROUTER_POLICY_TYPE_UNKNOWN'],
    [{ name: 'a', type: 'default' }, 'ROUTER_POLICY_TYPE_UNKNOWN'],
    [{ ...instance, package: '@acme/p' }, 'ROUTER_POLICY_TYPE_UNKNOWN'],
    [{ ...instance, version: '^2.0.0' }, 'ROUTER_POLICY_VERSION_UNKNOWN'],
    [{ ...instance, parameters: { weight: -1 } }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
    [{ ...instance, parameters: null }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
    [{ ...instance, parameters: [] }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
    [{ name: 'default', type: 'weights' }, 'ROUTER_CONFIG_INVALID'],
    [{ name: '', type: 'weights' }, 'ROUTER_CONFIG_INVALID'],
    [{ name: 'a b', type: 'weights' }, 'ROUTER_CONFIG_INVALID'],
  ])('of an instance that no role selects: %j is %s', (faulty, code) => {
    expect(codeOf(() => newCatalog().resolve({ instances: [faulty] }))).toBe(code)
  })

  it('of names: one that is used twice would hide the second instance', () => {
    const error = caught(() => newCatalog().resolve({ instances: [instance, { ...instance, type: 'w' }] }))
    expect(ConfigError.isInstance(error)).toBe(true)
    expect(error.details.issues).toMatchObject([
      { code: 'ROUTER_CONFIG_INVALID', path: ['instances', 1, 'name'], value: 'a' },
    ])
  })

  it('of stability: alpha needs allowAlpha', () => {
    const catalog = newCatalog().register(testPolicy('young', { stability: 'alpha', aliases: ['kid'] }))
    const config = { decode: 'a', instances: [{ name: 'a', type: 'kid' }] }
    for (const refusing of [config, { ...config, allowAlpha: false }]) {
      const error = caught(() => catalog.resolve(refusing))
      expect([error.code, error.details]).toEqual(['ROUTER_POLICY_ALPHA', { instance: 'a', type: 'young' }])
      expect(codeOf(() => catalog.resolveForRole(refusing, 'decode'))).toBe('ROUTER_POLICY_ALPHA')
    }
    expect(catalog.resolve({ ...config, allowAlpha: true }).roles.decode?.definition.type).toBe('young')
  })

  it('of runtime: a policy without parameters that may change', () => {
    const catalog = newCatalog().register(testPolicy('fixed'))
    const error = caught(() =>
      catalog.resolve({ instances: [instance, { name: 'b', type: 'fixed', runtime: true }] }),
    )
    expect(error.code).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect(error.details).toEqual({ type: 'fixed', instance: 'b', issues: [] })
    expect(error.message).toContain('runtime: true')
    const fine = catalog.resolve({ instances: [{ name: 'b', type: 'fixed', runtime: false }] })
    expect(fine.instances[0]!.runtime).toBe(false)
  })

  it('of several instances are reported together, in file order, before those of roles', () => {
    const error = caught(() =>
      newCatalog().resolve({
        decode: 'nobody',
        instances: [
          { ...instance, parameters: { weight: -1 } },
          { name: 'fine', type: 'weights' },
          { name: 'b', type: 'nothing' },
        ],
      }),
    )
    const errors = error.details.errors as RouterError[]
    const codes = ['ROUTER_POLICY_PARAMETERS_INVALID', 'ROUTER_POLICY_TYPE_UNKNOWN']
    expect(errors.map(({ code }) => code)).toEqual(codes)
    expect(error.code).toBe(codes[0])
    for (const { message } of errors) expect(error.message).toContain(message)
  })

  it('of several roles are reported together, in the order of roles', () => {
    const error = caught(() => newCatalog().resolve({ encode: 'x', prefill: 'y', instances: [instance] }))
    expect((error.details.errors as RouterError[]).map(({ details }) => details.role)).toEqual([
      'prefill',
      'encode',
    ])
  })

  it('of a schema that throws are reported among the others', () => {
    const explodes = testPolicy('x', { parameters: z.strictObject({}).transform(() => JSON.parse('{')) })
    const catalog = newCatalog().register(explodes)
    const instances = [
      { name: 'b', type: 'nothing' },
      { name: 'a', type: 'x' },
    ]
    const { errors } = caught(() => catalog.resolve({ instances })).details as { errors: { code: string }[] }
    expect(errors.map(({ code }) => code)).toEqual([
      'ROUTER_POLICY_TYPE_UNKNOWN',
      'ROUTER_POLICY_DEFINITION_INVALID',
    ])
  })
})

describe('resolveForRole', () => {
  const config: WorkerSelectionConfig = {
    prefill: 'good',
    decode: 'bad',
    encode: 'missing',
    instances: [
      { name: 'bad', type: 'not-loaded' },
      { name: 'good', type: 'weights', parameters: { weight: 3 } },
    ],
  }

  it('looks at what its role selects and nothing else', () => {
    expect(newCatalog().resolveForRole(config, 'prefill')).toMatchObject({
      name: 'good',
      parameters: { weight: 3 },
    })
    expect(newCatalog().resolveForRole(config, 'aggregated')).toMatchObject({
      definition: builtIn,
      name: 'default',
    })
    expect(codeOf(() => newCatalog().resolveForRole(config, 'decode'))).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(codeOf(() => newCatalog().resolveForRole(config, 'encode'))).toBe('ROUTER_POLICY_INSTANCE_UNKNOWN')
  })
})
