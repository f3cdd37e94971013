import semver from 'semver'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { caught, codeOf } from '../test/support/caught.js'
import { testClassifier, testKvHintPolicy, testPolicy } from '../test/support/policies.js'
import type { PluginConfig } from './catalog-config.js'
import { PolicyCatalog } from './catalog.js'

// Classifiers and KV-hint policies follow the rules of policies, each in a namespace of its own.

const kinds = [
  {
    kind: 'classifier',
    list: 'classifiers',
    key: 'requestClassifier',
    plugin: testClassifier,
    register: (catalog: PolicyCatalog, plugin: unknown) => catalog.registerClassifier(plugin as never),
    find: (catalog: PolicyCatalog, type: string, options = {}) => catalog.findClassifier(type, options),
    wrong: { window_ms: -1 },
    parsed: { window_ms: 5 },
  },
  {
    kind: 'KV-hint policy',
    list: 'kvHintPolicies',
    key: 'kvHintPolicy',
    plugin: testKvHintPolicy,
    register: (catalog: PolicyCatalog, plugin: unknown) => catalog.registerKvHintPolicy(plugin as never),
    find: (catalog: PolicyCatalog, type: string, options = {}) => catalog.findKvHintPolicy(type, options),
    wrong: { depth: 0 },
    parsed: { depth: 4 },
  },
] as const

describe.each(kinds)('a $kind', ({ kind, list, key, plugin, register, find, wrong, parsed }) => {
  const newCatalog = () => new PolicyCatalog({ selectVersion: semver.maxSatisfying })
  const resolve = (catalog: PolicyCatalog, config: PluginConfig) => catalog.resolve({ [key]: config })

  it('is found by type and alias, and among its own kind only', () => {
    const known = plugin('gate', { aliases: ['door'] })
    const catalog = register(newCatalog().register(testPolicy('other')), known)
    expect(find(catalog, 'gate')).toBe(known)
    expect(find(catalog, 'door')).toBe(known)
    const error = caught(() => find(catalog, 'other'))
    expect([error.code, error.details.available]).toEqual(['ROUTER_POLICY_TYPE_UNKNOWN', 'door, gate'])
    expect(error.message).toContain(`${kind} type 'other'`)
    expect(codeOf(() => catalog.find('gate'))).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(catalog.types()).toEqual(['other'])
  })

  it('is found by version range, and ambiguous without', () => {
    const catalog = newCatalog()
    for (const version of ['1.0.0', '1.2.0']) register(catalog, plugin('gate', { version }))
    expect(find(catalog, 'gate', { version: '^1.0.0' }).version).toBe('1.2.0')
    expect(codeOf(() => find(catalog, 'gate', { version: '^2.0.0' }))).toBe('ROUTER_POLICY_VERSION_UNKNOWN')
    expect(codeOf(() => find(catalog, 'gate'))).toBe('ROUTER_POLICY_VERSION_AMBIGUOUS')
  })

  it.each([
    ['version', 'one', 'semantic'],
    ['type', 7, 'string'],
    ['aliases', undefined, 'aliases'],
    ['create', undefined, 'create'],
    ['parameters', {}, 'zod'],
    ['parameters', z.object({}), 'z.strictObject'],
  ])('is refused when its %s is %j', (field, value, named) => {
    const odd = plugin('odd', { [field]: value })
    for (const add of [
      () => register(newCatalog(), odd),
      () => newCatalog().registerPackage('@acme/odd', { [list]: [odd] }),
    ]) {
      const error = caught(add)
      expect(error.code).toBe('ROUTER_POLICY_DEFINITION_INVALID')
      expect(error.message).toContain(named)
    }
  })

  it.each([undefined, null, 'gate', {}, testPolicy('gate')])('is refused when it is %s', (value) => {
    const error = caught(() => register(newCatalog(), value))
    expect(error.code).toBe('ROUTER_POLICY_DEFINITION_INVALID')
    expect(error.message).toContain('not made by define')
  })

  it('comes with a package, which names it', () => {
    const catalog = register(newCatalog(), plugin('ours'))
    catalog.registerPackage('@acme/p', { [list]: [plugin('gate')] })
    expect(catalog.hasPackage('@acme/p')).toBe(true)
    expect(find(catalog, 'gate', { package: '@acme/p' }).package).toBe('@acme/p')
    expect(codeOf(() => find(catalog, 'gate'))).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(codeOf(() => find(catalog, 'ours', { package: '@acme/p' }))).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(codeOf(() => catalog.registerPackage('@acme/q', { [list]: [plugin('ours')] }))).toBe(
      'ROUTER_POLICY_TYPE_DUPLICATE',
    )
  })

  it('that is faulty keeps out the whole package', () => {
    const good = { policies: [testPolicy('p')], classifiers: [testClassifier('c')], kvHintPolicies: [] }
    for (const bad of [plugin('default'), plugin('x', { contractVersion: 2 }), undefined as never]) {
      const catalog = newCatalog()
      expect(() => catalog.registerPackage('@acme/p', { ...good, [list]: [plugin('fine'), bad] })).toThrow()
      expect([catalog.isEmpty, catalog.hasPackage('@acme/p')]).toEqual([true, false])
      expect(catalog.types('@acme/p')).toEqual([])
      expect(codeOf(() => catalog.findClassifier('c', { package: '@acme/p' }))).toBe(
        'ROUTER_POLICY_TYPE_UNKNOWN',
      )
    }
  })

  it('is resolved with the output of its schema; absent, nothing is', () => {
    const known = plugin('gate')
    const catalog = register(newCatalog(), known)
    expect(resolve(catalog, { type: 'gate' })[key]).toEqual({ definition: known, parameters: parsed })
    const { requestClassifier, kvHintPolicy } = catalog.resolve({})
    expect([requestClassifier, kvHintPolicy]).toEqual([undefined, undefined])
  })

  it('is resolved in the package and range that the configuration names', () => {
    const versions = ['1.0.0', '1.5.0', '2.0.0'].map((version) => plugin('gate', { version }))
    const catalog = newCatalog().registerPackage('@acme/p', { [list]: versions })
    const resolved = resolve(catalog, { type: 'gate', package: '@acme/p', version: '1.x' })[key]
    expect(resolved!.definition.version).toBe('1.5.0')
  })

  it.each([
    [{ type: 'nobody' }, 'ROUTER_POLICY_TYPE_UNKNOWN'],
    [{ type: 'gate', package: '@acme/p' }, 'ROUTER_POLICY_TYPE_UNKNOWN'],
    [{ type: 'gate', version: '2.0.0' }, 'ROUTER_POLICY_VERSION_UNKNOWN'],
    [{ type: 'gate', parameters: wrong }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
    [{ type: 'gate', parameters: { unheard_of: 1 } }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
    [{ type: 'gate', parameters: null }, 'ROUTER_POLICY_PARAMETERS_INVALID'],
  ])('configured as %j is refused: %s', (config, code) => {
    const catalog = register(newCatalog(), plugin('gate'))
    expect(codeOf(() => resolve(catalog, config))).toBe(code)
  })

  it('names type, key and value of a wrong parameter, and no instance', () => {
    const catalog = register(newCatalog(), plugin('gate', { aliases: ['door'] }))
    const error = caught(() => resolve(catalog, { type: 'door', parameters: { ...wrong, more: 7 } }))
    expect(error.details).toMatchObject({ type: 'gate', instance: undefined })
    expect(error.details.issues).toHaveLength(2)
    expect(error.message).toContain('type gate: ')
    expect(error.message).toContain(`unknown parameter 'more', got 7, accepted: ${Object.keys(parsed)[0]}`)
    expect(error.message).not.toContain('undefined')
  })
})

describe('resolve', () => {
  const catalog = new PolicyCatalog()
    .withDefault(testPolicy('default'))
    .registerClassifier(testClassifier('gate'))
    .registerKvHintPolicy(testKvHintPolicy('more'))
  const wrong = { requestClassifier: { type: 'none' }, kvHintPolicy: { type: 'more', parameters: [] } }

  it('reports instances, then roles, then the classifier, then the hint policy', () => {
    const codes = [
      { ...wrong, decode: 'x', instances: [{ name: 'a b', type: 'x' }] },
      { ...wrong, decode: 'x' },
      wrong,
      { ...wrong, requestClassifier: undefined },
    ].map((config) => codeOf(() => catalog.resolve(config)))
    expect(codes).toEqual([
      'ROUTER_CONFIG_INVALID',
      'ROUTER_POLICY_INSTANCE_UNKNOWN',
      'ROUTER_POLICY_TYPE_UNKNOWN',
      'ROUTER_POLICY_PARAMETERS_INVALID',
    ])
  })

  it('for one role looks at neither', () => {
    expect(catalog.resolveForRole({ ...wrong, decode: 'default' }, 'decode').name).toBe('default')
  })

  it('of the classifier alone looks at nothing else', () => {
    expect(
      new PolicyCatalog().registerClassifier(testClassifier('gate')).resolveClassifier({ type: 'gate' }),
    ).toMatchObject({ parameters: { window_ms: 5 } })
  })
})

describe('hasPackage', () => {
  it('tells packages that were registered, whatever they bring', () => {
    const catalog = new PolicyCatalog().register(testPolicy('x', { package: '@acme/x' }))
    expect(catalog.hasPackage('@acme/x')).toBe(false)
    expect(catalog.registerPackage('@acme/x', {}).hasPackage('@acme/x')).toBe(true)
  })
})
