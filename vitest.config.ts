import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { packageConstants } from './packages/tooling/src/vite-package-constants.js'
import { sourceModules } from './packages/tooling/src/vite-source-modules.js'

// Patterns that also fit below a package: vitest run there finds this file and takes the package as its root.
export default defineConfig({
  plugins: [packageConstants(), sourceModules()],
  ssr: { resolve: { conditions: ['router-source', 'module', 'node', 'import', 'default'] } },
  test: {
    include: ['**/{src,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/fixtures/**'],
    passWithNoTests: true,
    maxWorkers: '100%',
    testTimeout: 60_000,
    typecheck: {
      enabled: true,
      include: ['**/{src,test}/**/*.test-d.ts'],
      ignoreSourceErrors: true,
      tsconfig: fileURLToPath(new URL('tsconfig.typecheck.json', import.meta.url)),
    },
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts', '**/*.assembly.ts'],
      reporter: ['text', 'html'],
    },
  },
})
