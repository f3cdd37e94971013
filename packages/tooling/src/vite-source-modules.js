import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleSources, moduleName, nameModules } from './source-bundle.js'

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/router/modules', import.meta.url))

/**
 * Vite plugin: a module that a source names as `new URL('./worker.js', import.meta.url)`, such as that of a worker thread, is bundled
 * from its sources, once a run.
 * @returns {import('vite').Plugin}
 */
export function sourceModules() {
  /** @type {Map<string, Promise<void>>} */
  const bundles = new Map()
  // One after another: the end of one would stop the bundler of the others.
  let last = Promise.resolve()
  return {
    name: 'router:source-modules',
    enforce: 'pre',
    async transform(code, id) {
      const [file = '', query = ''] = id.split('?')
      // A source as text stays as it is.
      if (!/\.[cm]?tsx?$/.test(file) || file.includes('/node_modules/') || query === 'raw') return null
      /** @type {Promise<void>[]} */
      const named = []
      const replaced = nameModules(code, file, (entry) => {
        const outfile = join(FOLDER, moduleName('tests.mjs', entry))
        const made = bundles.get(outfile) ?? last.then(() => bundleSources({ entry, outfile }))
        last = made.catch(() => {})
        bundles.set(outfile, made)
        named.push(made)
        return outfile
      })
      await Promise.all(named)
      return replaced === code ? null : { code: replaced, map: null }
    },
  }
}
