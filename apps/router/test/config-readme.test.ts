import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { RouterDefaults } from '@router/sdk'
import { describe, expect, test, vi } from 'vitest'

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
// The example needs policies, and @router/config has none.
const readme = textOf('../../../packages/config/README.md')
const example = textOf('fixtures/load-config.js')

interface Example {
  readonly load: (path: string) => Promise<{
    readonly name: string
    readonly type: string
    readonly parameters: unknown
    readonly routerDefaults: RouterDefaults
  }>
}

const policyPackage = `import { z } from 'zod'
export const policies = [{
  [Symbol.for('@router/sdk.policy')]: true, contractVersion: 1, type: 'lowest-queue', aliases: [], package: undefined,
  version: '1.3.0', stability: 'stable', roles: ['decode'], affinity: 'exclusive', occupancyAdmission: 'always',
  runtime: ['weight'], inputs: () => ['load'], parameters: z.strictObject({ weight: z.number().optional() }),
  create: () => ({ picker: { name: 'first', pick: () => 0 }, reconfigure: () => {} }),
}]
`

describe('the README of @router/config', () => {
  test('has the example that runs here', () => {
    expect(readme).toContain(`\`\`\`js\n${example}\`\`\`\n`)
  })

  test('has a file that the example loads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'config-readme-'))
    const home = join(folder, 'node_modules', '@acme', 'router-policies')
    mkdirSync(home, { recursive: true })
    writeFileSync(
      join(home, 'package.json'),
      '{"name": "@acme/router-policies", "type": "module", "exports": "./index.js"}',
    )
    writeFileSync(join(home, 'index.js'), policyPackage)
    const zod = dirname(createRequire(import.meta.url).resolve('zod/package.json'))
    symlinkSync(zod, join(folder, 'node_modules', 'zod'))
    const path = join(folder, 'router-policy.yaml')
    writeFileSync(path, /```yaml\n(worker_selection:.*?)```/su.exec(readme)![1]!)
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    // @ts-expect-error -- plain JavaScript, as a host would save it
    const { load } = (await import('./fixtures/load-config.js')) as Example
    expect(await load(path)).toMatchObject({
      name: 'fits',
      type: 'dynamo-kv-capacity-aware',
      parameters: { capacity_fraction: 0.9 },
      routerDefaults: { router_temperature: 0.7, host_cache_hit_weight: 0.75 },
    })
    warn.mockRestore()
  })
})
