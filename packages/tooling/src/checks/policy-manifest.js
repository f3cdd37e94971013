import { isDeepStrictEqual } from 'node:util'
import { kernelOwnersFor } from './layers.js'

const ENTRY = { types: './dist/index.d.ts', default: './dist/index.js' }
const MANIFEST = './package.json'

/** Fields of a policy's package.json that are the same in every policy package. */
const FIXED = {
  license: 'Apache-2.0',
  type: 'module',
  sideEffects: false,
  files: ['dist', 'README.md'],
  engines: { node: '>=20' },
  exports: { '.': { 'router-source': './src/index.ts', ...ENTRY }, [MANIFEST]: MANIFEST },
  publishConfig: { access: 'public', exports: { '.': ENTRY, [MANIFEST]: MANIFEST } },
}

/** What `scripts` may hold; the first is needed. */
const SCRIPTS = { build: 'tsup', 'build:simd': 'node ../tooling/src/build-simd.js .' }

const CONTRACT = '@router/sdk'
const CONTRACT_RANGE = '>=0.1.0 <1.0.0'
const EXPLICIT_RANGE = /^>=\d+\.\d+\.\d+ <\d+\.\d+\.\d+$/

/**
 * Problems in the package.json of a policy package.
 * @param {string} name folder name
 * @param {import('../workspace.js').Manifest} manifest
 * @returns {string[]}
 */
export function policyManifestProblems(name, manifest) {
  const { scripts = {}, dependencies = {}, peerDependencies = {} } = manifest
  const fixed = Object.entries(FIXED)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(
      ([field, value]) =>
        `"${field}" should be ${JSON.stringify(value)}, is ${JSON.stringify(manifest[field])}`,
    )
  const owners = kernelOwnersFor(name).map((owner) => `@router/${owner}`)
  const strangers = [...Object.keys(dependencies), ...Object.keys(peerDependencies)].filter(
    (dependency) =>
      dependency.startsWith('@router/') && dependency !== CONTRACT && !owners.includes(dependency),
  )
  return [
    ...(manifest.name === `@router/${name}`
      ? []
      : [`"name" should be "@router/${name}", is "${manifest.name}"`]),
    ...(/^\d+\.\d+\.\d+/.test(manifest.version ?? '') ? [] : ['"version" is missing']),
    ...(typeof manifest.description === 'string' && manifest.description ? [] : ['"description" is missing']),
    ...(manifest.private === undefined ? [] : ['"private" should be absent']),
    ...fixed,
    ...(isDeepStrictEqual({ ...SCRIPTS, ...scripts }, SCRIPTS) && scripts.build !== undefined
      ? []
      : [`"scripts" should be among ${JSON.stringify(SCRIPTS)}, with build; is ${JSON.stringify(scripts)}`]),
    ...(peerDependencies[CONTRACT] === CONTRACT_RANGE
      ? []
      : [`peer ${CONTRACT} should be "${CONTRACT_RANGE}", is "${peerDependencies[CONTRACT]}"`]),
    ...(EXPLICIT_RANGE.test(peerDependencies.zod ?? '')
      ? []
      : [`peer zod should be an explicit range (">=a.b.c <x.y.z"), is "${peerDependencies.zod}"`]),
    ...[CONTRACT, 'zod']
      .filter((peer) => dependencies[peer] !== undefined)
      .map((peer) => `${peer} is a peer, not a dependency`),
    ...strangers.map(
      (stranger) => `depends on ${stranger}; a policy may use ${[CONTRACT, ...owners].join(', ')}`,
    ),
  ]
}
