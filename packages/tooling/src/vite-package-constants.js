// @ts-check
import { replacePackageConstants } from './package-constants.js'

/**
 * Vite plugin: `__PACKAGE_NAME__` and `__PACKAGE_VERSION__` in sources, per owning package.
 * @returns {import('vite').Plugin}
 */
export function packageConstants() {
  return {
    name: 'router:package-constants',
    enforce: 'pre',
    transform(code, id) {
      const file = id.split('?')[0] ?? id
      if (!/\.[cm]?[jt]sx?$/.test(file) || file.includes('/node_modules/')) return null
      const replaced = replacePackageConstants(code, file)
      return replaced === code ? null : { code: replaced, map: null }
    },
  }
}
