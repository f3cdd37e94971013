import {
  type EventCounters,
  type SequenceCounters,
  type SocketReport,
  type SocketState,
} from '@router/kv-events'
import type { LruRetention } from '@router/kv-index'
import type { Fleet } from '../fleet/fleet.js'
import type { HealthCauses } from '../fleet/health-causes.js'
import type { BoundedLabels } from './bounded-labels.js'
import { Distribution, logBounds } from './distribution.js'
import { type DropMetric, dropsOf, eventCounts, lruCounts, sequenceCounts } from './event-sums.js'
import { LastingSums } from './lasting-sums.js'
import { type Metric, byLabel, histogram, single } from './metric.js'

const socketStates: readonly SocketState[] = ['connecting', 'live', 'recovering', 'rebuilding', 'failed']
const replayResults = ['filled', 'truncated', 'timeout'] as const
/** Outcomes of changes, as `event_type status`. A store of what was held already succeeds. */
const appliedKinds = [
  'stored ok',
  'stored parent_not_found',
  'stored invalid_sequence',
  'stored capacity',
  'removed ok',
  'removed block_not_found',
  'cleared ok',
] as const
const warningKinds = ['duplicate_store', 'unknown_rank', 'reference_forgotten'] as const
const mismatchCauses = new Set(['approximate_mode', 'block_size_mismatch', 'hash_layout_mismatch'])

/** What engines tell of their caches, what became of it, and what is believed where they do not. */
export class EventMetrics {
  readonly #fleet: Fleet
  readonly #causes: HealthCauses
  readonly #models: BoundedLabels
  readonly #lag = new Distribution(logBounds(0.001, 60, 13))
  readonly #events = new LastingSums<EventCounters>(eventCounts)
  readonly #sequences = new LastingSums<SequenceCounters>(sequenceCounts)
  readonly #lru = new LastingSums<LruRetention>(lruCounts)
  readonly #stopListening: () => void

  /** @param wallMs milliseconds since 1970 */
  constructor(fleet: Fleet, causes: HealthCauses, models: BoundedLabels, wallMs: () => number) {
    this.#fleet = fleet
    this.#causes = causes
    this.#models = models
    this.#stopListening = fleet.workers.listen({
      // Clocks that go ahead of ours are taken to be right.
      onEventBatch: (ts) => this.#lag.observe(Math.max(0, wallMs() / 1000 - ts)),
    })
  }

  /** How often the LRU estimate of a rank gave way to lifetimes, for want of a capacity. */
  get lruFallbacks(): number {
    return this.#lru.get('fallbacks')
  }

  /** What is kept of sockets: batches that wait, what events taught, blocks that were stored more than once. */
  get sizes(): Readonly<Record<string, number>> {
    const sizes = { event_batches_waiting: 0, event_memory: 0, event_references: 0 }
    for (const { waiting, remembered, references } of this.#reports()) {
      sizes.event_batches_waiting += waiting
      sizes.event_memory += remembered
      sizes.event_references += references
    }
    return sizes
  }

  /** Gathers what workers counted, before they go. */
  gather(): void {
    const ids = this.#workerIds()
    this.#events.gather(ids.flatMap((workerId) => this.#fleet.workers.eventCounters(workerId) ?? []))
    this.#sequences.gather(this.#reports().map(({ counters }) => counters))
    this.#lru.gather(this.#fleet.partitions.flatMap(({ router }) => router.prefix.lru ?? []))
  }

  close(): void {
    this.#stopListening()
  }

  metrics(): Metric[] {
    return [
      ...this.#eventMetrics(),
      ...this.#socketMetrics(),
      ...this.#indexMetrics(),
      ...this.#beliefMetrics(),
    ]
  }

  #eventMetrics(): Metric[] {
    return [
      {
        type: 'counter',
        name: 'router_kv_cache_events_applied',
        help: 'Changes that engines told, as the index took them: ok, or why it did not. Changes that continue one another count once',
        labels: ['event_type', 'status'],
        read: () =>
          appliedKinds.map((kind) => {
            const [eventType, status] = kind.split(' ')
            return {
              labels: { event_type: eventType!, status: status! },
              value: this.#events.get(`applied ${kind}`),
            }
          }),
      },
      byLabel(
        'counter',
        'router_kv_cache_event_warnings',
        'warning_kind',
        'Changes that are odd, and harm nothing',
        () => warningKinds.map((kind) => [kind, this.#events.get(`warning ${kind}`)]),
      ),
      this.#dropMetric('filtered', 'filtered_events', 'Events that say nothing of prefixes on this engine'),
      this.#dropMetric(
        'conversion',
        'conversion_issues',
        'Events and batches that cannot be read, or are of blocks of another size',
      ),
      this.#dropMetric('suspicious', 'suspicious_events', 'Stores that name a block twice'),
      single(
        'counter',
        'router_kv_publisher_engines_dropped_events_total',
        'Sequence numbers of batches that nobody could deliver',
        () => this.#sequences.get('missing'),
      ),
      histogram(
        'router_kv_event_lag_seconds',
        'From the time at which the engine made a batch, by its clock, to its being in the index; batches of replays are left out',
        this.#lag,
      ),
    ]
  }

  #socketMetrics(): Metric[] {
    return [
      byLabel('gauge', 'router_kv_zmq_ingress_sources', 'state', 'Event sockets by state', () =>
        countsOf(
          socketStates,
          this.#reports().map(({ state }) => state),
        ),
      ),
      single('counter', 'router_kv_zmq_ingress_batches_total', 'Batches of events that were applied', () =>
        this.#sequences.get('batches'),
      ),
      byLabel(
        'counter',
        'router_kv_zmq_ingress_replay_total',
        'result',
        'Gaps that a replay socket was asked to fill, by what came of it',
        () => replayResults.map((result) => [result, this.#sequences.get(`replay ${result}`)]),
      ),
    ]
  }

  #indexMetrics(): Metric[] {
    return [
      byLabel(
        'gauge',
        'router_index_blocks',
        'model',
        'Device blocks that ranks hold, told or believed',
        () => {
          const blocks = new Map<string, number>()
          for (const { name, router } of this.#fleet.partitions) {
            const model = this.#models.of(name.model)
            blocks.set(model, (blocks.get(model) ?? 0) + router.index.currentSize)
          }
          return blocks
        },
      ),
      byLabel(
        'gauge',
        'router_index_ranks',
        'state',
        'Ranks by how well it is known what they hold: state of their event socket, or approximate without one',
        () => this.#rankStates(),
      ),
      single(
        'gauge',
        'router_kv_event_source_mismatch_workers',
        'Workers whose events are missing, or are not what the router can use, while it expects them',
        () =>
          new Set(
            this.#causes
              .list()
              .filter(({ code }) => mismatchCauses.has(code))
              .map(({ scope }) => scope.split('.')[0]),
          ).size,
      ),
    ]
  }

  #beliefMetrics(): Metric[] {
    const lruSum = (key: 'ranks' | 'resident' | 'leases'): number =>
      this.#fleet.partitions.reduce((sum, { router }) => sum + (router.prefix.lru?.stats()[key] ?? 0), 0)
    const configured = this.#fleet.settings.core?.approximateCachePolicy ?? 'ttl'
    const policies = (name: string, help: string, isIn: (policy: 'ttl' | 'lru' | 'disabled') => boolean) =>
      byLabel('gauge', `router_approximate_cache_${name}_policy`, 'policy', help, () =>
        (['ttl', 'lru', 'disabled'] as const).map((policy) => [policy, isIn(policy) ? 1 : 0]),
      )
    return [
      policies(
        'configured',
        'How blocks of ranks without events are believed, as configured: 1',
        (policy) => policy === configured,
      ),
      policies(
        'effective',
        'How they are: 1; disabled = every rank has events. Both ttl and lru where some ranks say no capacity',
        (policy) => this.#effectivePolicies().has(policy),
      ),
      single('gauge', 'router_approximate_lru_ranks', 'Ranks that are kept by LRU', () => lruSum('ranks')),
      single('gauge', 'router_approximate_lru_blocks', 'Copies of blocks, and private blocks, on them', () =>
        lruSum('resident'),
      ),
      single('gauge', 'router_approximate_lru_leases', 'Requests in flight on them', () => lruSum('leases')),
      single(
        'counter',
        'router_approximate_lru_fallback_activations_total',
        'How often a rank was kept by lifetimes instead, since it says no capacity',
        () => this.lruFallbacks,
      ),
      single('counter', 'router_approximate_lru_evicted_blocks_total', 'Copies that were evicted', () =>
        this.#lru.get('evicted'),
      ),
    ]
  }

  #dropMetric(kind: DropMetric, name: string, help: string): Metric {
    return {
      type: 'counter',
      name: `router_kv_publisher_zmq_${name}_total`,
      help,
      labels: ['event_type', 'reason'],
      read: () => [...dropsOf(kind, this.#events.sums), ...dropsOf(kind, this.#sequences.sums)],
    }
  }

  #workerIds(): bigint[] {
    return this.#fleet.partitions.flatMap(({ router }) =>
      router.partition.table.workers.map(({ workerId }) => workerId),
    )
  }

  #reports(): SocketReport[] {
    return this.#workerIds().flatMap((workerId) => this.#fleet.workers.eventReports(workerId))
  }

  #rankStates(): Iterable<readonly [string, number]> {
    const states: string[] = []
    for (const { router } of this.#fleet.partitions)
      for (const { workerId, dataParallelSize } of router.partition.table.workers) {
        const reports = this.#fleet.workers.eventReports(workerId)
        states.push(...reports.map(({ state }) => state))
        if (reports.length === 0)
          for (let rank = 0; rank < dataParallelSize; rank++) states.push('approximate')
      }
    return countsOf([...socketStates, 'approximate'], states)
  }

  #effectivePolicies(): Set<'ttl' | 'lru' | 'disabled'> {
    const policies = new Set<'ttl' | 'lru' | 'disabled'>()
    const { partitions, workers } = this.#fleet
    for (const { router } of partitions) {
      const { lru } = router.prefix
      const { ranks, fallbackRanks } = lru?.stats() ?? { ranks: 0, fallbackRanks: 0 }
      if (ranks > 0) policies.add('lru')
      if (fallbackRanks > 0) policies.add('ttl')
      const isBelieved = router.partition.table.workers.some(
        ({ workerId }) => workers.eventCounters(workerId) === undefined,
      )
      if (isBelieved && lru === undefined) policies.add('ttl')
    }
    return policies.size > 0 ? policies : policies.add('disabled')
  }
}

function countsOf(names: readonly string[], found: readonly string[]): Map<string, number> {
  const counts = new Map(names.map((name) => [name, 0]))
  for (const name of found) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
