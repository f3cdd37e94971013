import { BlockHasher, hashAt } from '@router/kv-index'
import { EventConverter } from '../convert/event-converter.js'
import { LocalHashes } from '../convert/local-hashes.js'
import type { BatchContext, BatchHeader, EventSink } from '../normalised.js'
import { BatchDecoder } from './batch-decoder.js'
import type { ByteHash } from './byte-hash.js'

/** How a reader works; nothing of it changes what it reads. */
export interface BatchReaderOptions {
  /** Default: one of its own. One hasher may serve any number of readers, as they are called in turn. */
  readonly hasher?: BlockHasher | undefined
  /** False = every event goes through msgpackr, as those do that the direct reader declines. Default true. */
  readonly readsDirectly?: boolean | undefined
}

/**
 * Reads the payloads of engines: decodes, filters and converts one batch a call. Holds scratch memory only, at most about 60 MiB of it
 * between calls; what outlives a batch is in `BatchContext.memory`, so that one reader serves all sources. Warm it allocates next to
 * nothing for the events that engines send all the time. Not for use by its own sink.
 */
export class BatchReader {
  readonly #decoder: BatchDecoder
  readonly #converter: EventConverter
  readonly #header: BatchHeader = { isBatch: false, ts: 0, dpRank: 0, eventCount: 0 }

  constructor({ hasher = new BlockHasher(), readsDirectly = true }: BatchReaderOptions = {}) {
    this.#decoder = new BatchDecoder({ hashBytes: byteHashOf(hasher), readsDirectly })
    this.#converter = new EventConverter(this.#decoder.buffers, new LocalHashes(hasher))
  }

  /**
   * Hands each event of the payload to the sink, in wire order; nothing of a payload that is no batch. Never throws, whatever the bytes, but
   * what the sink throws passes through. Takes time and memory in proportion to the bytes. The header is borrowed until the next call.
   */
  read(payload: Uint8Array, context: BatchContext, sink: EventSink): BatchHeader {
    const decoder = this.#decoder
    const header = this.#header
    header.isBatch = decoder.decode(payload)
    if (!header.isBatch) return header
    const { events } = decoder
    const dpRank = decoder.dpRank ?? context.socketRank
    header.ts = decoder.ts
    header.dpRank = dpRank
    header.eventCount = events.count
    for (let index = 0; index < events.count; index++)
      this.#converter.convert(events.at(index), dpRank, context, sink)
    return header
  }
}

function byteHashOf(hasher: BlockHasher): ByteHash {
  const seed = { low: 0, high: 0 }
  const out = new Uint32Array(2)
  return (bytes) => {
    hasher.hashBytes(bytes, seed, out, 0)
    return hashAt(out, 0)
  }
}
