import { describe, expect, it, vi } from 'vitest'
import { learnedFindings } from '../../src/workers/learning/learned-findings.js'
import { ProbePaces } from '../../src/workers/probes/probe-paces.js'
import { late, openFleet, refused, requestTo, settled, vllm } from './support.js'

it('probes that the router had no room for say nothing of a worker', async () => {
  const kept = openFleet()
  kept.start(1)
  await settled()
  kept.engines['http://127.0.0.1:9001'] = { failure: 'shortage', detail: 'connect EMFILE' }
  await kept.timers.advance(60_000)
  expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
})

describe('a worker of which only the URL is known', () => {
  it('serves as soon as its engine told its model and sizes', async () => {
    const kept = openFleet()
    kept.start(1)
    expect(kept.lifecycle(1)).toBe('incomplete')
    await settled()
    expect(kept.workers.get(1n)).toMatchObject({
      lifecycle: 'schedulable',
      registration: { modelName: 'llama', blockSize: 16, totalKvBlocks: 900 },
      facts: { models: [{ id: 'llama', root: '/models/llama', maxModelLen: 4096 }] },
    })
    expect(kept.asked[0]!.url).toMatch(/\/health$/)
  })

  it('waits for an engine that is not there yet, asks it each second, and says why (U56)', async () => {
    const kept = openFleet()
    kept.start(1, refused)
    await kept.timers.advance(10_000)
    expect(kept.asked).toHaveLength(11)
    const { lifecycle, reasons } = kept.workers.get(1n)!
    expect(lifecycle).toBe('incomplete')
    expect(reasons.join('\n')).toContain(
      'probe_failed: GET http://127.0.0.1:9001/health: connection refused, since 10 s',
    )
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('whose engine asks for a key is incomplete, says so, and is asked with the key of its record', async () => {
    const kept = openFleet()
    kept.start(1, { ...vllm(), '/v1/models': { status: 401, body: '' } })
    await settled()
    expect(kept.against(1)).toEqual(['not_learned'])
    expect(kept.workers.get(1n)!.reasons.join()).toContain('GET /v1/models: status 401')
    kept.start(99)
    await settled()
    expect(new Set(kept.asked.map(({ apiKey }) => apiKey))).toEqual(new Set([undefined, 'secret']))
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
  })

  it('serves, though its engine cannot be asked, once its record lacks nothing', async () => {
    const kept = openFleet()
    kept.start(1, { '/health': '', '/v1/models': { status: 401, body: '' } })
    await settled()
    expect(kept.against(1)).toEqual(['not_learned'])
    const { registration } = kept.workers.get(1n)!
    kept.workers.upsert({ ...registration, modelName: 'm', blockSize: 16 }, 'trusted')
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
  })

  it('begins anew where another source names it', async () => {
    const kept = openFleet()
    kept.start(1, refused, { modelName: 'm', blockSize: 16 })
    await settled()
    expect(kept.against(1)).toEqual(['inhibited'])
    kept.workers.upsert(kept.workers.get(1n)!.registration, 'selection')
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
  })

  it('that the fleet cannot take is out, says why, and harms nothing', async () => {
    const kept = openFleet()
    const ranks = Array.from(
      { length: 4097 },
      (_, rank) => `vllm:cache_config_info{block_size="16",engine="${rank}"} 1`,
    )
    kept.start(1, { ...vllm(), '/metrics': ranks.join('\n') })
    kept.start(2, { ...vllm(), '/metrics': 'vllm:cache_config_info{block_size="16",engine="5000000000"} 1' })
    kept.start(3)
    await settled()
    expect([1, 2, 3].map(kept.lifecycle)).toEqual(['schedulable', 'incomplete', 'schedulable'])
    expect(kept.workers.get(2n)!.reasons.join()).not.toBe('')
  })

  it('is marked where a value is assumed or suspicious', async () => {
    const kept = openFleet()
    kept.start(1, { '/health': '', '/v1/models': '{"data":[{"id":"llama"}]}' })
    kept.start(2, {
      '/health': '',
      '/v1/models': '{"data":[{"id":"other"}]}',
      '/get_server_info': '{"page_size":16,"max_total_num_tokens":1600,"max_prefill_tokens":1600}',
    })
    await settled()
    expect(learnedFindings(kept.workers).map(({ code, scope }) => [code, scope])).toEqual([
      ['block_size_assumed', '1'],
      ['capacity_suspicious', '2'],
    ])
  })
})

describe('probes', () => {
  it('come each 5 s, each second while something is wrong', async () => {
    const kept = openFleet()
    kept.start(1)
    await kept.timers.advance(10_000)
    expect(kept.askedFor('/health')).toBe(3)
    kept.engines['http://127.0.0.1:9001'] = late
    await kept.timers.advance(5000)
    expect(kept.lifecycle(1)).toBe('schedulable')
    await kept.timers.advance(2000)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['unschedulable', ['probe_failed']])
    expect(kept.askedFor('/health')).toBe(6)
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
  })

  it('that come too late say nothing of a worker that answers requests meanwhile', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    kept.engines['http://127.0.0.1:9001'] = 'slow'
    const attempt = kept.keeper.begin(1n)!
    for (let second = 0; second < 30; second++) {
      await kept.timers.advance(1000)
      attempt.byte()
    }
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
    // One that is under way may have seen the last byte.
    await kept.timers.advance(20_000)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['unschedulable', ['probe_failed']])
  })

  it('read what was learned again only when it is old, or something was wrong', async () => {
    const kept = openFleet()
    kept.start(1)
    await kept.timers.advance(10_000)
    expect([kept.askedFor('/health'), kept.askedFor('/v1/models')]).toEqual([3, 1])
    kept.engines['http://127.0.0.1:9001'] = late
    await kept.timers.advance(5000)
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    expect(kept.askedFor('/v1/models')).toBe(2)
    await kept.timers.advance(10_000)
    expect([kept.askedFor('/health'), kept.askedFor('/v1/models')]).toEqual([7, 2])
  })

  it('read how much of its KV pool an engine uses while somebody looks; what it said more than 10 s ago is forgotten', async () => {
    const kept = openFleet()
    const engine = vllm()
    const metrics = engine['/metrics'] as string
    const used = (share: number) => `${metrics}vllm:kv_cache_usage_perc{engine="0"} ${share}\n`
    kept.start(1, { ...engine, '/metrics': used(0.5) })
    const blocks = () => kept.fleet.partitions[0]!.kvUsedBlocks(1n, 0)
    await settled()
    expect([blocks(), kept.askedFor('/metrics')]).toEqual([undefined, 1])
    await kept.timers.advance(5000)
    expect([blocks(), kept.askedFor('/metrics')]).toEqual([450, 2])
    kept.engines['http://127.0.0.1:9001'] = { ...engine, '/metrics': used(0.1) }
    await kept.timers.advance(5000)
    expect(blocks()).toBe(90)
    kept.engines['http://127.0.0.1:9001'] = engine
    await kept.timers.advance(10_000)
    expect(blocks()).toBe(90)
    await kept.timers.advance(1000)
    expect([blocks(), kept.lifecycle(1)]).toEqual([undefined, 'schedulable'])
    expect([2n, 1n].map((id) => kept.fleet.partitions[0]!.kvUsedBlocks(id, 3))).toEqual([
      undefined,
      undefined,
    ])
    const forUsage = () => kept.askedFor('/metrics') - kept.askedFor('/v1/models')
    const asked = forUsage()
    await kept.timers.advance(180_000)
    expect(forUsage() - asked).toBe(12)
  })

  it('warn once when a worker goes', async () => {
    const kept = openFleet()
    kept.start(1, { '/health': { status: 503, body: '' } }, { modelName: 'm', blockSize: 16 })
    await kept.timers.advance(20_000)
    expect(kept.warnings.map(({ code, workerId }) => [code, workerId])).toEqual([['probe_failed', 1n]])
  })

  it('of very many workers come less often each, so that the router has time for others', () => {
    const paces = new ProbePaces<number>({})
    const last = (from: number, count: number, isSuspect: boolean): number =>
      Array.from({ length: count }, (_, at) => paces.probeMs(from + at, isSuspect)).at(-1)!
    expect([last(0, 500, true), last(1000, 2500, false), paces.learnAgainMs]).toEqual([1000, 5000, 15_000])
    expect([last(0, 10_000, true), last(0, 10_000, false)]).toEqual([20_000, 20_000])
    for (let worker = 1; worker < 10_000; worker++) paces.delete(worker)
    expect([paces.probeMs(0, true), paces.probeMs(0, false), paces.learnAgainMs]).toEqual([
      1000, 5000, 15_000,
    ])
  })

  it('that fail concern no other worker: nobody else is looked at', async () => {
    const kept = openFleet()
    for (let id = 1; id <= 50; id++) kept.start(id)
    await settled()
    const get = vi.spyOn(kept.workers, 'get')
    requestTo(kept, 7, 'refused')
    kept.workers.remove(7n)
    expect(new Set(get.mock.calls.flat())).toEqual(new Set([7n]))
  })

  it('end with the worker: none goes to a URL that left (U37)', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    kept.workers.remove(1n)
    kept.workers.upsert({ workerId: 2n, endpoint: 'http://127.0.0.1:9003' }, 'trusted')
    const before = kept.asked.length
    await kept.timers.advance(30_000)
    const later = new Set(kept.asked.slice(before).map(({ url }) => new URL(url).port))
    expect([later, kept.keeper.size]).toEqual([new Set(['9003']), 1])
    kept.keeper.close()
    expect(kept.keeper.size).toBe(0)
    expect(kept.timers.pending).toBe(0)
  })

  it('an answer that comes after the worker left changes nothing', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.workers.remove(1n)
    expect(kept.asked[0]!.signal.aborted).toBe(true)
    await settled()
    expect([kept.workers.size, kept.keeper.size, kept.keeper.begin(1n)]).toEqual([0, 0, undefined])
    // What looks for silence is all that is left.
    expect(kept.timers.pending).toBe(1)
  })

  it('a request that ends after its worker left changes nothing either', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    const attempt = kept.keeper.begin(1n)!
    kept.workers.remove(1n)
    attempt.end('refused')
    kept.start(1)
    await settled()
    expect(kept.against(1)).toEqual([])
  })

  it('one that never answers keeps no other waiting (U45)', async () => {
    const kept = openFleet()
    kept.start(1, 'never')
    kept.start(2)
    await kept.timers.advance(20_000)
    const ports = kept.asked.filter(({ url }) => url.endsWith('/health')).map(({ url }) => new URL(url).port)
    expect([
      ports.filter((port) => port === '9001').length,
      ports.filter((port) => port === '9002').length,
    ]).toEqual([1, 5])
    expect(kept.lifecycle(2)).toBe('schedulable')
  })

  it('workers of the selection listener are never asked, those of the API where it is allowed', async () => {
    const kept = openFleet()
    const record = { modelName: 'm', blockSize: 16, endpoint: 'http://127.0.0.1:9001' }
    kept.workers.upsert({ ...record, workerId: 1n }, 'selection')
    await kept.timers.advance(10_000)
    expect(kept.asked).toEqual([])
    expect([kept.lifecycle(1), kept.keeper.begin(1n)]).toEqual(['schedulable', undefined])
    kept.workers.upsert({ ...record, workerId: 1n }, 'api')
    expect(kept.asked).toHaveLength(1)
  })
})

describe('reasons', () => {
  it('are told apart: each has its own (U26)', async () => {
    const kept = openFleet({ fleet: { usesKvEvents: true, queuesModel: (model) => model === 'queued' } })
    const reasonOf = (id: number, more: object, origin: 'api' | 'trusted' = 'api') => {
      const record = {
        workerId: BigInt(id),
        modelName: 'm',
        endpoint: `http://127.0.0.1:${9000 + id}`,
        blockSize: 16,
      }
      const events = { kvEventsEndpoint: 'tcp://127.0.0.1:5' }
      return kept.workers
        .upsert({ ...record, ...(origin === 'api' ? events : {}), ...more }, origin)
        .reasons.join()
    }
    reasonOf(1, {}, 'trusted')
    const own = [
      reasonOf(11, { endpoint: '' }),
      reasonOf(12, { blockSize: 0 }),
      reasonOf(13, { dataParallelSize: 0 }),
      reasonOf(14, { modelName: 'queued' }),
      reasonOf(15, { kvEventsEndpoint: undefined }),
      reasonOf(16, { blockSize: 32 }),
      reasonOf(17, { isEagle: true }),
      reasonOf(18, { kvEventsEndpoint: 'ipc:///x' }),
      reasonOf(19, { endpoint: 'http://10.0.0.1:80' }),
      reasonOf(20, { modelName: undefined }),
    ]
    for (let id = 1; id <= 4; id++) {
      kept.start(id, vllm(), { modelName: 'm', blockSize: 16 })
      await settled()
    }
    kept.engines['http://127.0.0.1:9001'] = { '/health': { status: 503, body: '' } }
    kept.keeper.begin(2n)
    await kept.timers.advance(11_000)
    for (let failure = 0; failure < 5; failure++) requestTo(kept, 3, 500)
    kept.start(5, vllm(), { modelName: 'm', blockSize: 16 })
    await settled()
    requestTo(kept, 5, 'refused')
    const health = [1, 2, 3, 5].map((id) => kept.workers.get(BigInt(id))!.reasons.join())
    expect(kept.lifecycle(4)).toBe('schedulable')
    expect(health.map((reason) => reason.split(':')[0])).toEqual([
      'probe_failed',
      'no_progress',
      'breaker_open',
      'inhibited',
    ])
    expect(new Set([...own, ...health].filter((reason) => reason !== '')).size).toBe(
      own.length + health.length,
    )
  })
})
