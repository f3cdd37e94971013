import type { RoutedExplanation } from '@router/core'
import { describe, expect, it } from 'vitest'
import { DecisionRecords, type DecisionSettings } from '../../src/observe/decision-records.js'
import { everybody, promptOf, testFleet } from '../fleet/support.js'
import type { Json } from '../proxy/support/proxies.js'

/** Records of a fleet with two workers; a request is recorded under its id where the sample takes it. */
function recordsOf(settings: Partial<DecisionSettings> = {}, ranks = 1) {
  const one = testFleet()
  one.add(1, { dataParallelSize: ranks })
  one.add(2)
  const records = new DecisionRecords(one.fleet, {
    nowMs: () => one.clock.ms,
    wallMs: () => 1_700_000_000_000,
    ...settings,
  })
  const partition = one.fleet.ready(everybody)
  const routedOn = { exactness: 'exact', promptTokens: 8, isEstimated: false, blocks: 2 }
  const decide = (requestId: string, isAskedFor = false) => {
    const path = '/v1/completions'
    const onExplained = records.recorder(partition, isAskedFor, () => ({
      requestId,
      path,
      partition,
      routedOn,
    }))
    one.fleet.reserve(everybody, { prompt: promptOf('ab') }, { requestId, onExplained })
    one.fleet.free(requestId)
    return onExplained !== undefined
  }
  return { ...one, records, decide, partition }
}

const idsOf = (records: DecisionRecords, limit = 100) =>
  (records.latest(limit) as Json[]).map((record) => record.request_id)

describe('the sample', () => {
  it('is everything while there is little, and so many a second beyond', () => {
    const { decide, clock, records } = recordsOf({ perSecond: 2 })
    const takenOf = (count: number) =>
      Array.from({ length: count }, (_, at) => decide(`r${at}`)).filter(Boolean).length
    // What ten quiet seconds have left.
    expect(takenOf(50)).toBe(20)
    clock.ms += 1000
    expect(takenOf(50)).toBe(2)
    clock.ms += 400
    expect(takenOf(50)).toBe(0)
    clock.ms += 100
    expect(takenOf(50)).toBe(1)
    clock.ms += 3_600_000
    expect(takenOf(50)).toBe(20)
    expect(records.recorded).toBe(43)
  })

  it('takes fewer decisions among many ranks', () => {
    const { decide, clock } = recordsOf({ perSecond: 1 }, 79)
    expect([decide('a'), decide('b'), decide('c')]).toEqual([true, true, false])
    clock.ms += 5000
    expect([decide('d'), decide('e')]).toEqual([true, false])
  })

  it('of none leaves those that somebody asks for', () => {
    const { decide, records } = recordsOf({ perSecond: 0 })
    expect([decide('a'), decide('b', true), decide('c')]).toEqual([false, true, false])
    expect(idsOf(records)).toEqual(['b'])
  })
})

describe('what is kept', () => {
  it('is bounded in number, oldest forgotten first', () => {
    const { decide, records } = recordsOf({ maximumRecords: 3 })
    for (const id of ['a', 'b', 'c', 'd', 'e']) decide(id)
    expect([idsOf(records), records.size, records.recorded]).toEqual([['e', 'd', 'c'], 3, 5])
    expect(records.of('a')).toEqual([])
    expect(idsOf(records, 2)).toEqual(['e', 'd'])
    expect(records.latest(0)).toEqual([])
  })

  it('is bounded in bytes, and counts them', () => {
    const { decide, records } = recordsOf()
    for (const id of ['a', 'b', 'c']) decide(id)
    const ofThree = records.bytes
    expect(ofThree).toBeGreaterThan(3 * 500)
    const small = recordsOf({ maximumBytes: ofThree - 1 })
    for (const id of ['a', 'b', 'c']) small.decide(id)
    expect(idsOf(small.records)).toEqual(['c', 'b'])
    for (const id of ['d', 'e', 'f']) small.decide(id)
    expect(idsOf(small.records)).toEqual(['f', 'e'])
    expect(small.records.bytes).toBeLessThan(ofThree)
    const none = recordsOf({ maximumBytes: 10 })
    none.decide('a')
    expect([none.records.size, none.records.bytes]).toEqual([0, 0])
  })

  it('is by request: one record a selection', () => {
    const { records, partition, fleet } = recordsOf()
    const routedOn = { exactness: 'exact', promptTokens: 8, isEstimated: false, blocks: 2 }
    const onExplained = records.recorder(partition, true, () => ({
      requestId: 'r',
      path: '/p',
      partition,
      routedOn,
    }))
    for (const requestId of ['r.0', 'r.1'])
      fleet.reserve(everybody, { prompt: promptOf('ab') }, { requestId, onExplained })
    expect(records.of('r').map((record) => (record as Json).attempt)).toEqual([1, 2])
    expect(records.of('r.0')).toEqual([])
  })
})

describe('a record', () => {
  it('is of the decision that was taken: reasons, costs, facts and choice', () => {
    const { decide, records, fleet, add } = recordsOf()
    add(3, { taints: ['spare'] })
    decide('a')
    const found: RoutedExplanation[] = []
    const chosen = fleet.reserve(
      everybody,
      { prompt: promptOf('abc'), terms: { allowedWorkerIds: [1n, 2n] } },
      { requestId: 'b', onExplained: (one) => found.push(one) },
    )
    expect(found[0]!.chosen).toEqual({ workerId: chosen.workerId, dpRank: 0 })
    const [record] = records.of('a') as Json[]
    const chosenId = record.chosen.worker_id
    expect(record).toMatchObject({
      request_id: 'a',
      time: '2023-11-14T22:13:20.000Z',
      path: '/v1/completions',
      model_name: 'default',
      routing_group: 'default',
      role: 'aggregated',
      block_size: 4,
      routed_on: { exactness: 'exact', approximate: true, prompt_tokens: 8, is_estimated: false, blocks: 2 },
      policy: {
        type: 'dynamo-default-cost-fn',
        name: 'default',
        revision: 1,
        parameters: {},
        router_defaults: { prefill_load_scale: 1 },
      },
      result: { required_blocks: 2, effective_overlap_blocks: 0, cached_tokens: 0 },
      margin: 0,
    })
    expect(record.tie_set.length).toBe(3)
    const ranks: Json[] = record.ranks
    expect(ranks.map((rank) => rank.worker_id)).toEqual([1n, 2n, 3n])
    expect(ranks.find((rank) => rank.worker_id === chosenId)).toMatchObject({
      cache: { device_blocks: 0, credited_tokens: 0 },
      load: { active_requests: 0, active_prefill_tokens: 0 },
      contributions: [{ scorer: expect.any(String), cost: expect.any(Number) }],
    })
    // Everything that a policy could weigh, and nothing that a client wrote.
    expect(
      JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    ).not.toMatch(/97000|98000/)
  })

  it('of a selection that came to nothing says why, rank by rank', () => {
    const { records, partition, fleet } = recordsOf()
    const routedOn = { exactness: 'exact', promptTokens: 8, isEstimated: false, blocks: 2 }
    const onExplained = records.recorder(partition, true, () => ({
      requestId: 'r',
      path: '/p',
      partition,
      routedOn,
    }))
    const terms = { requiredTaints: ['gold'] }
    expect(() =>
      fleet.reserve(everybody, { prompt: promptOf('ab'), terms }, { requestId: 'r', onExplained }),
    ).toThrow()
    expect(records.of('r')).toMatchObject([
      {
        chosen: null,
        error: { code: 'ROUTER_NO_ENDPOINTS' },
        ranks: [
          { rejection: 'RoutingConstraintsUnsatisfied' },
          { rejection: 'RoutingConstraintsUnsatisfied' },
        ],
      },
    ])
  })

  it('U26: tells the reasons apart for which a worker is left out', () => {
    const { records, partition, fleet, add } = recordsOf()
    const { workers } = fleet
    const hindrances = ['not_learned', 'probe_failed', 'inhibited', 'breaker_open', 'no_progress'] as const
    hindrances.forEach((code, at) => {
      add(10 + at)
      workers.setHindrances(BigInt(10 + at), [{ code, detail: 'as seen', sinceMs: 0 }])
    })
    for (const id of [15, 16, 17, 18]) add(id, id === 17 ? {} : { taints: ['gold'] })
    fleet.reserveOn(everybody, { requestId: 'busy', workerId: 15n, dpRank: 0, prompt: promptOf('a') })
    workers.drain(15n)
    const { table } = partition.router.partition
    table.setOverloaded(table.slotOf(16n, 0), true)
    for (const id of [1n, 2n]) workers.remove(id)
    add(19, { taints: ['gold'] })
    const routedOn = { exactness: 'exact', promptTokens: 8, isEstimated: false, blocks: 2 }
    const onExplained = records.recorder(partition, true, () => ({
      requestId: 'r',
      path: '/p',
      partition,
      routedOn,
    }))
    const terms = {
      requiredTaints: ['gold'],
      allowedWorkerIds: [10, 11, 12, 13, 14, 15, 16, 17, 18].map(BigInt),
    }
    fleet.reserve(everybody, { prompt: promptOf('ab'), terms }, { requestId: 'r', onExplained })
    const [record] = records.of('r') as Json[]
    const why = record.ranks.map(({ rejection, reasons }: Json) => reasons?.join() ?? rejection)
    expect(why).toEqual([
      ...hindrances,
      'draining',
      'WorkerOverloaded',
      'RoutingConstraintsUnsatisfied',
      undefined,
      'WorkerNotAllowed',
    ])
    // The first five stand in the records of the workers too.
    const texts = workers.list().flatMap(({ reasons }) => reasons)
    expect(texts).toEqual(hindrances.map((code) => `${code}: as seen, since 0 s`))
  })
})
