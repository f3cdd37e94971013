import type { SourceMemory } from '../convert/source-memory.js'
import { SequenceMachine, type SequenceOptions, type SequenceOutput } from '../protocol/index.js'
import { type ApplierOptions, BatchApplier } from './batch-applier.js'

/** What a feed asks of whoever owns its sockets. */
export interface FeedSockets {
  /** See `SequenceOutput`; never called without a replay socket. */
  requestReplay?(requestId: number, from: bigint): void
  endReplay?(requestId: number): void
}

/** What a feed tells the worker that it belongs to. */
export interface FeedOwner {
  restarted(feed: SocketFeed, nowMs: number): void
  provedSame(nowMs: number): void
  /** A batch that had just come is in. */
  applied(ts: number): void
}

/** Bytes of payload that count as one block of work, whatever they say. */
const BYTES_PER_BLOCK = 64

/**
 * One event socket of a worker, from messages to the index: the machine that follows its sequence numbers, and the applier. Feed the
 * machine (`sequence`) with messages and times, then call `step` until it returns false.
 */
export class SocketFeed {
  readonly sequence: SequenceMachine
  readonly #applier: BatchApplier
  readonly #memory: SourceMemory
  readonly #owner: FeedOwner
  #hasBatch = false
  /** When the batch in hand was made. */
  #ts = 0
  #isClosed = false
  /** The rank of the batch in hand was dropped meanwhile. */
  #isLost = false

  constructor(options: SequenceOptions & ApplierOptions, sockets: FeedSockets, owner: FeedOwner) {
    const { states, memory } = options
    this.#memory = memory
    this.#owner = owner
    this.#applier = new BatchApplier(options)
    const output: SequenceOutput = {
      requestReplay: (requestId, from) => sockets.requestReplay?.(requestId, from),
      endReplay: (requestId) => sockets.endReplay?.(requestId),
      dropRanks: (dpRanks) => {
        for (const dpRank of dpRanks) {
          states.drop(dpRank)
          memory.onCleared(dpRank)
        }
      },
      restarted: (nowMs) => owner.restarted(this, nowMs),
      provedSame: (nowMs) => owner.provedSame(nowMs),
    }
    this.sequence = new SequenceMachine(options, output)
  }

  /** What its events taught: groups, salts and ambiguous hashes. */
  get remembered(): number {
    return this.#memory.size
  }

  /**
   * Works for about `budgetBlocks` blocks, not many more than 2,048 at least; returns whether work is left, so that the caller can let
   * others run first. A batch is decoded in one go; its events are read, and its blocks hashed, stored and removed, in as many steps as it takes.
   */
  step(budgetBlocks: number, nowMs: number): boolean {
    // A budget that is none would never get anything done.
    let left = budgetBlocks >= 1 ? budgetBlocks : 1
    while (left > 0 && !this.#isClosed) {
      if (!this.#hasBatch) {
        const batch = this.sequence.next(nowMs)
        if (batch === undefined) return false
        this.#ts = this.#applier.begin(batch.payload)
        this.#hasBatch = true
        this.#isLost = false
        left -= 1 + Math.floor(batch.payload.length / BYTES_PER_BLOCK)
      }
      left -= this.#applier.apply(Math.max(left, 1))
      if (this.#applier.hasWork) return true
      this.#hasBatch = false
      if (this.sequence.settle(this.#applier.outcome, nowMs)) this.#owner.applied(this.#ts)
      if (this.#isLost) this.sequence.dropped(this.#applier.dpRank, nowMs)
    }
    return !this.#isClosed
  }

  /** A new incarnation: what waits to be applied and what was learned belongs to the old one. */
  abandon(): void {
    this.#applier.abandon()
    this.#hasBatch = false
    this.#memory.forgetAll()
  }

  /** The socket is gone: nothing is applied any more. */
  close(): void {
    this.abandon()
    this.#isClosed = true
  }

  /** The host dropped what a rank holds, for want of room. */
  dropped(dpRank: number, nowMs: number): void {
    this.#memory.onCleared(dpRank)
    this.sequence.dropped(dpRank, nowMs)
    if (this.#hasBatch && dpRank === this.#applier.dpRank) this.#isLost = true
  }

  /** The rank is gone from the worker. */
  forgetRank(dpRank: number): void {
    this.#memory.forgetRank(dpRank)
  }
}
