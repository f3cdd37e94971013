import { type EventCounters, FILTER_REASONS, NOOP_REASONS, type SequenceCounters } from '@router/kv-events'
import type { LruRetention } from '@router/kv-index'
import type { Child } from './metric.js'

const filterReasons: ReadonlySet<string> = new Set(FILTER_REASONS)
/** Stores that no sound engine sends. */
const suspiciousReasons: ReadonlySet<string> = new Set(
  NOOP_REASONS.filter((reason) => reason !== 'block_size_mismatch'),
)

/** Which metric counts an event that changed nothing. */
export type DropMetric = 'filtered' | 'suspicious' | 'conversion'

/** Counts of a worker, as `metric` and its labels: `applied stored ok`, `filtered removed unknown_kind`. */
export function* eventCounts(counters: EventCounters): Generator<[string, number]> {
  const { stored, removed, cleared, droppedByKind, shortTokens, unknownRank, forgottenReferences } = counters
  for (const [outcome, count] of Object.entries(stored))
    if (outcome !== 'ok' && outcome !== 'duplicate_store') yield [`applied stored ${outcome}`, count]
  yield ['applied stored ok', stored.ok + stored.duplicate_store]
  for (const [outcome, count] of Object.entries(removed)) yield [`applied removed ${outcome}`, count]
  yield ['applied cleared ok', cleared]
  yield ['warning duplicate_store', stored.duplicate_store]
  yield ['warning unknown_rank', unknownRank]
  yield ['warning reference_forgotten', forgottenReferences]
  for (const [kind, reasons] of Object.entries(droppedByKind))
    for (const [reason, count] of Object.entries(reasons))
      yield [`${dropMetricOf(reason)} ${kind === 'undecodable' ? 'unknown' : kind} ${reason}`, count]
  if (shortTokens > 0) yield ['conversion stored tokens_short', shortTokens]
}

/** Counts of a socket. */
export function* sequenceCounts(counters: SequenceCounters): Generator<[string, number]> {
  const { missing, batches, replays, undecodable, badFrames } = counters
  yield ['missing', missing]
  yield ['batches', batches]
  for (const [result, count] of Object.entries(replays)) yield [`replay ${result}`, count]
  for (const [fault, count] of Object.entries({ ...badFrames, bad_msgpack: undecodable }))
    if (count > 0) yield [`conversion batch ${fault}`, count]
}

/** Counts of the LRU estimate of a partition. */
export function lruCounts(lru: LruRetention): [string, number][] {
  const { fallbackActivations, evictedTotal } = lru.stats()
  return [
    ['fallbacks', fallbackActivations],
    ['evicted', evictedTotal],
  ]
}

function dropMetricOf(reason: string): DropMetric {
  if (filterReasons.has(reason)) return 'filtered'
  return suspiciousReasons.has(reason) ? 'suspicious' : 'conversion'
}

/** Sums whose keys are `metric event_type reason`. */
export function dropsOf(metric: DropMetric, sums: ReadonlyMap<string, number>): Child[] {
  return [...sums].flatMap(([key, value]): Child[] => {
    const [own, eventType, reason] = key.split(' ')
    return own === metric ? [{ labels: { event_type: eventType!, reason: reason! }, value }] : []
  })
}
