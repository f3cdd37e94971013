import { describe, expect, test } from 'vitest'
import { checkStructure } from '../src/checks/structure.js'
import { type Files, temporaryFolder, withValue } from './support/files.js'
import { MANIFEST, workspaceWithPolicy } from './support/policy-package.js'

function problemsOf(files: Files): string[] {
  return checkStructure(temporaryFolder(files)).map((problem) => problem.replace(/^packages\/[^:]+: /, ''))
}

test('a policy package in which everything is right has no problem', () => {
  expect(problemsOf(workspaceWithPolicy({}))).toEqual([])
})

test('a workspace without policies has no problem', () => {
  expect(problemsOf({ 'packages/sdk/package.json': '{ "name": "@router/sdk" }' })).toEqual([])
})

describe('files', () => {
  test.each([
    'tsconfig.json',
    'tsup.config.ts',
    'turbo.json',
    'README.md',
    'src/index.ts',
    'src/policy.ts',
    'src/parameters.ts',
    'test/conformance.test.ts',
    'test/properties.test.ts',
  ])('%s is needed', (file) => {
    expect(problemsOf(workspaceWithPolicy({ [file]: undefined }))).toEqual([`${file} is missing`])
  })

  test('recorded cases may be called parity or vectors, and are needed', () => {
    const parity = { 'test/vectors.test.ts': undefined, 'test/parity.test.ts': '' }
    expect(problemsOf(workspaceWithPolicy(parity))).toEqual([])
    expect(problemsOf(workspaceWithPolicy({ 'test/vectors.test.ts': undefined }))).toEqual([
      'test/parity.test.ts or test/vectors.test.ts is missing',
    ])
  })

  test('a kernel is needed unless another one is reused', () => {
    const files = { 'src/kernel.ts': undefined }
    expect(problemsOf(workspaceWithPolicy(files))).toEqual([
      'src/kernel.ts is missing, and no kernel is reused',
    ])
    const reusing = {
      ...withValue(MANIFEST, ['name'], '@router/policy-prefix-affinity'),
      dependencies: { '@router/policy-default': 'workspace:^' },
    }
    expect(problemsOf(workspaceWithPolicy(files, reusing, 'policy-prefix-affinity'))).toEqual([])
  })

  test.each(['src/helpers/ring.ts', 'src/hashRing.ts', 'src/data.json'])('%s is refused', (file) => {
    expect(problemsOf(workspaceWithPolicy({ [file]: '' }))).toEqual([
      `${file} is neither a kebab-case source in src nor in src/simd`,
    ])
  })

  test.each([
    'src/kernel-prefill.ts',
    'src/hash-ring.ts',
    'src/simd/kernel.assembly.ts',
    'src/web-assembly.d.ts',
    'src/filter.ts',
  ])('%s is accepted', (file) => expect(problemsOf(workspaceWithPolicy({ [file]: '' }))).toEqual([]))
})

describe('contents', () => {
  test.each([
    ['tsconfig.json', '{ "extends": "../../tsconfig.base.json" }', 'tsconfig.json should be'],
    ['tsup.config.ts', 'export default {}\n', 'tsup.config.ts should only export the preset'],
    ['src/index.ts', 'export const policy = 1\n', 'src/index.ts should only re-export'],
    ['src/index.ts', '', 'src/index.ts should only re-export'],
    ['src/policy.ts', "import { z } from 'zod'\n", 'src/policy.ts imports zod'],
    ['src/scorer.ts', "import * as z from 'zod/mini'\n", 'src/scorer.ts imports zod'],
    ['test/conformance.test.ts', '//\n'.repeat(16), 'test/conformance.test.ts has 16 lines, at most 15'],
    ['README.md', '# sample\n', 'README.md should have the headings'],
    ['README.md', '## Type\n## Formula\n## What it does\n', 'README.md should have the headings'],
  ])('%s: %j', (file, text, problem) => {
    const problems = problemsOf(workspaceWithPolicy({ [file]: text }))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })

  test('tests may import zod', () => {
    expect(problemsOf(workspaceWithPolicy({ 'src/kernel.test.ts': "import { z } from 'zod'\n" }))).toEqual([])
  })
})

describe('package.json', () => {
  test.each([
    [['name'], '@router/other', '"name" should be "@router/policy-sample", is "@router/other"'],
    [['version'], undefined, '"version" is missing'],
    [['description'], '', '"description" is missing'],
    [['private'], true, '"private" should be absent'],
    [['license'], 'MIT', '"license" should be "Apache-2.0", is "MIT"'],
    [['type'], undefined, '"type" should be "module", is undefined'],
    [['sideEffects'], undefined, '"sideEffects" should be false'],
    [['engines', 'node'], '>=18', '"engines" should be'],
    [['files'], ['dist'], '"files" should be'],
    [['exports', '.', 'router-source'], undefined, '"exports" should be'],
    [['exports', './kernel'], './dist/kernel.js', '"exports" should be'],
    [['publishConfig', 'exports'], undefined, '"publishConfig" should be'],
    [['scripts', 'build'], 'tsc', '"scripts" should be'],
    [['scripts', 'build'], undefined, '"scripts" should be'],
    [['scripts', 'test'], 'vitest run', '"scripts" should be'],
    [
      ['peerDependencies', '@router/sdk'],
      'workspace:^',
      'peer @router/sdk should be ">=0.1.0 <1.0.0", is "workspace:^"',
    ],
    [['peerDependencies', 'zod'], '^4.0.0', 'peer zod should be an explicit range'],
    [['peerDependencies', 'zod'], undefined, 'peer zod should be an explicit range'],
    [['dependencies', 'zod'], 'catalog:', 'zod is a peer, not a dependency'],
    [
      ['dependencies', '@router/core'],
      'workspace:*',
      'depends on @router/core; a policy may use @router/sdk',
    ],
    [['dependencies', '@router/policy-default'], 'workspace:*', 'depends on @router/policy-default'],
  ])('%j = %j', (keys, value, problem) => {
    const problems = problemsOf(workspaceWithPolicy({}, withValue(MANIFEST, keys, value)))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})

describe('sizes', () => {
  const manifest = { 'packages/core/package.json': '{ "name": "@router/core" }' }

  test('a source has at most 300 lines of code; comments and blank lines are free', () => {
    const code = 'x()\n'.repeat(300)
    const comments = '/**\n * Text.\n */\n// more\n\n'.repeat(40)
    expect(problemsOf({ ...manifest, 'packages/core/src/a.ts': comments + code })).toEqual([])
    expect(problemsOf({ ...manifest, 'packages/core/src/a.ts': `${comments}${code}x()\n` })).toEqual([
      'src/a.ts has 301 lines of code, at most 300',
    ])
  })

  test('a test has at most 400 lines', () => {
    const test = '//\n'.repeat(401)
    expect(
      problemsOf({ ...manifest, 'packages/core/src/a.test.ts': test, 'packages/core/test/b.ts': test }),
    ).toEqual(['src/a.test.ts has 401 lines, at most 400', 'test/b.ts has 401 lines, at most 400'])
  })

  test('a WebAssembly module as text is not measured', () => {
    expect(problemsOf({ ...manifest, 'packages/core/src/simd/host-module.ts': 'x()\n'.repeat(500) })).toEqual(
      [],
    )
  })
})
