import { declarePackageConstants } from './package-constants.js'

/**
 * Vite plugin: `__PACKAGE_NAME__` and `__PACKAGE_VERSION__` in sources, per owning package.
 * @returns {import('vite').Plugin}
 */
export function packageConstants() {
  return {
    name: 'router:package-constants',
    enforce: 'pre',
    transform(code, id) {
      const file = id.replace(/\?.*$/, '')
      if (!/\.[cm]?[jt]sx?$/.test(file) || file.includes('/node_modules/')) return null
      const declared = declarePackageConstants(code, file)
      return declared === code ? null : { code: declared, map: null }
    },
  }
}
