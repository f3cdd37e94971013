import { grown } from './block-table.js'

/**
 * How far a request is: no request has this number; it waits; it runs; it runs, but not beyond this pass; it is over, and the end of a
 * pass will tell or has just told so.
 */
export const stages = { none: 0, waiting: 1, running: 2, leaving: 3, over: 4 } as const

/**
 * Live requests by number. A number is free again once its request has ended; so the columns are as long as the most requests that were
 * ever alive together, and each keeps the longest list of blocks it ever had. Nothing is allocated but to grow.
 */
export class RequestTable {
  promptTokens = new Int32Array(64)
  maxOutputTokens = new Int32Array(64)
  /** Prompt and outputs so far. */
  knownTokens = new Int32Array(64)
  /** Of the known ones, those with a place in the pool. */
  computedTokens = new Int32Array(64)
  /** What this pass added to `computedTokens`; not kept of a request that only decodes. */
  scheduledTokens = new Int32Array(64)
  /** Tokens at which the generation stops, whatever was asked for. */
  stopTokens = new Int32Array(64)
  wasAdmitted = new Uint8Array(64)
  /** One of `stages`. */
  stage = new Uint8Array(64)
  /** Blocks owned, the cached ones first. */
  ownedBlocks = new Int32Array(64)
  cachedBlocks = new Int32Array(64)
  /** Tokens that the owned blocks hold. */
  roomTokens = new Int32Array(64)
  /** Tokens at which the next block is full and becomes cached. */
  fullAtTokens = new Int32Array(64)
  /** Of a request that only decodes: as long as it has computed fewer, it needs and fills no block. 0 = it does more. */
  quietTokens = new Int32Array(64)
  /** Leading blocks whose number is known. */
  namedBlocks = new Int32Array(64)
  /** By request, numbers of its blocks from the first on. */
  readonly blocks: Int32Array[] = []
  /** By request, places of its cached blocks from the first on. */
  readonly places: Int32Array[] = []
  #free = new Int32Array(64)
  #freeCount = 0
  #used = 0

  /** Live requests. */
  get size(): number {
    return this.#used - this.#freeCount
  }

  /** A number whose columns are zero, with room for `blocks` blocks. */
  take(blocks: number): number {
    if (this.#freeCount === 0 && this.#used === this.promptTokens.length) this.#grow()
    const request = this.#freeCount > 0 ? this.#free[--this.#freeCount]! : this.#used++
    this.promptTokens[request] = 0
    this.maxOutputTokens[request] = 0
    this.knownTokens[request] = 0
    this.computedTokens[request] = 0
    this.scheduledTokens[request] = 0
    this.stopTokens[request] = 0
    this.wasAdmitted[request] = 0
    this.stage[request] = stages.waiting
    this.ownedBlocks[request] = 0
    this.cachedBlocks[request] = 0
    this.roomTokens[request] = 0
    this.fullAtTokens[request] = 0
    this.quietTokens[request] = 0
    this.namedBlocks[request] = 0
    if ((this.blocks[request]?.length ?? -1) < blocks) {
      const length = Math.max(16, 2 ** Math.ceil(Math.log2(blocks + 1)))
      this.blocks[request] = new Int32Array(length)
      this.places[request] = new Int32Array(length)
    }
    return request
  }

  give(request: number): void {
    this.stage[request] = stages.none
    this.#free[this.#freeCount++] = request
  }

  #grow(): void {
    const length = this.promptTokens.length * 2
    this.promptTokens = grown(this.promptTokens, new Int32Array(length))
    this.maxOutputTokens = grown(this.maxOutputTokens, new Int32Array(length))
    this.knownTokens = grown(this.knownTokens, new Int32Array(length))
    this.computedTokens = grown(this.computedTokens, new Int32Array(length))
    this.scheduledTokens = grown(this.scheduledTokens, new Int32Array(length))
    this.stopTokens = grown(this.stopTokens, new Int32Array(length))
    this.wasAdmitted = grown(this.wasAdmitted, new Uint8Array(length))
    this.stage = grown(this.stage, new Uint8Array(length))
    this.ownedBlocks = grown(this.ownedBlocks, new Int32Array(length))
    this.cachedBlocks = grown(this.cachedBlocks, new Int32Array(length))
    this.roomTokens = grown(this.roomTokens, new Int32Array(length))
    this.fullAtTokens = grown(this.fullAtTokens, new Int32Array(length))
    this.quietTokens = grown(this.quietTokens, new Int32Array(length))
    this.namedBlocks = grown(this.namedBlocks, new Int32Array(length))
    this.#free = grown(this.#free, new Int32Array(length))
  }
}

/** Numbers in a row, open at both ends. As long as the longest row there ever was. */
export class NumberQueue {
  size = 0
  #ring = new Int32Array(64)
  #head = 0

  /** The first; only of a queue that is not empty. */
  get first(): number {
    return this.#ring[this.#head]!
  }

  pushBack(number: number): void {
    if (this.size === this.#ring.length) this.#grow()
    this.#ring[(this.#head + this.size++) & (this.#ring.length - 1)] = number
  }

  pushFront(number: number): void {
    if (this.size === this.#ring.length) this.#grow()
    this.#head = (this.#head - 1) & (this.#ring.length - 1)
    this.#ring[this.#head] = number
    this.size++
  }

  /** Takes the first away. */
  shift(): void {
    this.#head = (this.#head + 1) & (this.#ring.length - 1)
    this.size--
  }

  /** Takes a number away that is in the row. O(size). */
  remove(number: number): void {
    const mask = this.#ring.length - 1
    let index = 0
    while (this.#ring[(this.#head + index) & mask] !== number) index++
    for (; index < this.size - 1; index++)
      this.#ring[(this.#head + index) & mask] = this.#ring[(this.#head + index + 1) & mask]!
    this.size--
  }

  #grow(): void {
    const ring = new Int32Array(this.#ring.length * 2)
    for (let index = 0; index < this.size; index++)
      ring[index] = this.#ring[(this.#head + index) & (this.#ring.length - 1)]!
    this.#ring = ring
    this.#head = 0
  }
}
