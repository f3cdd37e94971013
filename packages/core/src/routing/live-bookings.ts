import type { PrefixState, PromptBlocks } from '@router/kv-index'
import type { LoadLedger } from '../load/load-ledger.js'

interface LiveBooking {
  readonly slot: number
  /** Number of the attempt for LRU retention; 0 = not dispatched. */
  attempt: number
  readonly promptTokens: number
  /** Blocks of prompt and output that were counted, the incomplete last one included. */
  blocks: number
}

/**
 * What the router must remember of a live booking beyond the ledger: only where output blocks are tracked or ranks are retained by LRU;
 * else nothing is kept. Bounded by the ledger's bookings.
 */
export class LiveBookings {
  readonly #blockSize: number
  readonly #tracksOutput: boolean
  readonly #keeps: boolean
  readonly #byId = new Map<string, LiveBooking>()
  #attempts = 0

  constructor(blockSize: number, tracksOutput: boolean, retainsByLru: boolean) {
    this.#blockSize = blockSize
    this.#tracksOutput = tracksOutput
    this.#keeps = tracksOutput || retainsByLru
  }

  add(requestId: string, slot: number, promptTokens: number): void {
    if (!this.#keeps) return
    const blocks = Math.ceil(promptTokens / this.#blockSize)
    this.#byId.set(requestId, { slot, attempt: 0, promptTokens, blocks })
  }

  dispatch(prefix: PrefixState, requestId: string, slot: number, blocks: PromptBlocks, nowMs: number): void {
    const booking = this.#byId.get(requestId)
    if (booking !== undefined) booking.attempt = ++this.#attempts
    const privateBlocks = booking === undefined ? 0 : Math.max(0, booking.blocks - blocks.count)
    prefix.noteDispatched({ rank: slot, attempt: booking?.attempt ?? 0, blocks, privateBlocks }, nowMs)
  }

  /** Adds the output blocks that were begun since. */
  noteOutput(ledger: LoadLedger, requestId: string, generatedTokens: number): void {
    const booking = this.#tracksOutput ? this.#byId.get(requestId) : undefined
    if (booking === undefined) return
    const blocks = Math.ceil((booking.promptTokens + generatedTokens) / this.#blockSize)
    for (; booking.blocks < blocks; booking.blocks++) {
      ledger.addOutputBlock(requestId, ledger.outputFraction(requestId, generatedTokens))
    }
  }

  /** The booking ended, however it did. Nothing for one that is not kept. */
  release(prefix: PrefixState, requestId: string): void {
    const booking = this.#byId.get(requestId)
    if (booking === undefined) return
    if (booking.attempt > 0) prefix.noteReleased(booking.slot, booking.attempt)
    this.#byId.delete(requestId)
  }

  /** Releases those whose bookings went without being freed here: expired, or their rank left. */
  releaseGone(prefix: PrefixState, ledger: LoadLedger): void {
    for (const requestId of this.#byId.keys()) if (!ledger.has(requestId)) this.release(prefix, requestId)
  }
}
