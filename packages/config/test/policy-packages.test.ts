import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defineClassifier } from '@router/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createPolicyCatalog, loadRouterPolicy } from '../src/index.js'
import { catalog, plain, refusal } from './support.js'

// Packages as another project installs them: plain JavaScript, which knows the contract by its markers only, as a second
// installed copy of the SDK would make them.

const folder = mkdtempSync(join(tmpdir(), 'policy-packages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const policy = (fields: string) => `{
  [Symbol.for('@router/sdk.policy')]: true, contractVersion: 1, type: 'theirs', aliases: [], package: undefined, version: '1.2.0',
  stability: 'stable', roles: ['decode'], affinity: 'exclusive', occupancyAdmission: 'always', runtime: [], inputs: () => ['load'],
  parameters: z.strictObject({ any: z.number().optional() }), create: () => ({ picker: { name: 'first', pick: () => 0 } }),
  ${fields}
}`

function install(name: string, code: string, manifest: object = { exports: { import: './index.js' } }): void {
  const path = join(folder, 'node_modules', name)
  mkdirSync(path, { recursive: true })
  writeFileSync(
    join(path, 'package.json'),
    JSON.stringify({ name, version: '1.0.0', type: 'module', ...manifest }),
  )
  writeFileSync(join(path, 'index.js'), `import { z } from 'zod'\n${code}`)
}

function write(file: string, text: string): string {
  const path = join(folder, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Loads a file with one instance per line, in a folder below the one with `node_modules`. */
function load(...instances: string[]) {
  const path = write(
    'fleet/policy.yaml',
    `worker_selection:\n  instances:\n${instances.map((line) => `    - {${line}}\n`).join('')}`,
  )
  return loadRouterPolicy({ catalog: catalog(), path })
}
const place = (index: number, key: string) => ['worker_selection', 'instances', index, key]

mkdirSync(join(folder, 'node_modules'))
symlinkSync(
  dirname(createRequire(import.meta.url).resolve('zod/package.json')),
  join(folder, 'node_modules', 'zod'),
)
install(
  '@acme/policies',
  `export const policies = [${policy("aliases: ['mine']")}]\nglobalThis.acmeImports = (globalThis.acmeImports ?? 0) + 1\n`,
)
install(
  '@acme/same-type',
  `export const policies = [${policy("package: '@acme/real-name', version: '3.0.0'")}]\n`,
)
install(
  'versions',
  `export const policies = ['1.0.0', '1.4.0', '2.0.0'].map((version) => (${policy('version')}))\n`,
)
install('throws', `throw new Error('no GPU')\n`)
install('needs-another', `import 'not-installed'\n`)
install('empty', `export const policy = 1\n`)
install('not-a-list', `export const policies = ${policy('')}\n`)
install('unmarked', `export const policies = [{ type: 'x' }]\n`)
install('half-marked', `export const policies = [${policy('')}, { type: 'x' }]\n`)
install('old-contract', `export const policies = [${policy('contractVersion: 2')}]\n`)
install('shipped-type', `export const policies = [${policy("type: 'weighted'")}]\n`)
install('shipped-alias', `export const policies = [${policy("aliases: ['weighted-alias']")}]\n`)
install('reserved-type', `export const policies = [${policy("aliases: ['default']")}]\n`)
install('empty-type', `export const policies = [${policy("type: ''")}]\n`)
install('twice', `export const policies = [${policy('')}, ${policy('')}]\n`)
install('alpha', `export const policies = [${policy("stability: 'alpha'")}]\n`)
install('closed', `export const policies = []\n`, { exports: {} })
const classifier = (fields = '') => `{
  [Symbol.for('@router/sdk.classifier')]: true, contractVersion: 1, type: 'gate', aliases: ['door'], package: undefined, version: '1.0.0',
  parameters: z.strictObject({ window_ms: z.number().min(0).default(5) }), create: () => ({}), ${fields}
}`
const hints = `{
  [Symbol.for('@router/sdk.kv-hint-policy')]: true, contractVersion: 1, type: 'h', aliases: [], package: undefined, version: '1.0.0',
  parameters: z.strictObject({}), create: () => ({ hints: async () => [] })
}`
install(
  'classifiers-only',
  `export const classifiers = [${classifier()}]\nexport const kvHintPolicies = [${hints}]\n`,
)
install('hints-only', `export const kvHintPolicies = [${hints}]\n`)
install(
  'two-versions',
  `export const classifiers = ['1.0.0', '1.1.0'].map((version) => (${classifier('version')}))\n`,
)
install('old-classifier', `export const classifiers = [${classifier('contractVersion: 0')}]\n`)
install('half-classifier', `export const classifiers = [${classifier()}, 5]\n`)
install('loose-classifier', `export const classifiers = [${classifier('parameters: z.object({})')}]\n`)
install(
  'half-package',
  `export const policies = [${policy('')}]\nexport const classifiers = [${classifier("type: 'default'")}]\n`,
)

describe('a package named by an instance', () => {
  test('is found from the folder of the file, imported once, and looked up by type and alias', async () => {
    const { bundle, packages } = await load(
      'name: a, type: theirs, package: "@acme/policies", parameters: {any: 1}',
      'name: b, type: mine, package: "@acme/policies"',
    )
    expect(
      bundle.instances.map(({ name, definition }) => [name, definition.type, definition.package]),
    ).toEqual([
      ['a', 'theirs', '@acme/policies'],
      ['b', 'theirs', '@acme/policies'],
    ])
    expect(bundle.instances[0]!.parameters).toEqual({ any: 1 })
    expect(packages.map(({ specifier }) => specifier)).toEqual(['@acme/policies'])
    expect((globalThis as { acmeImports?: number }).acmeImports).toBe(1)
  })

  test('may have the same type as another one, and its own name', async () => {
    const { bundle } = await load(
      'name: a, type: theirs, package: "@acme/policies"',
      'name: b, type: theirs, package: "@acme/same-type"',
    )
    expect(bundle.instances.map(({ definition }) => [definition.package, definition.version])).toEqual([
      ['@acme/policies', '1.2.0'],
      ['@acme/real-name', '3.0.0'],
    ])
  })

  test('may be a file beside the configuration', async () => {
    write('fleet/own-policy.mjs', `import { z } from 'zod'\nexport const policies = [${policy('')}]`)
    const { bundle } = await load('name: a, type: theirs, package: ./own-policy.mjs')
    expect(bundle.instances[0]!.definition.package).toBe('./own-policy.mjs')
  })

  test('is not scanned for: without the key only shipped types exist', async () => {
    const { code, issues } = await refusal(() => load('name: a, type: theirs'))
    expect(code).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(issues).toMatchObject([
      { path: place(0, 'type'), value: 'theirs', accepted: 'plain, weighted, weighted-alias' },
    ])
  })

  test('hides the shipped types', async () => {
    const { issues } = await refusal(() => load('name: a, type: weighted, package: "@acme/policies"'))
    expect(issues).toMatchObject([{ code: 'ROUTER_POLICY_TYPE_UNKNOWN', accepted: 'mine, theirs' }])
  })

  test('can be loaded again into the same catalog', async () => {
    const path = write(
      'fleet/again.yaml',
      'worker_selection: {instances: [{name: a, type: theirs, package: "@acme/policies"}]}',
    )
    const shared = catalog()
    await loadRouterPolicy({ catalog: shared, path })
    expect((await loadRouterPolicy({ catalog: shared, path })).bundle.instances).toHaveLength(1)
  })
})

describe('a package is refused', () => {
  test.each([
    ['not-there', 'ROUTER_POLICY_PACKAGE_NOT_FOUND'],
    ['./not-there.mjs', 'ROUTER_POLICY_PACKAGE_NOT_FOUND'],
    ['closed', 'ROUTER_POLICY_PACKAGE_NOT_FOUND'],
    ['node:fs', 'ROUTER_POLICY_PACKAGE_NOT_FOUND'],
    ["'data:text/javascript,export const policies = []'", 'ROUTER_POLICY_PACKAGE_NOT_FOUND'],
    ['throws', 'ROUTER_POLICY_PACKAGE_LOAD_FAILED'],
    ['needs-another', 'ROUTER_POLICY_PACKAGE_LOAD_FAILED'],
    ['empty', 'ROUTER_POLICY_PACKAGE_EMPTY'],
    ['not-a-list', 'ROUTER_POLICY_PACKAGE_EMPTY'],
    ['unmarked', 'ROUTER_POLICY_PACKAGE_EMPTY'],
    ['half-marked', 'ROUTER_POLICY_DEFINITION_INVALID'],
    ['old-contract', 'ROUTER_CONTRACT_VERSION_MISMATCH'],
    ['old-classifier', 'ROUTER_CONTRACT_VERSION_MISMATCH'],
    ['half-classifier', 'ROUTER_POLICY_DEFINITION_INVALID'],
    ['loose-classifier', 'ROUTER_POLICY_DEFINITION_INVALID'],
    ['half-package', 'ROUTER_POLICY_TYPE_RESERVED'],
    ['shipped-type', 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['shipped-alias', 'ROUTER_POLICY_TYPE_DUPLICATE'],
    ['reserved-type', 'ROUTER_POLICY_TYPE_RESERVED'],
    ['empty-type', 'ROUTER_POLICY_TYPE_EMPTY'],
    ['twice', 'ROUTER_POLICY_TYPE_DUPLICATE'],
  ])('%s: %s', async (specifier, wanted) => {
    const { code, issues, cause } = await refusal(() =>
      load('name: z, type: plain', `name: a, type: theirs, package: ${specifier}`),
    )
    expect(code).toBe(wanted)
    expect(issues).toMatchObject([{ code: wanted, path: place(1, 'package'), line: 4 }])
    expect(issues[0]!.file).toContain('policy.yaml')
    expect(cause).toBeInstanceOf(Error)
  })

  test('with the folder that was searched, or the cause', async () => {
    const missing = await refusal(() => load('name: a, type: x, package: not-there'))
    expect(missing.message).toContain(join(folder, 'fleet'))
    const failing = await refusal(() => load('name: a, type: x, package: throws'))
    expect(failing.message).toContain('no GPU')
  })

  test.each([
    ['shipped-type', true],
    ['shipped-alias', true],
    ['twice', false],
  ])('%s for a duplicate: says whether it is of the host', async (specifier, isOfHost) => {
    const { message } = await refusal(() => load(`name: a, type: theirs, package: ${specifier}`))
    expect(message.includes('the host already provides it: leave `package` out')).toBe(isOfHost)
  })

  test('together with every other faulty one, before any type is looked up', async () => {
    const { issues } = await refusal(() =>
      load('name: a, type: x, package: empty', 'name: b, type: y', 'name: c, type: z, package: throws'),
    )
    expect(issues.map(({ code }) => code)).toEqual([
      'ROUTER_POLICY_PACKAGE_EMPTY',
      'ROUTER_POLICY_PACKAGE_LOAD_FAILED',
    ])
  })
})

describe('versions', () => {
  test.each([
    ['^1.0.0', '1.4.0'],
    ['1.0.0', '1.0.0'],
    ["'>=1.1'", '2.0.0'],
    ['1.x || 2.x', '2.0.0'],
    ["'*'", '2.0.0'],
    ['1.0', '1.0.0'],
  ])('%s takes %s', async (range, version) => {
    const { bundle } = await load(`name: a, type: theirs, package: versions, version: ${range}`)
    expect(bundle.instances[0]!.definition.version).toBe(version)
  })

  test('two instances may pin different ones', async () => {
    const { bundle } = await load(
      'name: a, type: theirs, package: versions, version: ^1.0.0',
      'name: b, type: theirs, package: versions, version: ^2.0.0',
    )
    expect(bundle.instances.map(({ definition }) => definition.version)).toEqual(['1.4.0', '2.0.0'])
  })

  test('none in the range, or several and no range', async () => {
    const { issues } = await refusal(() =>
      load(
        'name: a, type: theirs, package: versions, version: ^3.0.0',
        'name: b, type: theirs, package: versions',
      ),
    )
    expect(issues).toMatchObject([
      {
        code: 'ROUTER_POLICY_VERSION_UNKNOWN',
        path: place(0, 'version'),
        value: '^3.0.0',
        accepted: '1.0.0, 1.4.0, 2.0.0',
      },
      { code: 'ROUTER_POLICY_VERSION_AMBIGUOUS', path: place(1, 'type'), line: 4 },
    ])
  })

  test('alpha only when it is allowed', async () => {
    const line = 'instances: [{name: a, type: theirs, package: alpha}]'
    const path = write('fleet/alpha.yaml', `worker_selection: {${line}}`)
    const { code, issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), path }))
    expect(code).toBe('ROUTER_POLICY_ALPHA')
    expect(issues).toMatchObject([
      { path: place(0, 'type'), accepted: 'allow_alpha: true in worker_selection' },
    ])
    write('fleet/alpha.yaml', `worker_selection: {allow_alpha: true, ${line}}`)
    expect((await loadRouterPolicy({ catalog: catalog(), path })).bundle.instances).toHaveLength(1)
  })
})

describe('classifiers', () => {
  const path = join(folder, 'fleet', 'classifier.yaml')
  const loadClassifier = (fields: string, { with_ = catalog(), supportsClassifier = true, more = '' } = {}) =>
    loadRouterPolicy({
      catalog: with_,
      path,
      text: `request_classifier: {${fields}}\n${more}`,
      supportsClassifier,
    })

  test('are refused by a host that runs none', async () => {
    const { code, issues } = await refusal(() =>
      loadClassifier('type: gate, package: classifiers-only', { supportsClassifier: false }),
    )
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([{ path: ['request_classifier'], line: 1, column: 1 }])
  })

  test('are resolved for a host that does, with parameters by their schema', async () => {
    const { bundle, policyFile, packages, notYetActive } = await loadClassifier(
      'type: door, package: classifiers-only, parameters: {window_ms: 7}',
    )
    expect(policyFile!.requestClassifier).toMatchObject({ type: 'door', package: 'classifiers-only' })
    expect(bundle.requestClassifier).toMatchObject({
      definition: { type: 'gate', package: 'classifiers-only' },
      parameters: { window_ms: 7 },
    })
    expect(packages.map(({ specifier }) => specifier)).toEqual(['classifiers-only'])
    expect(notYetActive.map((setting) => setting.path)).toEqual([['request_classifier']])
  })

  test('without parameters get the defaults; without a classifier there is none', async () => {
    const { bundle } = await loadClassifier('type: gate, package: classifiers-only')
    expect(bundle.requestClassifier!.parameters).toEqual({ window_ms: 5 })
    expect((await load('name: a, type: plain')).bundle.requestClassifier).toBeUndefined()
  })

  test('come from the global namespace without a package, and never from a policy', async () => {
    const with_ = catalog().registerClassifier(
      defineClassifier({ type: 'own', version: '1.0.0', parameters: z.strictObject({}), create: () => ({}) }),
    )
    expect((await loadClassifier('type: own', { with_ })).bundle.requestClassifier!.definition.type).toBe(
      'own',
    )
    const { code, issues } = await refusal(() => loadClassifier('type: weighted', { with_ }))
    expect(code).toBe('ROUTER_POLICY_TYPE_UNKNOWN')
    expect(issues).toMatchObject([{ path: ['request_classifier', 'type'], line: 1, accepted: 'own' }])
  })

  test('bring hint policies of their package into the catalog, once', async () => {
    const with_ = catalog()
    for (let round = 0; round < 2; round++) {
      await loadClassifier('type: gate, package: classifiers-only', { with_ })
    }
    expect(with_.findKvHintPolicy('h', { package: 'classifiers-only' }).package).toBe('classifiers-only')
  })

  test.each([
    ['type: gaet, package: classifiers-only', 'TYPE_UNKNOWN', ['type'], 'door, gate', 'gate'],
    ['type: none, package: hints-only', 'TYPE_UNKNOWN', ['type'], '<none>', undefined],
    [
      'type: gate, package: two-versions',
      'VERSION_AMBIGUOUS',
      ['type'],
      'a package with one version of the type',
      undefined,
    ],
    [
      'type: gate, package: classifiers-only, parameters: {window_ms: -1}',
      'PARAMETERS_INVALID',
      ['parameters', 'window_ms'],
      'a number >= 0',
      undefined,
    ],
    [
      'type: gate, package: classifiers-only, parameters: {window: 1}',
      'PARAMETERS_INVALID',
      ['parameters', 'window'],
      'window_ms',
      'window_ms',
    ],
  ] as const)('%s: %s', async (fields, wanted, at, accepted, suggestion) => {
    const { code, issues } = await refusal(() => loadClassifier(fields))
    expect(code).toBe(`ROUTER_POLICY_${wanted}`)
    expect(issues).toHaveLength(1)
    expect(issues[0]).toMatchObject({ code, path: ['request_classifier', ...at], line: 1, accepted })
    expect(issues[0]!.suggestion).toBe(suggestion)
  })

  test('are looked at after instances and roles', async () => {
    const ofInstances = await refusal(() =>
      loadClassifier('type: nobody', { more: 'worker_selection: {instances: [{name: a, type: x}]}' }),
    )
    expect(ofInstances.issues.map((issue) => issue.path)).toEqual([place(0, 'type')])
    const { issues } = await refusal(() =>
      loadClassifier('type: nobody', {
        with_: createPolicyCatalog().register(plain()),
        more: 'worker_selection: {decode: a, instances: [{name: a, type: plain}]}',
      }),
    )
    expect(issues.map((issue) => issue.code)).toEqual(['ROUTER_POLICY_DEFAULT_MISSING'])
  })
})

test('relative paths start from the folder that the host names', async () => {
  write(
    'elsewhere/policy.yaml',
    'worker_selection: {instances: [{name: a, type: theirs, package: "@acme/policies"}]}',
  )
  const home = join(folder, 'elsewhere')
  const { policyFile, locate } = await loadRouterPolicy({
    catalog: catalog(),
    path: 'policy.yaml',
    folder: home,
  })
  expect(policyFile?.file).toBe('policy.yaml')
  expect(locate(['worker_selection', 'instances', 0])).toEqual({ line: 1, column: 32 })
  const environment = { ROUTER_POLICY_CONFIG: 'missing.yaml' }
  const { message } = await refusal(() => loadRouterPolicy({ catalog: catalog(), environment, folder: home }))
  expect(message).toContain(`${join(home, 'missing.yaml')}: cannot read the file`)
})
