import type { Files } from './files.js'

const ENTRY = { types: './dist/index.d.ts', default: './dist/index.js' }

export const MANIFEST = {
  name: '@router/policy-sample',
  version: '0.1.0',
  description: 'A sample',
  license: 'Apache-2.0',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20' },
  files: ['dist', 'README.md'],
  exports: { '.': { 'router-source': './src/index.ts', ...ENTRY }, './package.json': './package.json' },
  publishConfig: { access: 'public', exports: { '.': ENTRY, './package.json': './package.json' } },
  scripts: { build: 'tsup' },
  peerDependencies: { '@router/sdk': '>=0.1.0 <1.0.0', zod: '>=4.0.0 <5.0.0' },
  devDependencies: { '@router/sdk': 'workspace:*', '@router/tooling': 'workspace:*', zod: 'catalog:' },
}

const HEADINGS = ['Type', 'What it does', 'Formula', 'Inputs', 'Parameters', 'Example', 'Limitations']

const FILES: Files = {
  'tsconfig.json': '{ "extends": "../../tsconfig.base.json", "include": ["src", "test"] }',
  'tsup.config.ts': "import { preset } from '@router/tooling/tsup-preset'\n\nexport default preset()\n",
  'turbo.json': '{ "extends": ["//"], "tasks": { "build": { "dependsOn": ["@router/sdk#build"] } } }',
  'README.md': `# sample\n\n${HEADINGS.map((heading) => `## ${heading}\n`).join('\n')}`,
  'src/index.ts':
    "export { samplePolicy } from './policy.js'\nexport type { Parameters } from './parameters.js'\n",
  'src/policy.ts': "import { definePolicy } from '@router/sdk'\n",
  'src/parameters.ts': "import { z } from 'zod'\n",
  'src/kernel.ts': 'export function kernel() {}\n',
  'src/kernel.test.ts': '',
  'src/scorer.ts': '',
  'test/conformance.test.ts': "import { certify } from '@router/conformance'\n",
  'test/properties.test.ts': '',
  'test/vectors.test.ts': '',
}

/** A workspace with one policy package in which everything is right, but for `changes` to its files. */
export function workspaceWithPolicy(
  changes: Files,
  manifest: object = MANIFEST,
  name = 'policy-sample',
): Files {
  const files = { 'package.json': JSON.stringify(manifest), ...FILES, ...changes }
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`packages/${name}/${file}`, text]))
}
