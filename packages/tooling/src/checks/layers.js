/**
 * Which workspace packages the sources of a package may import, by the name of its folder. Arrows point inwards only.
 * @type {Record<string, readonly string[]>}
 */
const LAYERS = {
  sdk: [],
  'kv-index': [],
  'engine-sim': [],
  core: ['sdk', 'kv-index'],
  config: ['sdk'],
  'kv-events': ['kv-index'],
  prompt: ['kv-index'],
  'reference-selector': ['sdk'],
  conformance: ['sdk', 'core'],
  vectors: ['sdk'],
  replay: ['sdk', 'core', 'engine-sim'],
  'mock-engine': ['engine-sim'],
  tooling: [],
}

/** Packages that own a kernel, with the policies of the same family that may build on it. */
const KERNEL_OWNERS = {
  'policy-default': ['policy-prefix-affinity', 'policy-jsew', 'policy-sticky', 'policy-learned-choice'],
}

/** Packages whose sources hold a runner beside the published entry; the runner may import everything. */
export const RUNNERS = new Set(['vectors'])

/**
 * @param {string} folder `packages/core`
 * @returns {readonly string[] | 'everything' | undefined} folder names; `undefined` when the package has no layer yet
 */
export function allowedImports(folder) {
  const [parent, name = ''] = folder.split('/')
  const layer = LAYERS[name]
  if (layer !== undefined) return layer
  if (name.startsWith('policy-')) return ['sdk', ...kernelOwnersFor(name)]
  return parent === 'packages' ? undefined : 'everything'
}

/**
 * @param {string} name folder name of a policy package
 * @returns {string[]} folder names of the packages whose kernel it may use
 */
export function kernelOwnersFor(name) {
  return Object.entries(KERNEL_OWNERS)
    .filter(([, family]) => family.includes(name))
    .map(([owner]) => owner)
}
