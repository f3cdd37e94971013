import { describe, expect, test } from 'vitest'
import { checkLayering } from '../src/checks/layering.js'
import { type Files, temporaryFolder } from './support/files.js'

interface Package {
  readonly dependencies?: readonly string[]
  readonly devDependencies?: readonly string[]
  readonly build?: readonly string[]
  readonly files?: Files
}

/** A workspace of packages by folder; all of them are built. */
function problemsOf(packages: Record<string, Package>): string[] {
  const files: Files = {}
  for (const [folder, { dependencies = [], devDependencies = [], build, files: own = {} }] of Object.entries(
    packages,
  )) {
    const ranges = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '*']))
    files[`${folder}/package.json`] = JSON.stringify({
      name: `@router/${folder.split('/').at(-1)}`,
      scripts: { build: 'tsup' },
      dependencies: ranges(dependencies),
      devDependencies: ranges(devDependencies),
    })
    const dependsOn =
      build ?? dependencies.filter((name) => name.startsWith('@router/')).map((name) => `${name}#build`)
    files[`${folder}/turbo.json`] = JSON.stringify({ extends: ['//'], tasks: { build: { dependsOn } } })
    for (const [file, text] of Object.entries(own)) files[`${folder}/${file}`] = text
  }
  return checkLayering(temporaryFolder(files))
}

/** A package of `folder` whose only source imports `specifier`, properly declared. */
function importing(folder: string, specifier: string): Record<string, Package> {
  const [scope, name] = specifier.split('/')
  const dependencies = [`${scope}/${name}`]
  return { [folder]: { dependencies, files: { 'src/index.ts': `export * from '${specifier}'\n` } } }
}

const NONE = Object.fromEntries(
  ['sdk', 'core', 'kv-index', 'policy-default', 'conformance', 'replay', 'engine-sim'].map((name) => [
    `packages/${name}`,
    {},
  ]),
)

describe('layers', () => {
  test.each([
    ['packages/core', '@router/sdk'],
    ['packages/core', '@router/kv-index'],
    ['packages/config', '@router/sdk'],
    ['packages/kv-events', '@router/kv-index'],
    ['packages/prompt', '@router/kv-index'],
    ['packages/conformance', '@router/core'],
    ['packages/replay', '@router/engine-sim'],
    ['packages/policy-chwbl', '@router/sdk'],
    ['packages/policy-prefix-affinity', '@router/policy-default'],
    ['apps/router', '@router/replay'],
    ['bench', '@router/core'],
    ['examples/own-policy', '@router/conformance'],
  ])('%s may import %s', (folder, specifier) => {
    expect(problemsOf({ ...NONE, ...importing(folder, specifier) })).toEqual([])
  })

  test.each([
    ['packages/sdk', '@router/core'],
    ['packages/core', '@router/policy-default'],
    ['packages/config', '@router/core'],
    ['packages/reference-selector', '@router/core'],
    ['packages/reference-selector', '@router/policy-default'],
    ['packages/policy-chwbl', '@router/core'],
    ['packages/policy-chwbl', '@router/policy-default'],
    ['packages/kv-index', '@router/sdk'],
    ['packages/vectors', '@router/core'],
    ['apps/mock-engine', '@router/kv-index'],
  ])('%s may neither import nor declare %s', (folder, specifier) => {
    const problems = problemsOf({ ...NONE, ...importing(folder, specifier) })
    expect(problems).toHaveLength(2)
    expect(problems[0]).toContain(`${folder}/src/index.ts: '${specifier}' breaks the layers`)
    expect(problems[1]).toContain(`${folder}/package.json: depends on ${specifier}`)
  })

  test('every package under packages needs a layer', () => {
    expect(problemsOf({ 'packages/novel': {} })).toEqual([
      'packages/novel: has no entry in the layers of packages/tooling/src/checks/layers.js',
    ])
  })
})

describe('declarations', () => {
  const core = (file: string, text: string, rest: Package = {}) =>
    problemsOf({ ...NONE, 'packages/core': { ...rest, files: { [file]: text } } })

  test.each([
    ["import type { A } from '@router/sdk'\n"],
    ["export { a } from '@router/sdk'\n"],
    ["const a = await import('@router/sdk')\n"],
    ["type A = import('@router/sdk').A\n"],
  ])('%s needs the dependency', (text) => {
    const problem = "packages/core/src/a.ts: '@router/sdk' is not declared in package.json"
    expect(core('src/a.ts', text)).toEqual([problem])
    expect(core('src/a.ts', text, { devDependencies: ['@router/sdk'] })).toEqual([problem])
    expect(core('src/a.ts', text, { dependencies: ['@router/sdk'] })).toEqual([])
  })

  test('tests may use development dependencies across layers, but must declare them', () => {
    const text = "import { policy } from '@router/policy-default'\n"
    for (const file of ['test/parity.test.ts', 'src/a.test.ts', 'test/support/cases.ts']) {
      expect(core(file, text)).toEqual([
        `packages/core/${file}: '@router/policy-default' is not declared in package.json`,
      ])
      expect(core(file, text, { devDependencies: ['@router/policy-default'] })).toEqual([])
    }
  })

  test('sources declare what they take from npm', () => {
    expect(core('src/a.ts', "import { z } from 'zod/mini'\n", { devDependencies: ['zod'] })).toEqual([
      "packages/core/src/a.ts: 'zod/mini' is not in dependencies or peerDependencies",
    ])
    expect(core('src/a.ts', "import { z } from 'zod/mini'\n", { dependencies: ['zod'] })).toEqual([])
  })

  test('nobody reaches into the folder of another package', () => {
    expect(core('test/a.test.ts', "import '../../sdk/src/index.js'\n")).toEqual([
      "packages/core/test/a.test.ts: '../../sdk/src/index.js' leaves its package; import the package by name",
    ])
    expect(core('test/a.test.ts', "import '../src/index.js'\n")).toEqual([])
  })

  test('a runner beside the published entry may import everything it declares', () => {
    const files = {
      'src/index.ts': "export { cases } from './cases.js'\n",
      'src/cases.ts': '',
      'src/cli.ts': "import '@router/core'\nimport './cases.js'\n",
    }
    const vectors = (more: Files, devDependencies = ['@router/core']) =>
      problemsOf({ ...NONE, 'packages/vectors': { devDependencies, files: { ...files, ...more } } })
    expect(vectors({})).toEqual([])
    expect(vectors({}, [])).toEqual([
      "packages/vectors/src/cli.ts: '@router/core' is not declared in package.json",
    ])
    expect(vectors({ 'src/cases.ts': "import '@router/core'\n" })).toHaveLength(2)
  })
})

test('a build waits for the run-time dependencies of its package and for no other', () => {
  const core = (build: string[]) =>
    problemsOf({
      ...NONE,
      'packages/core': { dependencies: ['@router/sdk'], devDependencies: ['@router/policy-default'], build },
    })
  const problem =
    'packages/core/turbo.json: should be {"extends":["//"],"tasks":{"build":{"dependsOn":["@router/sdk#build"]}}}'
  expect(core(['@router/sdk#build'])).toEqual([])
  expect(core([])).toEqual([problem])
  expect(core(['^build'])).toEqual([problem])
  expect(core(['@router/policy-default#build', '@router/sdk#build'])).toEqual([problem])
})
