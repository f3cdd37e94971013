import type { BlockRun, HashWords } from '@router/kv-index'
import type { SourceMemory } from './convert/source-memory.js'
import type { WireEvent } from './decode/wire-event.js'
import type { DropReason } from './reasons.js'

/** What a batch is read against. Borrowed for one `read`; callers may reuse one object. */
export interface BatchContext {
  /** Tokens per block of the partition, > 0. */
  blockSize: number
  /** Rank that the socket is configured for; counts when the batch names none. */
  socketRank: number
  /** Image token of the partition's model: its runs become pad values. Absent = objects are appended to the tokens. */
  imageToken?: number | undefined
  /** Layout that the worker is registered with; absent = not known, nothing contradicts it. */
  isEagle?: boolean | undefined
  /** What earlier batches of this source taught. */
  memory: SourceMemory
  /**
   * Whether the rank holds a block, as if everything handed to the sink so far were applied. Asked only where salts are in play.
   * @param tier index into `TIERS`
   */
  holds(dpRank: number, tier: number, engineLow: number, engineHigh: number): boolean
}

/** Facts of a store beside its blocks. Borrowed for the call. */
export interface StoreDetails {
  /** The session that caused it, if the engine says so. */
  sessionId: string | undefined
  /** Salt of all its blocks, own or inherited; absent = none. */
  salt: string | undefined
  /** The event carries token pairs. */
  isEagle: boolean
  /** It carries tokens in another layout than the worker is registered with. */
  contradictsLayout: boolean
  /** Too few tokens for all hashes: the run holds the leading blocks only. */
  hasShortTokens: boolean
  /**
   * The local hashes are there. Always so but with `BatchReader.begin`, for a store of too many blocks: whoever takes it is behind until
   * it is applied, makes the hashes by `hashBlocks`, and calls `willStore` and `didStore` of the memory as it goes.
   */
  isHashed: boolean
  /** Salts are in play for this rank: apply this store, and all before it, during the call, so that `storeRefused` comes in time. */
  mustApplyNow: boolean
}

/** An event that is handed on no further. Borrowed for the call. */
export type DroppedEvent = Pick<WireEvent, 'kind' | 'blockSize'>

/**
 * Takes the normalised events of one batch in wire order, one call an event. `dpRank` is always the rank of the batch, else of
 * its socket; tiers are indexes into `TIERS`; everything passed is borrowed for the call.
 */
export interface EventSink {
  /**
   * No event is read before what was handed over is applied. Only with `BatchReader.begin`; who uses that applies removals at once
   * where salts are in play, or is behind until then, and calls `didRemove` of the memory.
   */
  readonly isBehind?: boolean | undefined
  /** The run starts at index 0 and may be empty. When the index refuses it, call `SourceMemory.storeRefused` before returning. */
  stored(dpRank: number, tier: number, run: BlockRun, details: StoreDetails): void
  /** Hashes 0 to `count` - 1 of `engine`; `count` may be 0. */
  removed(dpRank: number, tier: number, engine: HashWords, count: number): void
  /** Every tier of this rank. */
  cleared(dpRank: number): void
  /**
   * An event that changes nothing. `consumesEventId`: true for `noop` alone.
   * @param event what it is, and its tokens a block where they are the reason
   */
  dropped(
    dpRank: number,
    outcome: 'filtered' | 'noop' | 'undecodable',
    reason: DropReason,
    consumesEventId: boolean,
    event: DroppedEvent,
  ): void
}

/** What a payload says about itself. */
export interface BatchHeader {
  /** False = the payload is no batch, nothing was handed to the sink and the other fields say nothing. */
  isBatch: boolean
  /** Seconds since 1970, as the engine gave it. */
  ts: number
  /** Rank of the batch, else of the socket. */
  dpRank: number
  /** Events in the batch. */
  eventCount: number
}
