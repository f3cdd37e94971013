import type { LruStats, PrefixIndexStats, PrefixState } from '@router/kv-index'
import { PrefixIndex } from '@router/kv-index'
import type { RankLoad } from '../load/booking.js'
import type { LoadLedger } from '../load/load-ledger.js'
import { rankAt } from '../load/load-shapes.js'
import type { Partition } from '../router-core.js'

/** What a partition knows of one rank. */
export interface RankSnapshot {
  readonly workerId: bigint
  readonly dpRank: number
  /** Device blocks that the rank holds; `undefined` = nobody has told yet. */
  readonly cachedBlocks: number | undefined
  readonly load: RankLoad
}

/** What a partition knows, as plain values in canonical order. */
export interface PartitionSnapshot {
  readonly ranks: readonly RankSnapshot[]
  /** Live bookings. */
  readonly bookings: number
  readonly index: PrefixIndexStats | undefined
  /** Blocks that ranks without events are believed to hold by lifetime. */
  readonly believedBlocks: number
  /** What such ranks are believed to hold by capacity; `undefined` with policy `ttl`. */
  readonly retention: LruStats | undefined
  /** Blocks that ranks with events are predicted to hold; `undefined` = nothing is predicted. */
  readonly predictedBlocks: number | undefined
  /** State of the policy object, where it keeps some. */
  readonly policy: unknown
  /** Seeds of the policy's random streams. */
  readonly seeds: readonly bigint[]
}

export function snapshotOf(
  { table, selector }: Partition,
  ledger: LoadLedger,
  { index, lifetime, lru, predicted }: PrefixState,
  isKnown: (slot: number) => boolean,
): PartitionSnapshot {
  table.settle()
  const ranks = Array.from({ length: table.count }, (_, row) => {
    const slot = table.slotOfRow[row]!
    const cachedBlocks = isKnown(slot) ? index.sizeOf(slot) : undefined
    return { ...rankAt(table, row), cachedBlocks, load: ledger.loadOf(slot) }
  })
  return {
    ranks,
    bookings: ledger.live,
    index: index instanceof PrefixIndex ? index.stats() : undefined,
    believedBlocks: lifetime.size,
    retention: lru?.stats(),
    predictedBlocks: predicted?.size,
    policy: selector.snapshot(),
    seeds: selector.seeds,
  }
}
