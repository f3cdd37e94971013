import { type BlockRun, HOST_PINNED, type HashWords } from '@router/kv-index'
import type { EventBuffers } from '../decode/event-buffers.js'
import type { WireEvent } from '../decode/wire-event.js'
import type { BatchContext, EventSink, StoreDetails } from '../normalised.js'
import type { NoopReason } from '../reasons.js'
import { filterReason } from './event-filter.js'
import type { LocalHashes } from './local-hashes.js'
import { tierOf } from './medium.js'
import { RepeatedHashes } from './repeated-hashes.js'

/** Filters and converts the events of one batch, in order. Allocates nothing warm. */
export class EventConverter {
  readonly #buffers: EventBuffers
  readonly #localHashes: LocalHashes
  readonly #repeated = new RepeatedHashes()
  readonly #run: BlockRun = {
    hasParent: false,
    parentLow: 0,
    parentHigh: 0,
    engine: NO_WORDS,
    local: NO_WORDS,
    start: 0,
    count: 0,
  }
  readonly #details: StoreDetails = {
    sessionId: undefined,
    salt: undefined,
    isEagle: false,
    contradictsLayout: false,
    hasShortTokens: false,
    isHashed: true,
    mustApplyNow: false,
  }
  #mostHashed = Infinity
  #hasPauses = false

  constructor(buffers: EventBuffers, localHashes: LocalHashes) {
    this.#buffers = buffers
    this.#localHashes = localHashes
  }

  /** The events of another batch come. @param mostHashed see `BatchReading.begin` */
  begin(mostHashed: number): void {
    this.#mostHashed = mostHashed
    this.#hasPauses = mostHashed < Infinity
  }

  /** See `BatchReading.hashBlocks`. */
  hashBlocks(first: number, count: number): HashWords {
    this.#localHashes.compute(this.#buffers.tokens, first, count)
    return this.#localHashes.words
  }

  /** Hands one event to the sink. */
  convert(event: WireEvent, dpRank: number, context: BatchContext, sink: EventSink): void {
    if (event.kind === 'undecodable') {
      sink.dropped(dpRank, 'undecodable', event.reason!, false, event)
      return
    }
    const tier = tierOf(event.medium)
    const reason = filterReason(event, tier, dpRank, context.memory)
    if (reason !== undefined) sink.dropped(dpRank, 'filtered', reason, false, event)
    else if (event.kind === 'stored') this.#store(event, tier, dpRank, context, sink)
    else if (event.kind === 'removed') this.#remove(event, tier, dpRank, context, sink)
    else {
      context.memory.onCleared(dpRank)
      sink.cleared(dpRank)
    }
  }

  #store(event: WireEvent, tier: number, dpRank: number, context: BatchContext, sink: EventSink): void {
    const noop = this.#noopReason(event, context.blockSize)
    if (noop !== undefined) {
      sink.dropped(dpRank, 'noop', noop, true, event)
      return
    }
    const { memory } = context
    const followsSalts = tier <= HOST_PINNED
    const inherited =
      followsSalts && event.hasParent ? memory.saltOf(dpRank, event.parentLow, event.parentHigh) : undefined
    const details = this.#details
    details.salt = event.salt ?? inherited
    details.sessionId = event.sessionId
    details.isEagle = event.isEagle
    details.contradictsLayout =
      context.isEagle !== undefined && event.tokenCount > 0 && event.isEagle !== context.isEagle
    details.mustApplyNow = followsSalts && (details.salt !== undefined || memory.hasSalts(dpRank))
    const run = this.#fillRun(event, details.salt, context.imageToken)
    details.hasShortTokens = run.count < event.hashCount
    details.isHashed = run.count <= this.#mostHashed
    const isFollowed = details.mustApplyNow && details.isHashed
    if (isFollowed) memory.willStore(dpRank, run, details.salt, context)
    sink.stored(dpRank, tier, run, details)
    if (isFollowed) memory.didStore(dpRank, run, details.salt)
  }

  #remove(event: WireEvent, tier: number, dpRank: number, context: BatchContext, sink: EventSink): void {
    const engine = this.#buffers.hashesFrom(event.hashStart, event.hashCount)
    sink.removed(dpRank, tier, engine, event.hashCount)
    if (tier <= HOST_PINNED && !this.#hasPauses)
      context.memory.didRemove(dpRank, engine, 0, event.hashCount, context)
  }

  #fillRun(event: WireEvent, salt: string | undefined, imageToken: number | undefined): BlockRun {
    const buffers = this.#buffers
    const run = this.#run
    run.count = this.#localHashes.prepare(event, salt, imageToken)
    if (run.count <= this.#mostHashed) this.#localHashes.compute(buffers.tokens, 0, run.count)
    run.hasParent = event.hasParent
    run.parentLow = event.parentLow
    run.parentHigh = event.parentHigh
    run.engine = buffers.hashesFrom(event.hashStart, event.hashCount)
    run.local = this.#localHashes.words
    return run
  }

  #noopReason(event: WireEvent, blockSize: number): NoopReason | undefined {
    const { hashes } = this.#buffers
    const { hashStart, hashCount } = event
    if (event.hasParent) {
      for (let index = hashStart; index < hashStart + hashCount; index++) {
        if (hashes[2 * index] === event.parentLow && hashes[2 * index + 1] === event.parentHigh)
          return 'parent_is_own_block'
      }
    }
    if (this.#repeated.has(hashes, hashStart, hashCount)) return 'repeated_hash'
    return event.blockSize === blockSize ? undefined : 'block_size_mismatch'
  }
}

const NO_WORDS = new Uint32Array(0)
