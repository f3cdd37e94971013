import { afterEach, describe, expect, it } from 'vitest'
import { LastingSums } from '../../src/metrics/lasting-sums.js'
import { TestEngine, storedBatch } from '../fleet/engine.js'
import { testFleet } from '../fleet/support.js'
import { until } from '../until.js'
import { measured, measuredFleet } from './support.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const wallMs = 1_700_000_000_000

/** A worker with events, and metrics of what it tells. */
async function followed() {
  const one = testFleet({})
  const engine = new TestEngine()
  const url = await engine.start()
  const all = measured(one.fleet, { wallMs: () => wallMs })
  closing.push(() => engine.stop())
  closing.push(() => one.fleet.dispose())
  one.add(1, { kvEventsEndpoint: url })
  await until('subscribed', () => engine.subscriptions > 0)
  const applied = (sequence: number) => () =>
    one.fleet.workers.eventReports(1n)[0]?.cursor === BigInt(sequence)
  const publish = async (sequence: number, payload: Uint8Array) => {
    await engine.publish(sequence, payload)
    await until(`${sequence} is in`, applied(sequence))
  }
  return { ...one, ...all, engine, publish }
}

/** The batch as an engine makes it so many seconds before now. */
function aged(batch: Uint8Array, seconds: number): Uint8Array {
  const copy = Uint8Array.from(batch)
  new DataView(copy.buffer).setFloat64(2, wallMs / 1000 - seconds)
  return copy
}

/** The batch with these bytes in place of others. */
function changed(batch: Uint8Array, from: string, to: string): Uint8Array {
  return Buffer.from(Buffer.from(batch).toString('latin1').replace(from, to), 'latin1')
}

const drops = (kind: string, eventType: string, reason: string) =>
  `router_kv_publisher_zmq_${kind}_total{event_type="${eventType}",reason="${reason}"}`

describe('events', () => {
  it('are counted by what became of them, with how late they are, and stay when their worker goes', async () => {
    const { publish, value, families, fleet, metrics } = await followed()
    await publish(0, aged(storedBatch('abc'), 0.5))
    await publish(1, aged(storedBatch('abc'), 2))
    await publish(2, aged(storedBatch('de', 8), 0))
    await publish(3, aged(changed(storedBatch('f'), 'GPU', 'XPU'), 0))
    await publish(4, aged(changed(storedBatch('gh'), '\xce\0\0\0\x02', '\xce\0\0\0\x01'), 0))
    await publish(8, aged(storedBatch('i'), -3))
    await publish(9, aged(storedBatch('j'), Infinity))
    const wanted: Record<string, number> = {
      'router_kv_cache_events_applied{event_type="stored",status="ok"}': 4,
      'router_kv_cache_events_applied{event_type="stored",status="parent_not_found"}': 0,
      'router_kv_cache_events_applied{event_type="cleared",status="ok"}': 0,
      'router_kv_cache_event_warnings{warning_kind="duplicate_store"}': 1,
      [drops('conversion_issues', 'stored', 'block_size_mismatch')]: 1,
      [drops('filtered_events', 'stored', 'unknown_medium')]: 1,
      [drops('suspicious_events', 'stored', 'repeated_hash')]: 1,
      router_kv_publisher_engines_dropped_events_total: 3,
      router_kv_zmq_ingress_batches_total: 7,
      router_kv_event_lag_seconds_count: 6,
    }
    const seen = async () =>
      Object.fromEntries(
        await Promise.all(Object.keys(wanted).map(async (name) => [name, await value(name)])),
      )
    expect(await seen()).toEqual(wanted)
    // Of an engine whose clock goes ahead it is 0, of one that has no time it is none.
    expect(await value('router_kv_event_lag_seconds_sum')).toBe(2.5)
    expect(await value('router_kv_event_lag_seconds_bucket{le="0.001"}')).toBe(4)
    expect(await value('router_kv_event_lag_seconds_bucket{le="0.613"}')).toBe(5)
    expect(await value('router_kv_zmq_ingress_sources{state="rebuilding"}')).toBe(1)
    expect(await value('router_index_ranks{state="rebuilding"}')).toBe(1)
    expect(await value('router_index_blocks{model="default"}')).toBe(2)
    metrics.tick()
    fleet.workers.remove(1n)
    expect(await seen()).toEqual(wanted)
    expect(await value('router_kv_zmq_ingress_sources{state="rebuilding"}')).toBe(0)
    for (const kind of ['filtered_events', 'conversion_issues', 'suspicious_events'])
      expect([...(await families()).get(`router_kv_publisher_zmq_${kind}_total`)!.labels]).toEqual([
        'event_type,reason',
      ])
  })

  it('that are missing while they are expected are a mismatch and a fallback; without, caches are believed', async () => {
    const { fleet, reserve, value, causes } = measuredFleet({})
    fleet.workers.upsert({ workerId: 1n, endpoint: 'http://w1', blockSize: 4 }, 'trusted')
    causes.raise({ code: 'approximate_mode', scope: '1', detail: '' })
    causes.raise({ code: 'block_size_mismatch', scope: '1.0', detail: '' })
    reserve('a', 'ab')
    expect(await value('router_kv_event_source_mismatch_workers')).toBe(1)
    expect(await value('router_degraded{cause="block_size_mismatch"}')).toBe(1)
    expect(await value('router_degraded{cause="no_workers"}')).toBe(0)
    expect(await value('router_fallbacks_total{cause="events_missing"}')).toBe(1)
    expect(await value('router_index_ranks{state="approximate"}')).toBe(1)
    expect(await value('router_approximate_cache_effective_policy{policy="ttl"}')).toBe(1)
    expect(await value('router_approximate_cache_effective_policy{policy="disabled"}')).toBe(0)
    const silent = measuredFleet({ usesKvEvents: false })
    silent.add(1)
    silent.reserve('a', 'ab')
    expect(await silent.value('router_fallbacks_total{cause="events_missing"}')).toBe(0)
  })
})

describe('blocks that are kept by LRU', () => {
  it('show their ranks, copies and leases, and the ranks that say no capacity', async () => {
    const { add, reserve, fleet, value } = measuredFleet({
      usesKvEvents: false,
      core: { approximateCachePolicy: 'lru' },
    })
    add(1, { totalKvBlocks: 3 })
    add(2)
    reserve('a', 'abc', { allowedWorkerIds: [1n] })
    const read = (name: string) => value(`router_approximate_${name}`)
    expect(await read('cache_configured_policy{policy="lru"}')).toBe(1)
    expect(await read('cache_configured_policy{policy="ttl"}')).toBe(0)
    expect(await read('cache_effective_policy{policy="lru"}')).toBe(1)
    expect(await read('cache_effective_policy{policy="ttl"}')).toBe(1)
    const counts = () =>
      Promise.all(['lru_ranks', 'lru_blocks', 'lru_leases', 'lru_evicted_blocks_total'].map(read))
    expect(await counts()).toEqual([1, 3, 1, 0])
    fleet.free('a')
    reserve('b', 'xyz', { allowedWorkerIds: [1n] })
    expect(await counts()).toEqual([1, 3, 1, 3])
    expect(await read('lru_fallback_activations_total')).toBe(1)
    expect(await value('router_fallbacks_total{cause="lru_capacity_missing"}')).toBe(1)
  })
})

describe('sums of counters whose owners come and go', () => {
  it('never go back, and forget owners that are gone', () => {
    const sums = new LastingSums<{ count: number }>(({ count }) => [['all', count]])
    const [one, other] = [{ count: 2 }, { count: 3 }]
    sums.gather([one, other])
    one.count = 5
    sums.gather([other])
    expect([sums.get('all'), sums.size]).toEqual([8, 1])
    one.count = 100
    other.count = 4
    sums.gather([other])
    expect([sums.get('all'), sums.get('none')]).toEqual([9, 0])
  })
})
