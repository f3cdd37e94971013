import process from 'node:process'
import { defineConfig } from 'tsup'
import { packageDefines, packageIdentity } from './package-constants.js'

/**
 * The one build of every published package: ESM, declarations, source maps; nothing from `node_modules` is bundled.
 * Run from the folder of the package.
 * @param {import('tsup').Options} [overrides] replace single options; `define` is merged
 */
export function preset(overrides = {}) {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm'],
    target: 'es2023',
    platform: 'neutral',
    skipNodeModulesBundle: true,
    removeNodeProtocol: false,
    clean: true,
    sourcemap: true,
    dts: { compilerOptions: { ignoreDeprecations: '6.0', customConditions: [] } },
    ...overrides,
    define: { ...packageDefines(packageIdentity(process.cwd())), ...overrides.define },
  })
}
