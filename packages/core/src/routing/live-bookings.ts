import type { PrefixState, PromptBlocks } from '@router/kv-index'
import type { LoadLedger } from '../load/load-ledger.js'

/** More entries than this without a booking are never kept. */
const goneBookings = 1024

interface LiveBooking {
  readonly slot: number
  /** Number of the attempt for LRU retention; 0 = not dispatched. */
  attempt: number
  readonly promptTokens: number
  /** Blocks that the LRU retention was told. */
  toldBlocks: number
  /** Blocks of prompt and output that were counted, the incomplete last one included. */
  blocks: number
}

/**
 * What the router must remember of a live booking beyond the ledger: only where output blocks are tracked or ranks are retained by LRU;
 * else nothing is kept. Bounded by twice the ledger's bookings and 1,024.
 */
export class LiveBookings {
  readonly #prefix: PrefixState
  readonly #ledger: LoadLedger
  readonly #blockSize: number
  readonly #tracksOutput: boolean
  readonly #keeps: boolean
  readonly #byId = new Map<string, LiveBooking>()
  #attempts = 0

  constructor(
    prefix: PrefixState,
    ledger: LoadLedger,
    options: { readonly blockSize: number; readonly tracksOutput: boolean },
  ) {
    this.#prefix = prefix
    this.#ledger = ledger
    this.#blockSize = options.blockSize
    this.#tracksOutput = options.tracksOutput
    this.#keeps = options.tracksOutput || prefix.lru !== undefined
  }

  /** The ledger has a new booking. */
  add(requestId: string, slot: number, promptTokens: number): void {
    if (!this.#keeps) return
    // One of this id may be left that went without being freed.
    this.release(requestId)
    if (this.#byId.size > 2 * this.#ledger.live + goneBookings) this.releaseGone()
    const blocks = Math.ceil(promptTokens / this.#blockSize)
    this.#byId.set(requestId, { slot, attempt: 0, promptTokens, toldBlocks: 0, blocks })
  }

  /** A booking went out. A second time for one that is kept by LRU changes nothing: it holds its blocks already. */
  dispatch(
    requestId: string,
    slot: number,
    blocks: PromptBlocks,
    nowMs: number,
    chunks?: PromptBlocks,
  ): void {
    if (chunks !== undefined) this.#prefix.chunks.insert(slot, chunks, nowMs)
    const booking = this.#byId.get(requestId)
    let attempt = 0
    let privateBlocks = 0
    if (booking !== undefined && this.#prefix.lru !== undefined) {
      if (booking.attempt > 0) return
      attempt = booking.attempt = ++this.#attempts
      booking.toldBlocks = blocks.count
      privateBlocks = Math.max(0, booking.blocks - blocks.count)
    }
    this.#prefix.noteDispatched({ rank: slot, attempt, blocks, privateBlocks }, nowMs)
  }

  /** Adds the output blocks that were begun since, and tells the retention of those that are complete. */
  noteOutput(requestId: string, generatedTokens: number, hashed: PromptBlocks | undefined): void {
    const booking = this.#byId.get(requestId)
    if (booking === undefined) return
    const blocks = Math.ceil((booking.promptTokens + generatedTokens) / this.#blockSize)
    const { slot: rank, attempt, toldBlocks } = booking
    if (hashed !== undefined && attempt > 0 && hashed.count > toldBlocks) {
      const privateBlocks = Math.max(0, blocks - hashed.count)
      this.#prefix.noteOutput({ rank, attempt, blocks: hashed, privateBlocks }, toldBlocks)
      booking.toldBlocks = hashed.count
    }
    if (!this.#tracksOutput || booking.blocks >= blocks) return
    const ledger = this.#ledger
    const fraction = ledger.outputFraction(requestId, generatedTokens)
    for (; booking.blocks < blocks; booking.blocks++) ledger.addOutputBlock(requestId, fraction)
  }

  /** The booking ended, however it did. Nothing for one that is not kept. */
  release(requestId: string): void {
    const booking = this.#byId.get(requestId)
    if (booking === undefined) return
    if (booking.attempt > 0) this.#prefix.noteReleased(booking.slot, booking.attempt)
    this.#byId.delete(requestId)
  }

  /** Releases those whose bookings went without being freed here: expired, or their rank left. `O(bookings)` if there are any. */
  releaseGone(): void {
    if (this.#byId.size <= this.#ledger.live) return
    for (const requestId of this.#byId.keys()) if (!this.#ledger.has(requestId)) this.release(requestId)
  }
}
