/** Batches that a replay socket can still give, as many as vLLM keeps. */
export const keptBatches = 10_000

/** The last `keptBatches` batches of a rank, by sequence number. */
export class EventLog {
  readonly #payloads: Uint8Array[] = []
  #next = 0

  /** Sequence number of the next batch. */
  get next(): number {
    return this.#next
  }

  /** Lowest sequence number that is kept. */
  get first(): number {
    return Math.max(0, this.#next - keptBatches)
  }

  /** Keeps a batch, forgets the oldest beyond the limit, and gives its sequence number. */
  add(payload: Uint8Array): number {
    this.#payloads[this.#next % keptBatches] = payload
    return this.#next++
  }

  /** A batch, or nothing where it is not kept. */
  get(sequence: number): Uint8Array | undefined {
    const isKept = sequence >= this.first && sequence < this.#next
    return isKept ? this.#payloads[sequence % keptBatches] : undefined
  }
}

/** A sequence number as it stands in its frame: eight bytes, big-endian. */
export function sequenceFrame(sequence: bigint): Buffer {
  const frame = Buffer.alloc(8)
  frame.writeBigUInt64BE(sequence)
  return frame
}
