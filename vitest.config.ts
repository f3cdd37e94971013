import { defineConfig } from 'vitest/config'
import { packageConstants } from './packages/tooling/src/vite-package-constants.js'

export default defineConfig({
  plugins: [packageConstants()],
  ssr: { resolve: { conditions: ['router-source', 'module', 'node', 'import', 'default'] } },
  test: {
    include: ['**/{src,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/fixtures/**'],
    passWithNoTests: true,
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts'],
      reporter: ['text', 'html'],
    },
  },
})
