import type { PromptBlocks } from '@router/kv-index'
import { effectivePrefillTokens } from '../load/booking.js'
import type { LoadLedger } from '../load/load-ledger.js'
import type { SelectionRequest, SelectionResult } from '../request.js'
import { checkBlocks } from './checks.js'
import type { LiveBookings } from './live-bookings.js'
import type { RankBooking, ReservedRequest } from './prompt-request.js'
import type { RequestHashes } from './request-hashes.js'
import type { ResolvedConfig } from './router-config.js'

/** Brings requests into the books of one partition: those that a policy placed, and those that their caller did. */
export class RequestBookings {
  readonly #config: ResolvedConfig
  readonly #ledger: LoadLedger
  readonly #live: LiveBookings
  readonly #hashes: RequestHashes

  constructor(config: ResolvedConfig, ledger: LoadLedger, live: LiveBookings, hashes: RequestHashes) {
    this.#config = config
    this.#ledger = ledger
    this.#live = live
    this.#hashes = hashes
  }

  /**
   * Books the request of the last `RequestHashes.take` where a selection put it, and believes its blocks there unless it is sent later.
   * Errors: those of `LoadLedger.add`.
   */
  addSelected(
    request: ReservedRequest,
    { tracksPrefillTokens }: SelectionRequest,
    { slot, cachedTokens, reservesOccupancy }: SelectionResult,
    nowMs: number,
  ): void {
    const { promptTokens, tracked, trackedCount, blocks, chunks } = this.#hashes
    const prefillTokens = effectivePrefillTokens(promptTokens, cachedTokens, tracksPrefillTokens)
    this.#ledger.add({
      requestId: request.requestId,
      slot,
      hashes: tracked,
      hashCount: trackedCount,
      prefillTokens,
      tracksPrefillTokens,
      prefillDurationMs: this.#prefillMs(prefillTokens, Math.min(cachedTokens, promptTokens)),
      expectedOutputTokens: request.expectedOutputTokens,
      lora: request.loraName || undefined,
      isRelayed: request.isRelayed,
      reservesOccupancy,
    })
    this.#live.add(request.requestId, slot, promptTokens)
    if (request.isDispatched !== false) this.#live.dispatch(request.requestId, slot, blocks, nowMs, chunks)
  }

  /** Books a request on a slot. Errors: those of `LoadLedger.add`, `ROUTER_BAD_REQUEST` for its blocks. */
  addAt(slot: number, booking: RankBooking): void {
    const { requestId, blocks, promptTokens, prefillTokens, expectedOutputTokens, isRelayed } = booking
    checkBookedBlocks(blocks)
    this.#ledger.checkAdmission(requestId)
    const tracked = this.#hashes.trackedWords(blocks, booking.assumesKvReuse)
    this.#ledger.add({
      requestId,
      slot,
      hashes: tracked,
      hashCount: tracked === undefined ? 0 : blocks.count,
      prefillTokens,
      prefillDurationMs: this.#prefillMs(prefillTokens, Math.max(0, promptTokens - prefillTokens)),
      expectedOutputTokens,
      lora: booking.loraName || undefined,
      isRelayed,
    })
    this.#live.add(requestId, slot, promptTokens)
  }

  #prefillMs(newTokens: number, cachedTokens: number): number | undefined {
    return this.#config.prefillMs?.(newTokens, cachedTokens)
  }
}

/** As `checkBlocks`; local hashes may be absent altogether. */
function checkBookedBlocks(blocks: PromptBlocks): void {
  const { sequence, count } = blocks
  checkBlocks(blocks.local.length === 0 ? { local: sequence, sequence, count } : blocks)
}
