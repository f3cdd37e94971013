import { describe, expect, it } from 'vitest'
import { logBounds } from '../../src/metrics/distribution.js'
import { everybody, promptOf, testFleet } from '../fleet/support.js'
import { factsOf, measured } from './support.js'

const requestRows = [
  ['router_requests_started_total', 'counter', ''],
  ['router_requests_total', 'counter', ''],
  ['router_time_to_first_token_seconds', 'histogram', ''],
  ['router_inter_token_latency_seconds', 'histogram', ''],
  ['router_input_sequence_tokens', 'histogram', ''],
  ['router_output_sequence_tokens', 'histogram', ''],
  ['router_model_migration_total', 'counter', 'migration_type'],
  ['router_model_migration_max_seq_len_exceeded_total', 'counter', ''],
  ['router_model_rejection_total', 'counter', 'endpoint,reason'],
  ['router_model_cancellation_total', 'counter', 'endpoint,request_type'],
] as const

/** How well the process is: also in modes that look at no caches. */
const stateRows = [
  ['router_degraded', 'gauge', 'cause'],
  ['router_state_entries', 'gauge', 'map'],
  ['router_fallbacks_total', 'counter', 'cause'],
  ['router_ignored_hints_total', 'counter', 'hint'],
] as const

const rankLabels = 'worker_id,dp_rank,worker_type'

const cacheRows = [
  ['router_kv_hit_rate', 'histogram', ''],
  ['router_kv_overlap_blocks_total', 'counter', ''],
  ['router_kv_isl_blocks_total', 'counter', ''],
  ['router_non_max_overlap_selections_total', 'counter', 'worker_type'],
  ['router_overlap_blocks_lost', 'histogram', 'worker_type'],
  ['router_kv_best_eligible_cached_prefix_tokens_total', 'counter', 'phase,model'],
  ['router_kv_selected_cached_prefix_tokens_total', 'counter', 'phase,model'],
  ['router_kv_worker_reused_tokens_total', 'counter', 'phase,model'],
  ['router_shared_cache_hit_rate', 'histogram', ''],
  ['router_shared_cache_beyond_blocks', 'histogram', ''],
  ['router_worker_active_decode_blocks', 'gauge', rankLabels],
  ['router_worker_active_prefill_tokens', 'gauge', rankLabels],
  ['router_worker_last_time_to_first_token_seconds', 'gauge', rankLabels],
  ['router_worker_last_input_sequence_tokens', 'gauge', rankLabels],
  ['router_worker_last_inter_token_latency_seconds', 'gauge', rankLabels],
  ['router_workers', 'gauge', 'state'],
  ['router_worker_state', 'gauge', 'state,reason'],
  ['router_worker_registered', 'gauge', 'worker_id'],
  ['router_worker_incarnations_total', 'counter', 'worker_id'],
  ['router_model_total_kv_blocks', 'gauge', 'model'],
  ['router_model_max_num_seqs', 'gauge', 'model'],
  ['router_model_max_num_batched_tokens', 'gauge', 'model'],
  ['router_model_context_length', 'gauge', 'model'],
  ['router_model_kv_cache_block_size', 'gauge', 'model'],
  ['router_model_migration_limit', 'gauge', 'model'],
  ['router_active_requests', 'gauge', ''],
  ['router_stage_requests', 'gauge', 'stage,phase'],
  ['router_bookings_expired_total', 'counter', ''],
  ['router_ledger_violations_total', 'counter', ''],
  ['router_kv_cache_events_applied', 'counter', 'event_type,status'],
  ['router_kv_cache_event_warnings', 'counter', 'warning_kind'],
  ['router_kv_publisher_zmq_filtered_events_total', 'counter', undefined],
  ['router_kv_publisher_zmq_conversion_issues_total', 'counter', undefined],
  ['router_kv_publisher_zmq_suspicious_events_total', 'counter', undefined],
  ['router_kv_publisher_engines_dropped_events_total', 'counter', ''],
  ['router_kv_zmq_ingress_sources', 'gauge', 'state'],
  ['router_kv_zmq_ingress_batches_total', 'counter', ''],
  ['router_kv_zmq_ingress_replay_total', 'counter', 'result'],
  ['router_index_blocks', 'gauge', 'model'],
  ['router_index_ranks', 'gauge', 'state'],
  ['router_kv_event_source_mismatch_workers', 'gauge', ''],
  ['router_approximate_cache_configured_policy', 'gauge', 'policy'],
  ['router_approximate_cache_effective_policy', 'gauge', 'policy'],
  ['router_approximate_lru_ranks', 'gauge', ''],
  ['router_approximate_lru_blocks', 'gauge', ''],
  ['router_approximate_lru_leases', 'gauge', ''],
  ['router_approximate_lru_fallback_activations_total', 'counter', ''],
  ['router_approximate_lru_evicted_blocks_total', 'counter', ''],
  ['router_overhead_block_hashing_ms', 'histogram', ''],
  ['router_overhead_seq_hashing_ms', 'histogram', ''],
  ['router_overhead_indexer_find_matches_ms', 'histogram', ''],
  ['router_overhead_scheduling_ms', 'histogram', ''],
  ['router_overhead_total_ms', 'histogram', ''],
  ['router_overhead_shared_cache_query_ms', 'histogram', ''],
  ['router_kv_event_lag_seconds', 'histogram', ''],
  ['router_policy_revision', 'gauge', 'policy'],
  ['router_policy_patches_total', 'counter', 'policy,result'],
] as const

/** A fleet with one of everything that has labels. */
function busyFleet(options: Parameters<typeof measured>[1] = {}) {
  const one = testFleet()
  const { fleet } = one
  const metrics = measured(fleet, options)
  one.add(1, { totalKvBlocks: 100, maxNumSeqs: 8, maxNumBatchedTokens: 512 })
  fleet.workers.learn(1n, { models: [{ id: 'default', maxModelLen: 4096 }] })
  fleet.reserve(everybody, { prompt: promptOf('ab') }, { requestId: 'a' })
  metrics.metrics.finished(factsOf({ ignoredHints: ['speculative_prefill'] }))
  metrics.metrics.finished(factsOf({ ending: 'refused', errorCode: 'not_ready', attempts: 0 }))
  metrics.metrics.finished(factsOf({ ending: 'client_gone', wantsStream: false }))
  return { ...one, ...metrics }
}

describe('what is exposed', () => {
  it('is every row of the table: name, type and labels', async () => {
    const { families } = busyFleet()
    const found = [...(await families())].map(([name, { type, labels }]) => [name, type, [...labels][0]])
    const wanted = [...requestRows, ...stateRows, ...cacheRows]
    expect(found.toSorted()).toEqual(wanted.map((row) => [...row]).toSorted())
    for (const [name, { labels, help }] of await families()) {
      expect([name, labels.size <= 1, help.length > 10]).toEqual([name, true, true])
    }
  })

  it.each(['round-robin', 'random', 'power-of-two', 'least-loaded', 'device-aware-weighted', 'direct'])(
    'in mode %s is what is known of requests, and how well the process is',
    async (mode) => {
      const { families, value } = busyFleet({ mode })
      const found = [...(await families()).keys()]
      expect(found.toSorted()).toEqual([...requestRows, ...stateRows].map(([name]) => name).toSorted())
      expect(await value('router_requests_started_total')).toBe(1)
    },
  )

  it('has the prefix in front of every name, and the id of the router on every series', async () => {
    const { metrics } = busyFleet({ prefix: 'dynamo_component_', routerId: 'left "1"' })
    const lines = (await metrics.text()).split('\n').filter((line) => line !== '')
    for (const line of lines) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) )?dynamo_component_router_/)
      if (!line.startsWith('#')) expect(line).toContain(String.raw`router_id="left \"1\""`)
    }
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  })

  it('log buckets are equal steps of a ratio, to three significant digits', async () => {
    expect(logBounds(50, 128_000, 12)).toEqual([
      50, 102, 208, 425, 868, 1770, 3610, 7380, 15_100, 30_700, 62_700, 128_000,
    ])
    const { families } = busyFleet()
    const bounds = async (name: string): Promise<string[]> =>
      [...(await families()).get(name)!.series.keys()].flatMap(
        (key) => /_bucket\{le="(.*)"/.exec(key)?.[1] ?? [],
      )
    const first = await bounds('router_time_to_first_token_seconds')
    expect([first.length, first[0], first[1], first.at(-2)]).toEqual([19, '0.001', '0.00216', '480'])
    expect((await bounds('router_inter_token_latency_seconds')).length).toBe(14)
    expect((await bounds('router_output_sequence_tokens')).length).toBe(11)
    expect((await bounds('router_kv_event_lag_seconds')).length).toBe(14)
    const compute = await bounds('router_overhead_block_hashing_ms')
    expect([compute.length, compute[0], compute.at(-2)]).toEqual([16, '0.001', '16.384'])
    const waits = await bounds('router_overhead_scheduling_ms')
    expect([waits.length, waits[0], waits[1]]).toEqual([18, '0.01', '0.03'])
    const share = await bounds('router_kv_hit_rate')
    expect([share.length, share[3], share.at(-2)]).toEqual([22, '0.15', '1'])
  })
})

describe('requests', () => {
  it('count when they have a rank, their tokens and times when they were answered', async () => {
    const { value, metrics } = busyFleet()
    expect(await value('router_requests_started_total')).toBe(1)
    // That of the selection API, which others relay, and two that had a rank.
    expect(await value('router_requests_total')).toBe(3)
    expect(await value('router_time_to_first_token_seconds_sum')).toBe(0.2)
    expect(await value('router_inter_token_latency_seconds_sum')).toBeCloseTo(0.4 / 4, 12)
    expect(await value('router_output_sequence_tokens_sum')).toBe(5)
    expect(await value('router_input_sequence_tokens_sum')).toBe(8)
    expect(await value('router_model_rejection_total{endpoint="chat_completions",reason="not_ready"}')).toBe(
      1,
    )
    expect(
      await value('router_model_cancellation_total{endpoint="chat_completions",request_type="unary"}'),
    ).toBe(1)
    // An answer in one piece does not show when its tokens came.
    metrics.finished(factsOf({ contentChunks: 0, wantsStream: false, path: '/tokenize' }))
    metrics.finished(factsOf({ ending: 'broken' }))
    expect(await value('router_time_to_first_token_seconds_count')).toBe(1)
    expect(await value('router_output_sequence_tokens_count')).toBe(2)
    expect(await value('router_requests_total')).toBe(5)
  })

  it('that were sent again count as moved, those on a fresh connection as stale', async () => {
    const { value, metrics } = busyFleet()
    metrics.finished(factsOf({ attempts: 4, freshTries: 1 }))
    expect(await value('router_model_migration_total{migration_type="new_request"}')).toBe(2)
    expect(await value('router_model_migration_total{migration_type="ongoing_request"}')).toBe(0)
    expect(await value('router_fallbacks_total{cause="stale_connection"}')).toBe(1)
  })
})
