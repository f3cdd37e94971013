import { BlockHasher, hashAt } from '@router/kv-index'
import type { BatchContext, BatchHeader, EventSink } from '../normalised.js'
import { BatchReading } from './batch-reading.js'
import type { ByteHash } from './byte-hash.js'

/** How a reader works; nothing of it changes what it reads. */
export interface BatchReaderOptions {
  /** Default: one of its own. One hasher may serve any number of readers, as they are called in turn. */
  readonly hasher?: BlockHasher | undefined
  /** False = every event goes through msgpackr, as those do that the direct reader declines. Default true. */
  readonly readsDirectly?: boolean | undefined
}

const KEPT_READINGS = 2

/**
 * Reads the payloads of engines: decodes, filters and converts. Holds scratch memory only, two times about 60 MiB of it at most between
 * batches; what outlives a batch is in `BatchContext.memory`, so that one reader serves all sources. Warm it allocates next to
 * nothing for the events that engines send all the time. Not for use by its own sink.
 */
export class BatchReader {
  readonly #hasher: BlockHasher
  readonly #readsDirectly: boolean
  readonly #free: BatchReading[] = []

  constructor({ hasher = new BlockHasher(), readsDirectly = true }: BatchReaderOptions = {}) {
    this.#hasher = hasher
    this.#readsDirectly = readsDirectly
  }

  /**
   * Hands each event of the payload to the sink, in wire order; nothing of a payload that is no batch. Never throws, whatever the bytes, but
   * what the sink throws passes through. Takes time and memory in proportion to the bytes. The sink must never be behind. The header is
   * borrowed until the next call.
   */
  read(payload: Uint8Array, context: BatchContext, sink: EventSink): BatchHeader {
    const reading = this.begin(payload, context, Infinity)
    try {
      reading.advance(context, sink)
    } finally {
      this.end(reading)
    }
    return reading.header
  }

  /**
   * Decodes a payload whose events `advance` then hands on, with pauses; any number of batches may be under way. The reading is to be
   * given back with `end`.
   */
  begin(payload: Uint8Array, context: BatchContext, mostHashed: number): BatchReading {
    const hasher = this.#hasher
    const reading =
      this.#free.pop() ??
      new BatchReading(hasher, { hashBytes: byteHashOf(hasher), readsDirectly: this.#readsDirectly })
    reading.begin(payload, context, mostHashed)
    return reading
  }

  /** The reading is not used any more. */
  end(reading: BatchReading): void {
    reading.end()
    if (this.#free.length < KEPT_READINGS) this.#free.push(reading)
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
