import semver from 'semver'
import { describe, expect, it } from 'vitest'
import { caught, codeOf } from '../test/support/caught.js'
import { testPolicy } from '../test/support/policies.js'
import { PolicyCatalog } from './catalog.js'

describe('packages', () => {
  const ours = testPolicy('sticky', { package: '@acme/policies' })
  const theirs = testPolicy('sticky', { package: '@other/policies', aliases: ['glue'] })
  const catalog = new PolicyCatalog()
    .register(testPolicy('shipped', { aliases: ['built'] }))
    .registerPackage('@acme/policies', { policies: [ours] })
    .registerPackage('@other/policies', { policies: [theirs] })

  it('may bring equal types: each is found in its own package alone', () => {
    expect(catalog.find('sticky', { package: '@acme/policies' })).toBe(ours)
    expect(catalog.find('glue', { package: '@other/policies' })).toBe(theirs)
    expect(codeOf(() => catalog.find('sticky'))).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(codeOf(() => catalog.find('glue', { package: '@acme/policies' }))).toBe(
      'ROUTER_POLICY_TYPE_UNKNOWN',
    )
    expect(codeOf(() => catalog.find('shipped', { package: '@acme/policies' }))).toBe(
      'ROUTER_POLICY_TYPE_UNKNOWN',
    )
  })

  it('list their own names', () => {
    expect(catalog.types()).toEqual(['built', 'shipped'])
    expect(catalog.types('@other/policies')).toEqual(['glue', 'sticky'])
    expect(catalog.types('@acme/unknown')).toEqual([])
  })

  it.each([
    ['shipped', {}, 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['built', {}, 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['new', { aliases: ['shipped'] }, 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['new', { aliases: ['built'] }, 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['default', {}, 'ROUTER_POLICY_TYPE_RESERVED'],
    ['new', { aliases: ['default'] }, 'ROUTER_POLICY_TYPE_RESERVED'],
    ['', {}, 'ROUTER_POLICY_TYPE_EMPTY'],
    ['a b', {}, 'ROUTER_POLICY_TYPE_INVALID'],
  ])('may not bring type %j with %j: %s', (type, overrides, code) => {
    expect(
      codeOf(() => catalog.registerPackage('@acme/more', { policies: [testPolicy(type, overrides)] })),
    ).toBe(code)
  })

  it('keep their names: a later global registration cannot take one', () => {
    expect(codeOf(() => catalog.register(testPolicy('glue')))).toBe('ROUTER_POLICY_TYPE_DUPLICATE')
  })

  it.each([
    ['a reserved type', testPolicy('default')],
    ['a type that exists', testPolicy('shipped')],
    ['a type of the same package', testPolicy('good', { package: '@acme/half' })],
    ['a broken definition', testPolicy('bad', { version: 'one' })],
    ['another contract version', testPolicy('bad', { contractVersion: 2 })],
    ['no policy at all', 'bad' as never],
  ])('register all of their policies or none: %s', (_what, bad) => {
    const own = new PolicyCatalog().register(testPolicy('shipped'))
    const good = testPolicy('good', { package: '@acme/half' })
    expect(() => own.registerPackage('@acme/half', { policies: [good, bad] })).toThrow()
    expect(own.types('@acme/half')).toEqual([])
    expect(
      own.registerPackage('@acme/half', { policies: [good] }).find('good', { package: '@acme/half' }),
    ).toBe(good)
  })

  it('keep what they had when a later addition fails', () => {
    const own = new PolicyCatalog().registerPackage('@acme/p', { policies: [testPolicy('one')] })
    expect(() =>
      own.registerPackage('@acme/p', { policies: [testPolicy('two'), testPolicy('one')] }),
    ).toThrow()
    expect(own.types('@acme/p')).toEqual(['one'])
  })

  it('name the policies that do not name their package', () => {
    const own = new PolicyCatalog().registerPackage('@acme/p', { policies: [testPolicy('anonymous')] })
    const found = own.find('anonymous', { package: '@acme/p' })
    expect(found.package).toBe('@acme/p')
    expect(codeOf(() => own.registerPackage('@acme/q', { policies: [found, found] }))).toBe(
      'ROUTER_POLICY_TYPE_DUPLICATE',
    )
  })
})

describe('unknown types', () => {
  it('are reported with the sorted names that exist', () => {
    const catalog = new PolicyCatalog()
      .register(testPolicy('b', { aliases: ['a'] }))
      .register(testPolicy('B'))
    const error = caught(() => catalog.find('c'))
    expect(error.code).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(error.details).toMatchObject({ name: 'c', available: 'B, a, b' })
    expect(error.message).toContain("'c'")
    expect(error.message).toContain('B, a, b')
  })

  it('are reported with <none> when nothing exists', () => {
    expect(caught(() => new PolicyCatalog().find('c')).details.available).toBe('<none>')
    const error = caught(() =>
      new PolicyCatalog().register(testPolicy('x')).find('x', { package: '@acme/p' }),
    )
    expect(error.details).toMatchObject({ available: '<none>', package: '@acme/p' })
  })

  it('include default, with the name to use instead', () => {
    const catalog = new PolicyCatalog().withDefault(testPolicy('default'))
    const error = caught(() => catalog.find('default'))
    expect(error.code).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(error.message).toContain('dynamo-default-cost-fn')
  })
})

describe('versions', () => {
  const versions = ['1.0.0', '1.4.2', '1.10.0', '2.0.0-rc.1', '2.0.0']
  const catalog = new PolicyCatalog({ selectVersion: semver.maxSatisfying })
  for (const version of versions) catalog.register(testPolicy('x', { version, aliases: ['y'] }))

  it.each([
    ['^1.0.0', '1.10.0'],
    ['>=1.2 <2', '1.10.0'],
    ['~1.4.0', '1.4.2'],
    ['1.0.0', '1.0.0'],
    ['*', '2.0.0'],
    ['2.0.0-rc.1', '2.0.0-rc.1'],
  ])('in range %s give %s, the highest match', (range, version) => {
    expect(catalog.find('x', { version: range }).version).toBe(version)
    expect(catalog.find('y', { version: range }).version).toBe(version)
  })

  it.each(['^3.0.0', '<1', 'not a range'])(
    'out of range %s are reported with those that are loaded',
    (range) => {
      const error = caught(() => catalog.find('x', { version: range }))
      expect(error.code).toBe('ROUTER_POLICY_VERSION_UNKNOWN')
      expect(error.details).toMatchObject({ type: 'x', range, versions })
    },
  )

  it('are ambiguous without a range: install order must not decide', () => {
    const error = caught(() => catalog.find('x'))
    expect(error.code).toBe('ROUTER_POLICY_VERSION_AMBIGUOUS')
    expect(error.details).toMatchObject({ type: 'x', versions })
  })

  it('are checked against the range even when only one is loaded', () => {
    const single = new PolicyCatalog({ selectVersion: semver.maxSatisfying }).register(testPolicy('x'))
    expect(single.find('x').version).toBe('1.0.0')
    expect(codeOf(() => single.find('x', { version: '^2.0.0' }))).toBe('ROUTER_POLICY_VERSION_UNKNOWN')
  })

  it('of one package under two specifiers do not meet', () => {
    const own = new PolicyCatalog()
      .registerPackage('acme-v1', { policies: [testPolicy('x', { package: '@acme/x', version: '1.0.0' })] })
      .registerPackage('acme-v2', { policies: [testPolicy('x', { package: '@acme/x', version: '2.0.0' })] })
    expect(own.find('x', { package: 'acme-v1' }).version).toBe('1.0.0')
    expect(own.find('x', { package: 'acme-v2' }).version).toBe('2.0.0')
  })

  it('are matched exactly without a selector', () => {
    const own = new PolicyCatalog().register(testPolicy('x'))
    expect(own.find('x', { version: '1.0.0' }).version).toBe('1.0.0')
    expect(codeOf(() => own.find('x', { version: '^1.0.0' }))).toBe('ROUTER_POLICY_VERSION_UNKNOWN')
  })
})
