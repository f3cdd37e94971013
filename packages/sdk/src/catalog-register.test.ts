import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { caught, codeOf } from '../test/support/caught.js'
import { testClassifier, testKvHintPolicy, testPolicy } from '../test/support/policies.js'
import { secondCopy } from '../test/support/second-copy.js'
import { PolicyCatalog } from './catalog.js'
import { CatalogError } from './errors.js'
describe('names', () => {
  it.each([
    ['', 'ROUTER_POLICY_TYPE_EMPTY'],
    ['default', 'ROUTER_POLICY_TYPE_RESERVED'],
    ['two words', 'ROUTER_POLICY_TYPE_INVALID'],
    ['@acme/policy', 'ROUTER_POLICY_TYPE_INVALID'],
    ['p\u00f6licy', 'ROUTER_POLICY_TYPE_INVALID'],
    ['line\n', 'ROUTER_POLICY_TYPE_INVALID'],
  ])('refuse the type or alias %j of any kind of plugin: %s', (name, code) => {
    const catalog = new PolicyCatalog()
    expect(codeOf(() => catalog.register(testPolicy(name)))).toBe(code)
    expect(codeOf(() => catalog.register(testPolicy('fine', { aliases: ['also-fine', name] })))).toBe(code)
    expect(codeOf(() => catalog.registerClassifier(testClassifier(name)))).toBe(code)
    expect(codeOf(() => catalog.registerKvHintPolicy(testKvHintPolicy(name)))).toBe(code)
    expect(catalog.isEmpty).toBe(true)
  })

  it('accept letters, digits, underscore, dot and hyphen, and are case-sensitive', () => {
    const catalog = new PolicyCatalog().register(testPolicy('A-z_0.9')).register(testPolicy('Default'))
    expect(catalog.register(testPolicy('a-z_0.9')).types()).toEqual(['A-z_0.9', 'Default', 'a-z_0.9'])
  })
})

describe('duplicates', () => {
  const catalog = new PolicyCatalog().register(
    testPolicy('first', { aliases: ['uno', 'one'], package: '@acme/first' }),
  )

  it.each([
    ['the same type and version', testPolicy('first', { package: '@acme/first' })],
    ['the type, from another package', testPolicy('first', { package: '@other/first', version: '2.0.0' })],
    ['the type, from no package', testPolicy('first', { version: '2.0.0' })],
    ['an alias as type', testPolicy('one', { package: '@acme/first', version: '2.0.0' })],
    ['an alias as alias', testPolicy('second', { aliases: ['uno'], package: '@acme/first' })],
    ['the type as alias', testPolicy('second', { aliases: ['first'], package: '@acme/first' })],
  ])('are refused: %s', (_what, policy) => {
    const error = caught(() => catalog.register(policy))
    expect(error.code).toBe('ROUTER_POLICY_TYPE_DUPLICATE')
    expect(CatalogError.isInstance(error)).toBe(true)
    expect(error.details).toMatchObject({ type: policy.type, package: policy.package })
    expect(catalog.types()).toEqual(['first', 'one', 'uno'])
  })

  it('never override: the first registration stays', () => {
    const policy = testPolicy('kept')
    const own = new PolicyCatalog().register(policy)
    expect(codeOf(() => own.register(testPolicy('kept')))).toBe('ROUTER_POLICY_TYPE_DUPLICATE')
    expect(own.find('kept')).toBe(policy)
  })

  it('are other versions of one type of one package no: they stand side by side', () => {
    const own = new PolicyCatalog()
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) {
      own.register(testPolicy('first', { aliases: ['uno'], package: '@acme/first', version }))
    }
    expect(own.types()).toEqual(['first', 'uno'])
    expect(own.find('uno', { version: '1.1.0' }).version).toBe('1.1.0')
  })

  it('do not exist between kinds: each has a namespace of its own', () => {
    const own = new PolicyCatalog().register(testPolicy('shared'))
    own.registerClassifier(testClassifier('shared')).registerKvHintPolicy(testKvHintPolicy('shared'))
    expect(codeOf(() => own.registerClassifier(testClassifier('shared')))).toBe(
      'ROUTER_POLICY_TYPE_DUPLICATE',
    )
    expect(codeOf(() => own.registerKvHintPolicy(testKvHintPolicy('shared')))).toBe(
      'ROUTER_POLICY_TYPE_DUPLICATE',
    )
  })
})

describe('definitions', () => {
  it.each([
    ['version', '1.0', 'semantic'],
    ['version', undefined, 'semantic'],
    ['version', '1.0.0 beta', 'semantic'],
    ['type', 7, 'string'],
    ['aliases', 'one', 'aliases'],
    ['aliases', [1], 'aliases'],
    ['stability', 'experimental', 'alpha, beta or stable'],
    ['affinity', undefined, 'exclusive or advisory'],
    ['occupancyAdmission', 'never', 'always or unless-full-hit'],
    ['roles', [], 'aggregated, prefill, decode, encode'],
    ['roles', undefined, 'aggregated, prefill, decode, encode'],
    ['roles', ['aggregated', 'router'], "'router'"],
    ['runtime', 'weight', 'runtime'],
    ['runtime', ['weight'], "'weight'"],
    ['create', undefined, 'create'],
    ['parameters', undefined, 'zod'],
    ['parameters', { safeParse: () => ({ success: true }) }, 'zod'],
    ['parameters', z.object({ weight: z.number() }), 'z.strictObject'],
    ['parameters', z.strictObject({ nested: z.looseObject({}).optional() }), 'nested must be'],
  ])('are refused when %s is %s', (field, value, named) => {
    const policy = testPolicy('odd', { [field]: value })
    for (const register of [
      () => new PolicyCatalog().register(policy),
      () => new PolicyCatalog().withDefault(policy),
      () => new PolicyCatalog().registerPackage('@acme/odd', { policies: [policy] }),
    ]) {
      const error = caught(register)
      expect(error.code).toBe('ROUTER_POLICY_DEFINITION_INVALID')
      expect(error.message).toContain(named)
    }
  })

  it('may name nested parameters and keys of maps as changeable, but none that cannot be', () => {
    const parameters = z.strictObject({
      load: z.strictObject({ scale: z.number() }).optional(),
      weights: z.record(z.string(), z.number()),
    })
    const changing = (runtime: string[]) => testPolicy('x', { parameters, runtime })
    new PolicyCatalog().register(changing(['load', 'load.scale', 'weights', 'weights.gold']))
    for (const name of ['', 'scale', 'load.size']) {
      const error = caught(() => new PolicyCatalog().register(changing([name])))
      expect(error.code).toBe('ROUTER_POLICY_DEFINITION_INVALID')
      expect(error.message).toContain(`'${name}'`)
    }
  })

  it.each([undefined, null, 'policy', {}, { type: 'x' }, [], () => 0])(
    'are refused when they are %s',
    (value) => {
      expect(codeOf(() => new PolicyCatalog().register(value as never))).toBe(
        'ROUTER_POLICY_DEFINITION_INVALID',
      )
    },
  )

  it.each(['1.0.0', '0.1.0-beta.1', '10.20.30+build.5', '1.0.0-rc.1+sha'])(
    'may have version %s',
    (version) => {
      expect(new PolicyCatalog().register(testPolicy('x', { version })).find('x').version).toBe(version)
    },
  )

  it('of a second copy of the SDK are as good as our own', async () => {
    const copy = await secondCopy()
    const parameters = z.strictObject({ weight: z.number() })
    const foreign = copy.definePolicy({
      type: 'foreign',
      version: '1.0.0',
      stability: 'stable',
      roles: ['decode'],
      affinity: 'advisory',
      parameters,
      inputs: ['load'],
      create: (_parameters, scope) => ({ picker: copy.minimumCostPicker(scope.random() as never) }),
    })
    const catalog = new PolicyCatalog().register(foreign as never)
    expect(catalog.find('foreign')).toBe(foreign)
  })
})

describe('contract versions', () => {
  it('other than ours are refused for every kind, naming both', () => {
    const newer = testPolicy('newer', { contractVersion: 2, package: '@acme/newer', roles: 'not looked at' })
    for (const register of [
      () => new PolicyCatalog().register(newer),
      () => new PolicyCatalog().withDefault(newer),
      () => new PolicyCatalog().registerPackage('@acme/newer', { policies: [newer] }),
      () => new PolicyCatalog().registerClassifier(testClassifier('newer', { contractVersion: 2 })),
      () => new PolicyCatalog().registerKvHintPolicy(testKvHintPolicy('newer', { contractVersion: 2 })),
    ]) {
      const error = caught(register)
      expect(error.code).toBe('ROUTER_CONTRACT_VERSION_MISMATCH')
      expect(error.details).toMatchObject({ type: 'newer', found: 2, expected: 1 })
      expect(error.message).toMatch(/version 2.*speaks 1/u)
    }
  })

  it('that are missing are refused too', () => {
    const policy = testPolicy('old', { contractVersion: undefined })
    expect(codeOf(() => new PolicyCatalog().register(policy))).toBe('ROUTER_CONTRACT_VERSION_MISMATCH')
  })
})

describe('isEmpty', () => {
  it('counts every kind and packages, but not the default', () => {
    expect(new PolicyCatalog().isEmpty).toBe(true)
    expect(new PolicyCatalog().withDefault(testPolicy('x')).isEmpty).toBe(true)
    expect(new PolicyCatalog().registerPackage('@acme/none', { policies: [] }).isEmpty).toBe(true)
    expect(new PolicyCatalog().register(testPolicy('x')).isEmpty).toBe(false)
    expect(new PolicyCatalog().registerPackage('@acme/x', { policies: [testPolicy('x')] }).isEmpty).toBe(
      false,
    )
    expect(new PolicyCatalog().registerClassifier(testClassifier('x')).isEmpty).toBe(false)
    expect(new PolicyCatalog().registerKvHintPolicy(testKvHintPolicy('x')).isEmpty).toBe(false)
  })
})
