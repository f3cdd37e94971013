import { defaultPolicy } from '@router/policy-default'
import { routerDefaults } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { build, buildDefault } from '../test/built-policy.js'
import { policies, prefixAffinityParameters, prefixAffinityPolicy } from './index.js'

const accepted = (parameters: object): boolean => prefixAffinityParameters.safeParse(parameters).success

describe('parameters', () => {
  it('default to weight 4 and leave the rest to the router', () => {
    expect(prefixAffinityParameters.parse({})).toEqual({ prefix_affinity_weight: 4 })
  })

  it.each([
    { prefix_affinity_weight: 0 },
    { prefix_affinity_weight: 0.25, router_temperature: 0.7, seed: 42 },
  ])('accept %o', (parameters) => expect(accepted(parameters)).toBe(true))

  it.each([
    { prefix_affinity_weight: -1 },
    { prefix_affinity_weight: null },
    { prefix_affinity_weight: Infinity },
    { overlap_score_credit: -1 },
    { affinity: 1 },
  ])('refuse %o', (parameters) => expect(accepted(parameters)).toBe(false))
})

describe('definition', () => {
  it('is what a configuration finds, and may be patched like the default', () => {
    expect(policies).toEqual([prefixAffinityPolicy])
    expect(prefixAffinityPolicy).toMatchObject({
      type: 'prefix-affinity',
      package: '@router/policy-prefix-affinity',
      affinity: 'exclusive',
      runtime: defaultPolicy.runtime,
    })
  })

  it('needs the cache unless nothing prices it', () => {
    const inputsOf = (parameters: object, role: 'aggregated' | 'decode'): readonly string[] =>
      prefixAffinityPolicy.inputs(prefixAffinityParameters.parse(parameters), {
        role,
        conditionalDisaggregation: false,
        routerDefaults,
        reservesRuntimeInputs: false,
      })
    expect(inputsOf({ overlap_score_credit: 0 }, 'aggregated')).toContain('cache')
    expect(inputsOf({ overlap_score_credit: 0, prefix_affinity_weight: 0 }, 'aggregated')).not.toContain(
      'cache',
    )
    expect(inputsOf({}, 'decode')).not.toContain('cache')
  })
})

// The published case: the holder of 46 of 47 blocks is busier than a cold worker.
const busyHolder = { workerId: 1n, cache: { deviceOverlapBlocks: 46 }, load: { decodeCostBlocks: 143 } }
const coldWorker = { workerId: 2n, load: { decodeCostBlocks: 95 } }
const prompt = { promptTokens: 47 * 16, blockSize: 16 }

describe('policy', () => {
  it('stays on the holder where the default moves', () => {
    expect(buildDefault().run([busyHolder, coldWorker], prompt).pick).toBe('2.0')
    expect(build({ prefix_affinity_weight: 0 }).run([busyHolder, coldWorker], prompt).pick).toBe('2.0')
    expect(build({ prefix_affinity_weight: 0.25 }).run([busyHolder, coldWorker], prompt).pick).toBe('1.0')
    expect(build().run([busyHolder, coldWorker], prompt).pick).toBe('1.0')
  })

  it('moves when the gap is worth it', () => {
    const gap = { ...busyHolder, load: { decodeCostBlocks: 95 + 46 + 4 * 46 + 1 } }
    expect(build().run([gap, coldWorker], prompt).pick).toBe('2.0')
  })

  it('charges four blocks for each block to recompute', () => {
    const { costs } = build().run([busyHolder, coldWorker], prompt)
    const plain = buildDefault().run([busyHolder, coldWorker], prompt).costs
    expect(costs).toEqual([plain[0]! + 4 * 1, plain[1]! + 4 * 47])
  })

  it('charges an empty prompt nothing', () => {
    const empty = { promptTokens: 0, blockSize: 16 }
    expect(build().run([coldWorker], empty).costs).toEqual(buildDefault().run([coldWorker], empty).costs)
  })

  it('does not inherit the weight of the router', () => {
    const router = { prefix_affinity_weight: 100 }
    expect(build({}, { router }).run([coldWorker], prompt)).toEqual(build().run([coldWorker], prompt))
  })

  it('inherits the other defaults of the router', () => {
    const router = { prefill_load_scale: 3 }
    const [scaled] = build({}, { router }).run([coldWorker], prompt).costs
    expect(scaled).toBe(3 * 47 + 95 + 4 * 47)
  })

  it('is load-only on plain decode pools', () => {
    const facts = { ...prompt, tracksPrefillTokens: false }
    const { pick, costs } = build({}, { role: 'decode' }).run([busyHolder, coldWorker], facts)
    expect({ pick, costs }).toEqual({ pick: '2.0', costs: [143, 95] })
  })

  it('takes a patched weight at the next selection', () => {
    const { policy, run } = build()
    expect(run([busyHolder, coldWorker], prompt).pick).toBe('1.0')
    policy.reconfigure!(prefixAffinityParameters.parse({ prefix_affinity_weight: 0 }) as never)
    expect(run([busyHolder, coldWorker], prompt).pick).toBe('2.0')
  })
})
