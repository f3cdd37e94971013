import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadServePolicy } from '../src/serve-policy.js'
import { explain, fileWith, run } from './support.js'

const scratch = dirname(fileWith(''))
mkdirSync(join(scratch, 'node_modules'))
symlinkSync(
  dirname(createRequire(import.meta.url).resolve('zod/package.json')),
  join(scratch, 'node_modules', 'zod'),
)
let modules = 0

/** Path of a policy file whose instance `mine`, in line 4, is a policy with these fields. */
function policyWith(fields: string): string {
  const name = `policy-${++modules}.mjs`
  writeFileSync(
    join(scratch, name),
    `import { z } from 'zod'
export const policies = [{
  [Symbol.for('@router/sdk.policy')]: true, contractVersion: 1, type: 'theirs', aliases: [], package: undefined, version: '1.2.0',
  stability: 'stable', roles: ['aggregated'], affinity: 'exclusive', occupancyAdmission: 'always', runtime: [],
  inputs: () => ['load'], parameters: z.strictObject({}), create: () => ({ picker }), ${fields}
}]
const picker = { name: 'first', pick: () => 0 }
const scorer = (score) => ({ picker, scorers: [{ name: 'mine', score }] })
`,
  )
  return fileWith(
    `worker_selection:\n  aggregated: mine\n  instances:\n    - {name: mine, type: theirs, package: ./${name}}\n`,
  )
}

describe('a policy that cannot be built: instance, type, package and line', () => {
  test.each([
    [
      "create: () => { throw new Error('no GPU \\u001B[2J') }",
      'ROUTER_POLICY_DEFINITION_INVALID',
      'no GPU \\u001B',
    ],
    ["inputs: () => { throw new Error('no inputs') }", 'ROUTER_POLICY_DEFINITION_INVALID', 'no inputs'],
    ["inputs: () => ['weather']", 'ROUTER_INPUT_UNAVAILABLE', "'weather'"],
    [
      "create: () => ({ picker: { ...picker, inputs: ['cache'] } })",
      'ROUTER_INPUT_NOT_DECLARED',
      "'cache', its policy only load",
    ],
  ])('%s', async (fields, code, reason) => {
    const path = policyWith(fields)
    const { exitCode, output, errors } = await explain('--policy-config', path)
    expect([exitCode, output]).toEqual([1, ''])
    const package_ = `./policy-${modules}.mjs`
    expect(errors).toContain(
      `${path}:4:7: instance 'mine', type theirs 1.2.0 of package ${package_}, cannot be built`,
    )
    expect(errors).toContain(reason)
    expect(errors.endsWith(`error: ${code}`)).toBe(true)
    expect(errors.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    // Nor does a service start with it, before any worker is there.
    await expect(loadServePolicy({ path })).rejects.toMatchObject({ code })
  })
})

describe('a policy that writes into its views', () => {
  const writer =
    'create: () => scorer((_, candidates, costs) => { candidates.load.activeRequests.fill(-7); costs.fill(0) })'

  test('is named, with the column, whatever the fleet', async () => {
    const { exitCode, output, errors } = await explain('--policy-config', policyWith(writer))
    expect(errors).toMatch(/^error: policy 'mine', type theirs, writes into load\.activeRequests: /u)
    expect(output).toContain('chosen')
    expect(exitCode).toBe(1)
    const json = await explain('--json', '--policy-config', policyWith(writer))
    expect(JSON.parse(json.output)).toMatchObject({ writtenColumns: ['load.activeRequests'] })
  })

  test('one that only reads is not', async () => {
    const reader =
      'create: () => scorer((_, candidates, costs) => { for (let row = 0; row < candidates.count; row++) costs[row] = candidates.load.activeRequests[row] })'
    expect(await explain('--policy-config', policyWith(reader))).toMatchObject({ exitCode: 0, errors: '' })
  })

  test('a view that is kept beyond its callback is stale', async () => {
    const keeper =
      'create: () => { return scorer((_, candidates, costs) => { costs.fill(candidates.load.activeRequests[0]) }) }, ' +
      'inputs: () => ["load"]'
    expect((await explain('--policy-config', policyWith(keeper))).exitCode).toBe(0)
    const late =
      'create: () => { let kept; return { picker: { name: "late", pick: () => kept.activeRequests[0] }, ' +
      'scorers: [{ name: "keep", score: (_, candidates, costs) => { kept = candidates.load; costs.fill(0) } }] } }'
    const { exitCode, output } = await explain('--policy-config', policyWith(late))
    expect(exitCode).toBe(1)
    expect(output).toContain('no rank')
  })
})

test('an unknown variable has a warning on standard error, once', async () => {
  const { exitCode, output, errors } = await run(['explain'], { ROUTER_TEMPRATURE: '1' })
  expect(exitCode).toBe(0)
  expect(errors).toBe(
    'warning: ROUTER_TEMPRATURE has no effect: there is no such setting; did you mean ROUTER_TEMPERATURE?',
  )
  expect(output).not.toContain('TEMPRATURE')
})
