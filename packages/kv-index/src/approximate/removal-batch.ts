import type { BlockIndex } from '../block-index.js'
import { DEVICE } from '../tier.js'

const LONGEST = 512

/** Removals of one rank after another from the device tier of an index, told to it many at a time. Allocates nothing. */
export class RemovalBatch {
  readonly #index: BlockIndex
  readonly #engine = new Uint32Array(2 * LONGEST)
  #rank = 0
  #count = 0

  constructor(index: BlockIndex) {
    this.#index = index
  }

  add(rank: number, low: number, high: number): void {
    if (rank !== this.#rank || this.#count === LONGEST) this.flush()
    this.#rank = rank
    this.#engine[2 * this.#count] = low
    this.#engine[2 * this.#count + 1] = high
    this.#count++
  }

  /** The index knows of every removal only after this. */
  flush(): void {
    if (this.#count > 0) this.#index.remove(this.#rank, DEVICE, this.#engine, 0, this.#count)
    this.#count = 0
  }
}
