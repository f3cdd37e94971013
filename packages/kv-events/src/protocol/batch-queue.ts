import type { BatchMessage } from './frames.js'

/** A batch that waits, with the time it came. */
export interface QueuedBatch extends BatchMessage {
  readonly arrivedMs: number
  /** The payload is known to be no batch. */
  isUndecodable: boolean
}

const COMPACT_FROM = 1024

/** Batches in order of arrival. Unbounded; the owner looks at `size` and `bytes`. Every operation but `find` is `O(1)` on average. */
export class BatchQueue {
  /** Slots before `#head` are empty. */
  #batches: (QueuedBatch | undefined)[] = []
  #head = 0
  #bytes = 0

  get size(): number {
    return this.#batches.length - this.#head
  }

  /** Payload bytes of all batches. */
  get bytes(): number {
    return this.#bytes
  }

  get first(): QueuedBatch | undefined {
    return this.#batches[this.#head]
  }

  get last(): QueuedBatch | undefined {
    return this.size === 0 ? undefined : this.#batches[this.#batches.length - 1]
  }

  push(batch: QueuedBatch): void {
    this.#batches.push(batch)
    this.#bytes += batch.payload.length
  }

  shift(): QueuedBatch | undefined {
    const batch = this.first
    if (batch === undefined) return undefined
    this.#bytes -= batch.payload.length
    this.#batches[this.#head++] = undefined
    if (this.#head === this.#batches.length) this.clear()
    else if (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#batches.length) {
      this.#batches = this.#batches.slice(this.#head)
      this.#head = 0
    }
    return batch
  }

  /** Puts back the batch that was shifted last. */
  unshift(batch: QueuedBatch): void {
    if (this.#head > 0) this.#batches[--this.#head] = batch
    else this.#batches.unshift(batch)
    this.#bytes += batch.payload.length
  }

  /** The batch of this sequence. `O(n)`. */
  find(sequence: bigint): QueuedBatch | undefined {
    for (let index = this.#head; index < this.#batches.length; index++) {
      if (this.#batches[index]?.sequence === sequence) return this.#batches[index]
    }
    return undefined
  }

  clear(): void {
    this.#batches.length = 0
    this.#head = 0
    this.#bytes = 0
  }
}
