import type { WorkerRole } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { everybody, promptOf, testFleet } from '../fleet/support.js'
import { factsOf, measured, measuredFleet } from './support.js'

/** So many different letters from a place of the alphabet on: blocks. */
function letters(from: number, count: number): string {
  return String.fromCodePoint(...Array.from({ length: count }, (_, at) => 0x4e00 + from + at))
}

const nonMax = (type: string): string => `router_non_max_overlap_selections_total{worker_type="${type}"}`
const lost = (type: string, end = 'count'): string =>
  `router_overlap_blocks_lost_${end}{worker_type="${type}"}`

/** Workers 1 and 2 of a role; 1 holds `abcd`, 2 holds `ab`. */
function unequal(role: WorkerRole = 'aggregated') {
  const one = testFleet()
  const name = { ...everybody, role }
  const reserve = (requestId: string, word: string, terms = {}) =>
    one.fleet.reserve(name, { prompt: promptOf(word), terms }, { requestId })
  for (const workerId of [1n, 2n]) one.add(workerId, { role })
  reserve('a', 'abcd', { allowedWorkerIds: [1n] })
  reserve('b', 'ab', { allowedWorkerIds: [2n] })
  one.fleet.free('a')
  one.fleet.free('b')
  /** Makes worker 1 so busy that 2 is chosen for what 1 holds. */
  const burden = (): void => {
    for (let load = 0; load < 40; load++)
      reserve(`load ${load}`, letters(40 * load, 40), { pinnedWorker: { workerId: 1n, dpRank: 0 } })
  }
  return { ...one, name, reserve, burden }
}

describe('hit rates', () => {
  it('M1, U20: nine requests of 2 blocks and one of 200 with 180: mean of ratios 0.09, block-weighted 180 / 218', async () => {
    const { add, reserve, fleet } = testFleet()
    add(1)
    reserve('before', letters(0, 180))
    const { value, families } = measured(fleet)
    for (let request = 0; request < 9; request++) reserve(`short ${request}`, letters(1000 + 2 * request, 2))
    reserve('long', letters(0, 180) + letters(500, 20))
    expect(await value('router_kv_hit_rate_count')).toBe(10)
    expect((await value('router_kv_hit_rate_sum'))! / 10).toBeCloseTo(0.09, 12)
    expect(await value('router_kv_overlap_blocks_total')).toBe(180)
    expect(await value('router_kv_isl_blocks_total')).toBe(218)
    const buckets = ['0', '0.85', '0.9', '+Inf'].map((le) => value(`router_kv_hit_rate_bucket{le="${le}"}`))
    expect(await Promise.all(buckets)).toEqual([9, 9, 10, 10])
    const { help } = (await families()).get('router_kv_hit_rate')!
    expect(help).toContain('mean of ratios')
    expect(help).toContain('router_kv_overlap_blocks_total / router_kv_isl_blocks_total')
  })

  it('leave out prompts without blocks, those that are not routed on their prompt, queries and failures', async () => {
    const { add, reserve, select, value } = measuredFleet()
    add(1)
    select('abcd')
    expect(() => reserve('failed', 'abcd', { allowedWorkerIds: [] })).toThrow()
    reserve('unhashed', 'abcd', { isUnhashed: true })
    reserve('empty', '')
    expect([await value('router_kv_hit_rate_count'), await value('router_kv_isl_blocks_total')]).toEqual([
      0, 0,
    ])
    reserve('counted', 'abcd')
    expect([await value('router_kv_hit_rate_count'), await value('router_kv_isl_blocks_total')]).toEqual([
      1, 4,
    ])
  })
})

describe('selections below the best', () => {
  it('M2, U21: aggregated routers: both children at 0 from the start, they count under decode', async () => {
    const { fleet, reserve, burden } = unequal()
    const { value } = measured(fleet)
    const all = [nonMax('prefill'), nonMax('decode'), lost('prefill'), lost('decode')]
    expect(await Promise.all(all.map(value))).toEqual([0, 0, 0, 0])
    burden()
    expect(reserve('c', 'abcd').workerId).toBe(2n)
    expect(await Promise.all(all.map(value))).toEqual([0, 1, 0, 1])
    expect(await value(lost('decode', 'sum'))).toBe(2)
  })

  it.each([
    { role: 'prefill', counts: [1, 0] },
    { role: 'decode', counts: [0, 0] },
  ] as const)('M2: a $role pool: $counts', async ({ role, counts }) => {
    const { fleet, reserve } = unequal(role)
    const { value } = measured(fleet)
    for (let load = 0; load < 40; load++)
      reserve(`load ${load}`, letters(40 * load, 40), { pinnedWorker: { workerId: 1n, dpRank: 0 } })
    expect(reserve('c', 'abcd').workerId).toBe(2n)
    expect([await value(nonMax('prefill')), await value(nonMax('decode'))]).toEqual(counts)
  })

  it('M3, U21: ties, pins, queries and undelivered selections do not count', async () => {
    const { fleet, name, reserve, select, burden } = unequal()
    const { value } = measured(fleet)
    burden()
    const asked = { prompt: promptOf('abcd') }
    expect(select('abcd').workerId).toBe(2n)
    reserve('pinned', 'abcd', { pinnedWorker: { workerId: 2n, dpRank: 0 } })
    fleet.free('pinned')
    const second = (requestId: string) => fleet.reserve(name, asked, { requestId, isDispatched: false })
    expect(second('undelivered').workerId).toBe(2n)
    fleet.free('undelivered')
    expect(await value(nonMax('decode'))).toBe(0)
    // The pinned one was believed: now both hold it.
    reserve('tie', 'abcd')
    expect(await value(nonMax('decode'))).toBe(0)
    reserve('longer', 'abcdef', { allowedWorkerIds: [1n] })
    const delivered = second('delivered')
    expect([await value(nonMax('decode')), delivered.workerId]).toEqual([0, 2n])
    const behind = fleet.reserve(
      name,
      { prompt: promptOf('abcdef') },
      { requestId: 'behind', isDispatched: false },
    )
    expect(behind.workerId).toBe(2n)
    expect(await value(nonMax('decode'))).toBe(0)
    fleet.delivered(behind)
    expect(await value(nonMax('decode'))).toBe(1)
  })
})

describe('U22: the funnel of cached tokens', () => {
  it('best, selected and reused against hand-made traffic', async () => {
    const { fleet, burden } = unequal()
    const { value, metrics } = measured(fleet)
    const series = (name: string) =>
      value(`router_kv_${name}_tokens_total{phase="aggregated",model="default"}`)
    burden()
    const [before] = [await series('best_eligible_cached_prefix')]
    expect(before).toBe(0)
    // 16 of 18 tokens at best, 8 where it goes; its engine reused 5.
    fleet.reserve(everybody, { prompt: { tokens: [...tokensOf('abcd'), 7, 7] } }, { requestId: 'c' })
    metrics.finished(factsOf({ usage: { promptTokens: 18, cachedTokens: 5 } }))
    metrics.finished(factsOf({ usage: { promptTokens: 18 } }))
    metrics.finished(factsOf({ usage: undefined }))
    expect([
      await series('best_eligible_cached_prefix'),
      await series('selected_cached_prefix'),
      await series('worker_reused'),
    ]).toEqual([16, 8, 5])
  })
})

function tokensOf(word: string): number[] {
  return [...(promptOf(word) as { tokens: readonly number[] }).tokens]
}
