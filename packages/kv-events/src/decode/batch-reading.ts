import type { BlockHasher, HashWords } from '@router/kv-index'
import { EventConverter } from '../convert/event-converter.js'
import { LocalHashes } from '../convert/local-hashes.js'
import type { BatchContext, BatchHeader, EventSink } from '../normalised.js'
import { BatchDecoder, type DecoderOptions } from './batch-decoder.js'

/**
 * One batch that is being read, event by event, and the memory that this takes; reused from batch to batch. A payload is decoded by
 * `begin`, its events are handed on by `advance`.
 */
export class BatchReading {
  readonly header: BatchHeader = { isBatch: false, ts: 0, dpRank: 0, eventCount: 0 }
  readonly #decoder: BatchDecoder
  readonly #converter: EventConverter
  #next = 0

  constructor(hasher: BlockHasher, options: DecoderOptions) {
    this.#decoder = new BatchDecoder(options)
    this.#converter = new EventConverter(this.#decoder.buffers, new LocalHashes(hasher))
  }

  /** @param mostHashed blocks of a store that is hashed when it is handed on, see `StoreDetails.isHashed`; Infinity = the sink is never behind */
  begin(payload: Uint8Array, context: BatchContext, mostHashed: number): void {
    const decoder = this.#decoder
    const { header } = this
    this.#next = 0
    this.#converter.begin(mostHashed)
    header.isBatch = decoder.decode(payload)
    header.ts = decoder.ts
    header.dpRank = decoder.dpRank ?? context.socketRank
    header.eventCount = decoder.events.count
  }

  /** Hands on events until the sink is behind; true = all are through. */
  advance(context: BatchContext, sink: EventSink): boolean {
    const { isBatch, dpRank, eventCount } = this.header
    while (sink.isBehind !== true) {
      if (!isBatch || this.#next === eventCount) return true
      this.#converter.convert(this.#decoder.events.at(this.#next++), dpRank, context, sink)
    }
    return false
  }

  /** Local hashes of blocks of the store that was handed on last, the first one at index 0; valid until the next call. */
  hashBlocks(first: number, count: number): HashWords {
    return this.#converter.hashBlocks(first, count)
  }

  /** The batch is of no use any more: gives back what only a huge one needs. */
  end(): void {
    this.#decoder.release()
  }
}
