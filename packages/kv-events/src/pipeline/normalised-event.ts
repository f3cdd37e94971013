import { type BlockIndex, hashWords, highOf, lowOf, type Tier, TIERS } from '@router/kv-index'

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

/** Applies one event to a rank of the index; the sender has counted references already. Returns what the index says of it. */
export function applyNormalisedEvent(
  index: BlockIndex,
  slot: number,
  { tier = 'device', data }: NormalisedEvent,
): ReturnType<BlockIndex['store']> | ReturnType<BlockIndex['remove']> {
  const tierIndex = TIERS.indexOf(tier)
  if (data.kind === 'cleared') {
    index.removeRank(slot)
    return 'ok'
  }
  if (data.kind === 'removed')
    return index.remove(slot, tierIndex, hashWords(data.blockHashes), 0, data.blockHashes.length)
  return index.store(slot, tierIndex, {
    hasParent: data.parentHash !== undefined,
    parentLow: lowOf(data.parentHash ?? 0n),
    parentHigh: highOf(data.parentHash ?? 0n),
    engine: hashWords(data.blocks.map(({ blockHash }) => blockHash)),
    local: hashWords(data.blocks.map(({ tokensHash }) => tokensHash)),
    start: 0,
    count: data.blocks.length,
  })
}
