import { type BlockIndex, hashWords, highOf, lowOf, type Tier, TIERS } from '@router/kv-index'
import type { RelayReason } from '../reasons.js'
import type { EventCounters } from './pipeline-types.js'

/** One block of a store. */
export interface NormalisedBlock {
  /** Engine hash, u64 or the same bits signed. */
  readonly blockHash: bigint
  /** Local hash. */
  readonly tokensHash: bigint
}

/** An event as it goes between programs (host.md 2.1); bigints, for edges only. */
export interface NormalisedEvent {
  /** Per rank and incarnation, from 0. */
  readonly eventId: bigint
  /** Default device. */
  readonly tier?: Tier | undefined
  /** Whose the blocks are: of the rank (`worker`, the default), or of a cache that ranks share, which the index does not follow. */
  readonly residency?: 'worker' | 'cache_owner' | undefined
  readonly data:
    | {
        readonly kind: 'stored'
        /** Engine hash; absent = root. */
        readonly parentHash?: bigint | undefined
        readonly blocks: readonly NormalisedBlock[]
      }
    | { readonly kind: 'removed'; readonly blockHashes: readonly bigint[] }
    | { readonly kind: 'cleared' }
}

/**
 * Applies one event to a rank of the index, and counts what became of it; the sender has counted references already. Returns what the
 * index says, or why the event was refused: it then changes nothing. Fields come from elsewhere, so their values are checked.
 */
export function applyNormalisedEvent(
  index: BlockIndex,
  slot: number,
  event: NormalisedEvent,
  counters: EventCounters,
): ReturnType<BlockIndex['store']> | ReturnType<BlockIndex['remove']> | RelayReason {
  const { tier = 'device', residency = 'worker', data } = event
  const tierIndex = TIERS.indexOf(tier)
  if (residency !== 'worker') return refused('unsupported_residency', counters)
  if (tierIndex < 0) return refused('unknown_medium', counters)
  if (data.kind === 'cleared') {
    index.removeRank(slot)
    counters.cleared++
    return 'ok'
  }
  if (data.kind === 'removed') {
    const outcome = index.remove(slot, tierIndex, hashWords(data.blockHashes), 0, data.blockHashes.length)
    counters.removed[outcome]++
    return outcome
  }
  const outcome = index.store(slot, tierIndex, {
    hasParent: data.parentHash !== undefined,
    parentLow: lowOf(data.parentHash ?? 0n),
    parentHigh: highOf(data.parentHash ?? 0n),
    engine: hashWords(data.blocks.map(({ blockHash }) => blockHash)),
    local: hashWords(data.blocks.map(({ tokensHash }) => tokensHash)),
    start: 0,
    count: data.blocks.length,
  })
  counters.stored[outcome]++
  return outcome
}

function refused(reason: RelayReason, { dropped }: EventCounters): RelayReason {
  dropped[reason] = (dropped[reason] ?? 0) + 1
  return reason
}
