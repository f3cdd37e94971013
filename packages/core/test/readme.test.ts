import type {
  PolicyDescription,
  RouterCore,
  RouterWarning,
  SelectionExplanation,
  SelectionResult,
} from '@router/core'
import { errorCodes } from '@router/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import * as core from '../src/index.js'
import { nameOf } from './support/hosts.js'

const [example = ''] = Object.values(
  import.meta.glob(['./fixtures/embed.js'], { query: '?raw', import: 'default', eager: true }),
)

const sources = import.meta.glob(['../src/*.ts', '!../src/*.test.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

interface Example {
  readonly core: RouterCore
  readonly clock: { ms: number }
  readonly warnings: readonly RouterWarning[]
  readonly report: (
    workerId: bigint,
    dpRank: number,
    load: { prefillTokens?: number; decodeBlocks?: number; requests?: number; overloaded?: boolean },
  ) => void
  readonly route: (
    promptTokens: number,
    cached?: readonly { workerId: bigint; dpRank: number; blocks: number }[],
    rest?: object,
  ) => SelectionResult | undefined
  readonly explain: (promptTokens: number) => SelectionExplanation
}

describe('the example of the README', () => {
  let router: Example
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    router = (await import('./fixtures/embed.js')) as Example
  })
  const routed = (...inputs: Parameters<Example['route']>): string | undefined => {
    const result = router.route(...inputs)
    return result && nameOf(result)
  }

  it('is the text of the fixture', () => {
    expect(readme).toContain(`\`\`\`js\n${example}\`\`\`\n`)
  })

  it('routes by load and by cached prefix, and says why', () => {
    router.report(7n, 0, { prefillTokens: 4000, decodeBlocks: 100 })
    router.report(7n, 1, { decodeBlocks: 20 })
    router.report(9n, 0, { decodeBlocks: 30 })
    expect(routed(1600)).toBe('7.1')
    expect(routed(1600, [{ workerId: 9n, dpRank: 0, blocks: 90 }])).toBe('9.0')
    expect(router.route(1600, [{ workerId: 9n, dpRank: 0, blocks: 90 }])).toMatchObject({
      requiredBlocks: 100,
      cachedTokens: 1440,
      selectedRawCachedTokens: 1440,
      policy: { name: 'default', type: 'dynamo-default-cost-fn' },
    })
    expect(routed(1600)).toBe('7.1')
    const { rows, chosen, margin } = router.explain(1600)
    expect([nameOf(chosen!), rows.map((row) => row.total), margin]).toEqual(['7.1', [450, 120, 130], 10])
  })

  it('answers overload with nothing, and throws what is wrong with the request', () => {
    expect(routed(1600, [], { requiredTaints: ['eu'] })).toBe('9.0')
    router.report(9n, 0, { overloaded: true })
    expect(routed(1600, [], { requiredTaints: ['eu'] })).toBeUndefined()
    expect(() => router.route(1600, [], { requiredTaints: ['us'] })).toThrow(/no worker/u)
    expect(() => router.route(-1)).toThrow(/promptTokens/u)
    expect(router.warnings).toEqual([])
  })

  it('patches as the README says', () => {
    const [description] = router.core.policies() as [PolicyDescription]
    expect(description).toMatchObject({
      name: 'default',
      roles: expect.arrayContaining(['aggregated']),
      revision: 1,
    })
    expect(router.core.patch('default', { router_temperature: 0.2 })).toEqual({
      revision: 2,
      before: {},
      after: { router_temperature: 0.2 },
    })
    expect(router.core.patch('default', { router_temperature: null }, 2)).toMatchObject({
      revision: 3,
      after: {},
    })
    const dry = () => router.core.patch('default', { router_temperature: -1 }, undefined, { dryRun: true })
    expect(dry).toThrow(/router_temperature/u)
  })
})

describe('README', () => {
  it.each(Object.keys(core))('names the export %s', (name) => {
    expect(readme).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b`, 'u'))
  })

  it('names every error code that the sources can throw, and no code that does not exist', () => {
    const codesIn = (text: string) => new Set(text.match(/ROUTER_[A-Z_]+/gu))
    const named = codesIn(readme)
    expect([...named].filter((code) => !(errorCodes as readonly string[]).includes(code))).toEqual([])
    const thrown = codesIn(Object.values(sources).join(''))
    expect([...thrown].filter((code) => !named.has(code))).toEqual([])
    expect(thrown.size).toBeGreaterThan(12)
  })

  it('names every call of the worker table', () => {
    const helpers = ['constructor', 'rowOf', 'workerIndexOf', 'settle', 'isRoutable']
    const calls = Object.getOwnPropertyNames(core.WorkerTable.prototype).filter(
      (name) => !helpers.includes(name),
    )
    expect(calls.filter((name) => !readme.includes(`\`${name}`))).toEqual([])
    expect(calls.length).toBeGreaterThan(12)
  })
})
