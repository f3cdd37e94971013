import { type BlockIndex, KvIndexError } from '@router/kv-index'
import { SourceMemory } from '../convert/source-memory.js'
import type { SequenceCounters, SequenceStart, SocketCause, SocketState } from '../protocol/index.js'
import { Incarnation, type IncarnationCause } from './incarnation.js'
import type { EventCounters, EventWarning, PayloadReader } from './pipeline-types.js'
import { RankStates } from './rank-states.js'
import { type FeedSockets, SocketFeed } from './socket-feed.js'

/** A worker whose events are followed. */
export interface WorkerEventsOptions {
  /** Index of the partition. */
  readonly index: BlockIndex
  readonly reader: PayloadReader
  /**
   * Rank of the index by data-parallel rank; `undefined` = the worker does not have it, its events are counted and skipped. From
   * `RANK_LIMIT` of the index on: the worker does not have it either, but the host keeps what it holds; its events are counted all the same.
   */
  readonly slotOf: (dpRank: number) => number | undefined
  /** After a bump: the index is wiped already; bookings, bindings and rates are the host's. */
  readonly onIncarnation?: ((incarnation: number, cause: IncarnationCause) => void) | undefined
  readonly onWarning?: ((warning: EventWarning) => void) | undefined
  /** A batch that had just come is in the index; when its engine made it, seconds since 1970. Batches of replays are not told of. */
  readonly onApplied?: ((ts: number) => void) | undefined
  readonly imageToken?: number | undefined
  readonly isEagle?: boolean | undefined
  /** Milliseconds, default 600,000. */
  readonly rebuildHorizonMs?: number | undefined
}

/** One event socket of a worker. */
export interface WorkerSocketOptions {
  /** Rank it is configured for. */
  readonly socketRank: number
  readonly hasReplay: boolean
  readonly sockets?: FeedSockets | undefined
  readonly start?: SequenceStart | undefined
  readonly maxBufferedBatches?: number | undefined
  readonly maxBufferedBytes?: number | undefined
}

/** How a socket does, for health. */
export interface SocketReport {
  readonly socketRank: number
  readonly state: SocketState
  readonly causes: readonly SocketCause[]
  /** Last applied sequence. */
  readonly cursor: bigint | undefined
  /** Batches that wait to be applied. */
  readonly waiting: number
  /** Groups, salts and ambiguous hashes that its events taught. */
  readonly remembered: number
  /** Blocks of its rank that were stored more than once; at most `MAX_COUNTED_BLOCKS` a tier. */
  readonly references: number
  readonly counters: SequenceCounters
}

/** The event sockets of one worker, their common incarnation, and what is kept per rank. Pure; all times are monotonic milliseconds. */
export class WorkerEvents {
  readonly #options: WorkerEventsOptions
  readonly #states: RankStates
  readonly #feeds = new Map<number, SocketFeed>()
  readonly #incarnation: Incarnation
  /** The socket that noticed a restart has reset itself. */
  #noticedBy: SocketFeed | undefined
  #nowMs = 0

  constructor(options: WorkerEventsOptions) {
    this.#options = options
    this.#states = new RankStates(options.index, options.slotOf)
    this.#incarnation = new Incarnation((cause) => this.#wipe(cause))
  }

  /** Lives of the engine before this one. */
  get incarnation(): number {
    return this.#incarnation.count
  }

  get counters(): EventCounters {
    return this.#states.counters
  }

  /** Every socket, in the order in which they were added. */
  get reports(): readonly SocketReport[] {
    return [...this.#feeds].map(([socketRank, { sequence, remembered }]) => ({
      socketRank,
      state: sequence.state,
      causes: sequence.causes,
      cursor: sequence.cursor,
      waiting: sequence.waiting,
      remembered,
      references: this.#states.get(socketRank)?.references.size ?? 0,
      counters: sequence.counters,
    }))
  }

  /** Id that the next event of a rank takes, from 0 in every incarnation. */
  nextEventId(dpRank: number): number {
    return this.#states.get(dpRank)?.nextEventId ?? 0
  }

  /** Error: `KV_INDEX_SOCKET_DUPLICATE` when the rank has a socket. */
  addSocket({ socketRank, sockets = {}, ...others }: WorkerSocketOptions): SocketFeed {
    if (this.#feeds.has(socketRank)) {
      throw new KvIndexError(
        'KV_INDEX_SOCKET_DUPLICATE',
        `rank ${socketRank} has an event socket; accepted: one a rank`,
        { socketRank },
      )
    }
    for (const dpRank of others.start?.dpRanks ?? []) this.#states.reach(dpRank)
    const { reader, imageToken, isEagle, onWarning, rebuildHorizonMs } = this.#options
    const feed = new SocketFeed(
      {
        ...others,
        socketRank,
        states: this.#states,
        memory: new SourceMemory(),
        reader,
        imageToken,
        isEagle,
        onWarning,
        rebuildHorizonMs,
      },
      sockets,
      {
        restarted: (noticedBy, nowMs) => {
          this.#nowMs = nowMs
          this.#noticedBy = noticedBy
          this.#incarnation.sequenceWentBack()
          this.#noticedBy = undefined
        },
        provedSame: (nowMs) => this.#proveSame(nowMs),
        applied: (ts) => this.#options.onApplied?.(ts),
      },
    )
    this.#feeds.set(socketRank, feed)
    if (this.#incarnation.isSuspect) feed.sequence.suspect()
    return feed
  }

  /** The socket is gone; what its ranks hold stays. */
  removeSocket(socketRank: number): void {
    this.#feeds.get(socketRank)?.close()
    this.#feeds.delete(socketRank)
  }

  /**
   * The worker lost a rank. Its entries go, unless `slotOf` has forgotten it already: then the host has emptied the slot, and may have
   * given it to another rank.
   */
  removeRank(dpRank: number): void {
    this.#states.forget(dpRank)
    for (const feed of this.#feeds.values()) feed.forgetRank(dpRank)
  }

  /**
   * The host dropped what a rank holds, for want of room (the index is wiped already): its sockets are `rebuilding` until it clears, is
   * replayed from 0, or was without a gap for the horizon.
   */
  rankDropped(dpRank: number, nowMs: number): void {
    this.#states.get(dpRank)?.references.clear()
    for (const feed of this.#feeds.values()) feed.dropped(dpRank, nowMs)
  }

  /** The worker is gone: all entries (as with `removeRank`) and sockets, whose feeds apply nothing any more. */
  close(): void {
    for (const socketRank of this.#feeds.keys()) this.removeSocket(socketRank)
    this.#states.forgetAll()
  }

  /** A registration of the worker, with the id of its process if it gives one. */
  register(incarnationId: string | undefined, nowMs: number): void {
    this.#nowMs = nowMs
    this.#incarnation.register(incarnationId)
  }

  /** `process_start_time_seconds` as the engine's metrics gave it. */
  processStarted(seconds: number, nowMs: number): void {
    this.#nowMs = nowMs
    if (this.#incarnation.processStarted(seconds)) this.#proveSame(nowMs)
  }

  /** A connection to the engine was refused. */
  outageBegan(): void {
    if (this.#incarnation.isSuspect) return
    this.#incarnation.outageBegan()
    for (const { sequence } of this.#feeds.values()) sequence.suspect()
  }

  /** The engine takes connections again; within 5 s something must prove that it is the same process. */
  outageEnded(nowMs: number): void {
    this.#incarnation.outageEnded(nowMs)
  }

  /** When `advance` must be called next; Infinity = nothing is due. */
  nextDeadlineMs(): number {
    let deadlineMs = this.#incarnation.nextDeadlineMs
    for (const { sequence } of this.#feeds.values())
      deadlineMs = Math.min(deadlineMs, sequence.nextDeadlineMs())
    return deadlineMs
  }

  /** Time has passed; then step every feed. Infinity, a deadline when nothing is due, is no time and changes nothing. */
  advance(nowMs: number): void {
    if (!Number.isFinite(nowMs)) return
    this.#nowMs = nowMs
    this.#incarnation.advance(nowMs)
    for (const { sequence } of this.#feeds.values()) sequence.advance(nowMs)
  }

  #proveSame(nowMs: number): void {
    this.#incarnation.proveSame()
    for (const { sequence } of this.#feeds.values()) sequence.proveSame(nowMs)
  }

  /** Nothing is inherited. */
  #wipe(cause: IncarnationCause): void {
    this.#states.forgetAll()
    for (const feed of this.#feeds.values()) {
      feed.abandon()
      if (feed !== this.#noticedBy) feed.sequence.reset(this.#nowMs)
    }
    this.#options.onIncarnation?.(this.#incarnation.count, cause)
  }
}
