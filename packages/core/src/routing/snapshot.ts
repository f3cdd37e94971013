import type { PrefixIndexStats, PrefixState } from '@router/kv-index'
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
  /** State of the policy object, where it keeps some. */
  readonly policy: unknown
  /** Seeds of the policy's random streams. */
  readonly seeds: readonly bigint[]
}

export function snapshotOf(
  { table, selector }: Partition,
  ledger: LoadLedger,
  { index }: PrefixState,
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
    policy: selector.snapshot(),
    seeds: selector.seeds,
  }
}
