import { readFileSync } from 'node:fs'
import { type PolicyDefinition, PolicyCatalog, definePolicy, minimumCostPicker } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { policyConformance } from '../src/index.js'

/** The policies of the first JavaScript block of a page that defines some, run as it stands. */
function policiesOf(page: string): readonly PolicyDefinition[] {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/```js\n(.*?)```/gsu)].map(([, code]) => code!)
  const code = blocks.find((block) => block.includes('definePolicy'))!
  const body = code.replaceAll(/^import .*$/gmu, '').replace('export const policies', 'const policies')
  const run = new Function('definePolicy', 'minimumCostPicker', 'z', `${body}\nreturn policies`) as (
    ...names: readonly unknown[]
  ) => readonly PolicyDefinition[]
  return run(definePolicy, minimumCostPicker, z)
}

describe.each(['README.md', 'docs/write-a-policy.md'])('the policy of %s', (page) => {
  const policies = policiesOf(page)

  it('can be registered, and its YAML names it', () => {
    const catalog = new PolicyCatalog()
    for (const policy of policies) catalog.register(policy)
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
    expect(catalog.types()).toHaveLength(1)
    expect(text).toMatch(new RegExp(`type: ${catalog.types()[0]}\\b`, 'u'))
  })

  for (const policy of policies) policyConformance({ describe, it }, { policy })
})
