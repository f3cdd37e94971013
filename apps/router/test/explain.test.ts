import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { exampleFleet } from '../src/example.js'
import { cellsOf, explain, fileWith, run } from './support.js'

const exampleText = readFileSync(exampleFleet, 'utf8')
const fleetWith = (pattern: string | RegExp, replacement: string) => {
  const text = exampleText.replace(pattern, replacement)
  expect(text).not.toBe(exampleText)
  return fileWith(text)
}

describe('the example', () => {
  test('says what was asked, what each rank cost or lacked, and who is chosen', async () => {
    const { exitCode, output, errors } = await explain()
    expect([exitCode, errors]).toEqual([0, ''])
    expect(output).toContain('5 workers, 7 ranks')
    expect(output).toContain('2048 prompt tokens = 32 blocks of 64, role aggregated')
    expect(output).toMatch(
      /policy +'cached-first', type dynamo-default-cost-fn \d+\.\d+\.\d+ of @router\/policy-default, revision 1/u,
    )
    expect(output).toMatch(/named by +worker_selection\.aggregated \(.*example\/policy\.yaml\)/u)
    // 1 x (blocks in prefill + uncached - credited) + decode blocks, times exp(-tanh(0.2)):
    // (1024/64 + 32 - 1.5 x 24 + 430) x 0.820882
    expect(cellsOf(output, '101.1')).toEqual([
      '101.1',
      '8',
      '1024',
      '430',
      '500',
      '24',
      '0.820882',
      '362.83',
      '362.83',
      'chosen',
    ])
    expect(cellsOf(output, '101.0').slice(5, 7)).toEqual(['28 + 2 host', '0.820882'])
    expect(cellsOf(output, '102.0').slice(5)).toEqual(['16', '1', '433', '433'])
    expect(cellsOf(output, '104.0')).toEqual([
      '104.0',
      '14',
      '9000',
      '480',
      '?',
      '32',
      'over a busy threshold (WorkerOverloaded)',
    ])
    expect(cellsOf(output, '105.0').at(-1)).toBe('lacks a required taint (RoutingConstraintsUnsatisfied)')
    expect(output).toMatch(/tie set +101\.1 alone/u)
    expect(output).toMatch(/margin +52\.9469 between the two lowest totals/u)
    expect(output).toMatch(/chosen +worker 101, rank 1/u)
    expect(output).toMatch(/would book +32 blocks, 1536 tokens taken as cached/u)
    expect(output).toContain('try next\n  router explain --role decode')
  })

  test('of decode: a full rank, the keys of the picker, and a tie', async () => {
    const { exitCode, output } = await explain('--role', 'decode')
    expect(exitCode).toBe(0)
    expect(output).toContain('type dynamo-kv-capacity-aware')
    expect(output).toMatch(/tie set +103\.0, 103\.1: one of 2 equals/u)
    expect(output).toMatch(/mode +fit/u)
    expect(output).toContain('the picker orders by the keys first')
    expect([cellsOf(output, '103.0').at(-1), cellsOf(output, '103.1').at(-1)].sort()).toEqual([
      'chosen',
      'tied',
    ])
    // 470 > 0.9 x 500 does not fit.
    expect(cellsOf(output, '101.0')).toContain('0')
  })

  test('of a role without instance: the built-in policy', async () => {
    const { output } = await explain('--role', 'encode')
    expect(output).toMatch(/policy +'default', type dynamo-default-cost-fn/u)
    expect(output).toMatch(/named by +built-in/u)
  })
})

describe('the same seed draws the same', () => {
  const chosen = async (...args: string[]) =>
    /chosen +worker (\d+), rank (\d+)/u.exec((await explain(...args)).output)![0]

  test('among equals', async () => {
    const draws = new Set<string>()
    for (let seed = 0; seed < 20; seed++) {
      const draw = await chosen('--role', 'decode', '--seed', `${seed}`)
      expect(await chosen('--role', 'decode', '--seed', `${seed}`)).toBe(draw)
      draws.add(draw)
    }
    expect(draws.size).toBe(2)
  })

  test('up to 2^64 - 1', async () => {
    expect((await explain('--seed', '18446744073709551615')).exitCode).toBe(0)
  })
})

describe('settings', () => {
  test('by flag and by environment', async () => {
    const flag = '--router-worker-selection-policy'
    expect((await explain(flag, 'fits')).output).toMatch(/named by +--router-worker-selection-policy/u)
    const { output } = await run(['explain'], { DYN_ROUTER_WORKER_SELECTION_POLICY: 'fits' })
    expect(output).toContain("policy     'fits'")
  })

  test('reach the policy', async () => {
    const total = async (...args: string[]) =>
      cellsOf((await explain('--role', 'encode', ...args)).output, '102.0').at(-1)
    expect(await total()).toBe('441')
    expect(await total('--router-kv-overlap-score-credit', '0')).toBe('457')
    expect(await total('--router-prefill-load-scale', '0')).toBe('425')
  })

  test('the policy file by variable, and what does not act yet as a note', async () => {
    const policy = fileWith(
      'router: {use_kv_events: true, router_event_threads: 2, host_cache_hit_weight: 0}',
    )
    const { exitCode, output } = await run(['explain'], { ROUTER_POLICY_CONFIG: policy })
    expect(exitCode).toBe(0)
    expect(output).toContain("policy     'default'")
    expect(output).toContain('note: router.use_kv_events does not act yet')
    expect(output).toContain('note: router.router_event_threads has no effect')
  })
})

describe('other fleets', () => {
  test('nothing eligible: the reasons, the code, and exit code 1', async () => {
    const { exitCode, output } = await explain('--fleet', fleetWith('[team/chat]', '[team/none]'))
    expect(exitCode).toBe(1)
    expect(output).toContain('no rank')
    expect(output).toContain('ROUTER_NO_ENDPOINTS')
    expect(output.match(/RoutingConstraintsUnsatisfied/gu)).toHaveLength(7)
  })

  test('a pin, an allow-list, an unavailable worker', async () => {
    const pinned = await explain(
      '--fleet',
      fleetWith('request:', 'request:\n  pinned_worker: {worker_id: 103, dp_rank: 1}'),
    )
    expect(cellsOf(pinned.output, '103.1').at(-1)).toBe('chosen')
    expect(cellsOf(pinned.output, '102.0').at(-1)).toBe('another rank is imposed (NotPinned)')
    expect(pinned.output).toContain('no second rank')
    const allowed = await explain(
      '--fleet',
      fleetWith('request:', 'request:\n  allowed_worker_ids: [102, 103]'),
    )
    expect(cellsOf(allowed.output, '101.0').at(-1)).toContain('WorkerNotAllowed')
    const away = await explain('--fleet', fleetWith('worker_id: 101', 'worker_id: 101\n    available: false'))
    expect(cellsOf(away.output, '101.1').at(-1)).toContain('worker is not available')
  })

  test('of one worker, and more blocks cached than the request has', async () => {
    const fleet = (ranks: string) =>
      fileWith(`block_size: 16\nrequest: {prompt_tokens: 16}\nworkers: [{worker_id: 1, ranks: [${ranks}]}]\n`)
    const { output } = await explain('--fleet', fleet('{overlap: {device: 1, host: 1}}'))
    expect(output).toContain(': 1 worker, 1 rank\n')
    expect(output).toContain('16 prompt tokens = 1 block of 16')
    expect(output).toContain('note: overlap of 1.0: more blocks than the 1 that the request has')
    const several = await explain('--fleet', fleet('{overlap: {device: 2}}, {overlap: {disk: 2}}'))
    expect(several.output).toContain('note: overlap of 1.0 and 1 other rank: more blocks')
    const exact = await explain('--fleet', fleet('{overlap: {device: 1}}'))
    expect(exact.output).not.toContain('note')
  })

  test('unknown load, unknown cache, slow tiers, shared hits and ranks that start above 0', async () => {
    const fleet = fileWith(`block_size: 16
request: {prompt_tokens: 160, shared_hits: [[0, 4], [6, 8]]}
workers:
  - worker_id: 18446744073709551615
    first_rank: 2
    ranks:
      - overlap: unknown
      - overlap: {device: 1, host: 2, disk: 3}
        load: {active_prefill_tokens: 0, decode_cost_blocks: 10, active_requests: 1}
`)
    const { exitCode, output } = await explain('--fleet', fleet, '--shared-cache-type', 'hicache')
    expect(exitCode).toBe(0)
    expect(cellsOf(output, '18446744073709551615.2').slice(1, 6)).toEqual(['?', '?', '?', '?', '?'])
    expect(cellsOf(output, '18446744073709551615.3')[5]).toBe('1 + 2 host + 3 disk')
  })
})

describe('--json', () => {
  test('is the whole explanation, unrounded, ids as strings', async () => {
    const { exitCode, output } = await explain('--json')
    expect(exitCode).toBe(0)
    const document = JSON.parse(output) as Record<string, unknown>
    expect(document).toMatchObject({
      role: 'aggregated',
      instance: { name: 'cached-first', origin: 'worker_selection.aggregated' },
      policy: { type: 'dynamo-default-cost-fn', name: 'cached-first', revision: 1 },
      chosen: { workerId: '101', dpRank: 1 },
      tieSet: [{ workerId: '101', dpRank: 1 }],
      result: { requiredBlocks: 32, cachedTokens: 1536 },
      notYetActive: [],
    })
    expect(document['rows']).toHaveLength(7)
    expect((document['rows'] as object[])[1]).toMatchObject({
      contributions: [{ scorer: 'default-cost', cost: 362.8300558681669 }],
    })
    expect((document['rows'] as object[])[5]).toMatchObject({
      workerId: '104',
      rejection: 'WorkerOverloaded',
    })
  })

  test('of a failed selection has its error', async () => {
    const { exitCode, output } = await explain('--json', '--fleet', fleetWith('[team/chat]', '[team/none]'))
    expect(exitCode).toBe(1)
    expect(JSON.parse(output)).toMatchObject({ error: { code: 'ROUTER_NO_ENDPOINTS' }, tieSet: [] })
  })
})
