import type { HashWords, RemoveOutcome, StoreOutcome } from '@router/kv-index'
import type { WireEventKind } from '../decode/wire-event.js'
import type { BatchContext, BatchHeader, EventSink } from '../normalised.js'
import type { DropReason } from '../reasons.js'

/** Reads payloads; `BatchReader` is the one of the product. */
export interface PayloadReader {
  /** Never throws. The reading is borrowed until `end`. @param mostHashed longer stores are left to `hashBlocks` */
  begin(payload: Uint8Array, context: BatchContext, mostHashed: number): PayloadReading
  end(reading: PayloadReading): void
}

/** A batch that is being read, see `BatchReading`. */
export interface PayloadReading {
  readonly header: BatchHeader
  /** Hands on events until the sink is behind; true = all are through. */
  advance(context: BatchContext, sink: EventSink): boolean
  /** Local hashes of blocks of the store that was handed on last, the first one at index 0; borrowed until the next call. */
  hashBlocks(first: number, count: number): HashWords
}

/** What an operator must know about a rank, as a cause code of health. */
export type EventWarningCode = 'block_size_mismatch' | 'hash_layout_mismatch'

/** Told once per rank, code and incarnation. */
export interface EventWarning {
  readonly code: EventWarningCode
  readonly dpRank: number
  /** Tokens a block as the engine has them; of `block_size_mismatch` alone. */
  readonly blockSize?: number | undefined
}

/** What became of the events of one worker, or of one source of relayed events; every number only grows. */
export interface EventCounters {
  /** Changes that reached the index, after coalescing, by outcome. */
  stored: Record<StoreOutcome, number>
  removed: Record<RemoveOutcome, number>
  cleared: number
  /** Events that changed nothing, by reason. */
  dropped: Partial<Record<DropReason, number>>
  /** The same by what they were, too; of one that cannot be read that is unknown: `undecodable`. */
  droppedByKind: Partial<Record<WireEventKind, Partial<Record<DropReason, number>>>>
  /** Removals that only took one of several references of a block. */
  deduplicatedBlocks: number
  /** Stores whose last blocks had no tokens. */
  shortTokens: number
  /** Events of ranks that the worker does not have. */
  unknownRank: number
  /** References that were not kept because there were too many, see `MAX_COUNTED_BLOCKS`. */
  forgottenReferences: number
}

/** All 0. */
export function newEventCounters(): EventCounters {
  return {
    stored: { ok: 0, duplicate_store: 0, parent_not_found: 0, invalid_sequence: 0, capacity: 0 },
    removed: { ok: 0, block_not_found: 0 },
    cleared: 0,
    dropped: {},
    droppedByKind: {},
    deduplicatedBlocks: 0,
    shortTokens: 0,
    unknownRank: 0,
    forgottenReferences: 0,
  }
}
