import { BatchQueue, type QueuedBatch } from './batch-queue.js'
import { Completeness } from './completeness.js'
import { type BatchMessage, readLiveMessage } from './frames.js'
import { FAILURES_UNTIL_FAILED, type Replay, ReplayExchange } from './replay-exchange.js'
import {
  type BatchOutcome,
  newSequenceCounters,
  type SequenceOptions,
  type SequenceOutput,
  type SocketCause,
  type SocketState,
} from './sequence-types.js'

/**
 * Follows the sequence numbers of one event socket (host.md 2.9). Pure: messages and times go in; batches come out of `next` in the
 * order in which they must be applied, orders go to `SequenceOutput`. All times are milliseconds of one monotonic clock.
 *
 * After every input call `next` until it returns nothing, and `settle` for each batch. Replies are held until the answer is over, so
 * that what is dropped is dropped before they are applied; a long answer is applied as it comes. At most `maxBufferedBatches`
 * live batches are kept; who reads the replay socket must pause while `isSaturated`.
 */
export class SequenceMachine {
  readonly counters = newSequenceCounters()
  readonly #hasReplay: boolean
  readonly #rebuildHorizonMs: number
  readonly #maxBufferedBatches: number
  readonly #maxBufferedBytes: number
  readonly #output: SequenceOutput
  readonly #live = new BatchQueue()
  readonly #exchange: ReplayExchange
  readonly #completeness = new Completeness()
  #cursor: bigint | undefined
  /** The sequence that continues what was applied or given up. */
  #wanted = 0n
  #lastOnLiveSocket: bigint | undefined
  #inHand: { readonly batch: QueuedBatch; readonly isLive: boolean } | undefined
  /** What lies before the next live batch was given up. */
  #isGapForgiven = false
  /** Something was applied since the last drop. */
  #hasContent = false
  #hasStartedEmpty = false
  /** Time of the last gap; the horizon counts from here. */
  #gapMs = 0
  #isConnected = false
  /** Nothing can have been missed since the last batch. */
  #isContinuous = false
  #isSuspect = false
  #connectionFailures = 0

  constructor(options: SequenceOptions, output: SequenceOutput) {
    this.#hasReplay = options.hasReplay
    this.#rebuildHorizonMs = options.rebuildHorizonMs ?? 600_000
    this.#maxBufferedBatches = options.maxBufferedBatches ?? 100_000
    this.#maxBufferedBytes = options.maxBufferedBytes ?? 64 * 1024 * 1024
    this.#output = output
    this.#exchange = new ReplayExchange(output, this.counters)
    const { start } = options
    if (start === undefined) return
    this.#moveTo(start.cursor)
    this.#lastOnLiveSocket = start.cursor
    this.#hasContent = true
    this.#isConnected = true
    this.#isContinuous = true
    for (const dpRank of start.dpRanks) this.#completeness.feed(dpRank, false)
    if (start.isComplete) this.#completeness.becomeWhole()
  }

  get state(): SocketState {
    if (this.#hasFailed) return 'failed'
    if (this.#exchange.current !== undefined || this.#exchange.replies.size > 0) return 'recovering'
    if (!this.#isContinuous) return 'connecting'
    return this.#completeness.isComplete ? 'live' : 'rebuilding'
  }

  /** Why the state is not `live`; empty when it is, or while nothing is known to be wrong. */
  get causes(): readonly SocketCause[] {
    const causes: SocketCause[] = this.#hasFailed ? ['kv_events_disconnected'] : []
    if (this.#isContinuous && !this.#completeness.isComplete)
      causes.push(this.#hasStartedEmpty ? 'index_started_empty' : 'index_rebuilding')
    return causes
  }

  /** Last applied sequence; absent = none in this incarnation. */
  get cursor(): bigint | undefined {
    return this.#cursor
  }

  /** So many replies wait to be applied that no more should be read. */
  get isSaturated(): boolean {
    return this.#isFull(this.#exchange.replies)
  }

  /** Batches that wait to be applied. */
  get waiting(): number {
    return this.#live.size + this.#exchange.replies.size
  }

  /** When `advance` must be called next; Infinity = nothing is due. */
  nextDeadlineMs(): number {
    const horizonMs = this.#isRebuilding ? this.#gapMs + this.#rebuildHorizonMs : Infinity
    return Math.min(horizonMs, this.#exchange.nextDeadlineMs())
  }

  /** The live socket is connected and subscribed. */
  connected(nowMs: number): void {
    this.#isConnected = true
    this.#connectionFailures = 0
    this.#exchange.forgetCopies()
    this.#lastOnLiveSocket = undefined
    if (this.#hasReplay && !this.#isSuspect) this.#ask(nowMs)
  }

  /** The live connection broke, or an attempt to connect failed. */
  connectionLost(nowMs: number): void {
    this.#isConnected = false
    this.#isContinuous = false
    this.#connectionFailures++
    this.#gapMs = nowMs
  }

  /** The replay socket could not be reached, or broke before the answer was complete; it tries again until the time is over. */
  replayConnectionLost(requestId: number, nowMs: number): void {
    this.#exchange.connectionLost(requestId, nowMs)
  }

  /** The engine refused connections: unless something proves that it is the same process, its next batch starts a new incarnation. */
  suspect(): void {
    this.#isSuspect = true
    this.#isContinuous = false
    this.#lastOnLiveSocket = undefined
    // Another process would answer with sequences of its own.
    this.#exchange.abandon()
  }

  /** Something else proved that the process is the same. */
  proveSame(nowMs: number): void {
    if (!this.#isSuspect) return
    this.#isSuspect = false
    if (this.#hasReplay && this.#isConnected && !this.#isContinuous) this.#ask(nowMs)
  }

  /** A new incarnation that somebody else noticed: nothing of the old one is known any more. */
  reset(nowMs: number): void {
    this.#forget()
    this.#live.clear()
    if (this.#isConnected && this.#hasReplay) this.#ask(nowMs)
  }

  /** The host dropped what a rank holds, for want of room: what is held from now on is a lower bound. Nothing for a rank never fed. */
  dropped(dpRank: number, nowMs: number): void {
    if (this.#completeness.loseRank(dpRank)) this.#gapMs = nowMs
  }

  /** A message of the live socket. */
  live(frames: readonly Uint8Array[], nowMs: number): void {
    const message = readLiveMessage(frames)
    if (typeof message === 'string') {
      if (message !== 'bad_msgpack') this.counters.badFrames[message]++
      return
    }
    this.#isConnected = true
    this.#connectionFailures = 0
    const last = this.#lastOnLiveSocket
    if ((last !== undefined && message.sequence <= last) || (this.#isSuspect && !this.#continues(message))) {
      this.#live.clear()
      this.#restart(nowMs)
    } else if (this.#isSuspect) {
      this.#isSuspect = false
      this.#output.provedSame(nowMs)
    }
    this.#lastOnLiveSocket = message.sequence
    if (this.#isFull(this.#live)) {
      if (this.#exchange.current === undefined || this.#exchange.current.end !== undefined) {
        this.counters.overflowed++
        return
      }
      this.#exchange.end('buffer_full', nowMs)
    }
    this.#live.push({ ...message, arrivedMs: nowMs, isUndecodable: false })
  }

  /** A message of the replay socket. */
  reply(requestId: number, frames: readonly Uint8Array[], nowMs: number): void {
    this.#exchange.receive(requestId, frames, nowMs)
  }

  /** Time has passed. */
  advance(nowMs: number): void {
    this.#exchange.advance(nowMs, this.isSaturated, this.#wanted)
    if (this.#isRebuilding && nowMs >= this.#gapMs + this.#rebuildHorizonMs) this.#completeness.becomeWhole()
  }

  /** The next batch to apply; absent = nothing to do until the next input, or the last one is not settled. */
  next(nowMs: number): BatchMessage | undefined {
    if (this.#inHand !== undefined || this.#isSuspect) return undefined
    const { current } = this.#exchange
    if (current?.end !== undefined) this.#judge(current, nowMs)
    if (this.#exchange.current === undefined || this.isSaturated) {
      const batch = this.#nextReply(nowMs)
      if (batch !== undefined) this.#inHand = { batch, isLive: false }
    }
    if (this.#exchange.current === undefined && this.#inHand === undefined) {
      const batch = this.#nextLive(nowMs)
      if (batch !== undefined) this.#inHand = { batch, isLive: true }
    }
    return (this.#inHand as { batch: BatchMessage } | undefined)?.batch
  }

  /**
   * Says what became of the batch that `next` gave. Without one in hand, for example after a restart, nothing happens.
   * @returns whether it was a batch that had just come, and none of a replay
   */
  settle(outcome: BatchOutcome, nowMs: number): boolean {
    if (this.#inHand === undefined) return false
    const { batch, isLive } = this.#inHand
    this.#inHand = undefined
    if (!outcome.isBatch) {
      this.#undecodable(batch, isLive, nowMs)
      return false
    }
    this.counters.batches++
    if (isLive && this.#cursor === undefined && batch.sequence === 0n) this.#completeness.becomeWhole()
    if (isLive) this.#isContinuous = true
    this.#moveTo(batch.sequence)
    if (outcome.dpRank === undefined) return isLive
    this.#hasContent = true
    this.#completeness.feed(outcome.dpRank, outcome.isCleared)
    return isLive
  }

  get #hasFailed(): boolean {
    return this.#connectionFailures >= FAILURES_UNTIL_FAILED || this.#exchange.hasFailed
  }

  get #isRebuilding(): boolean {
    return this.#isContinuous && this.#exchange.current === undefined && !this.#completeness.isComplete
  }

  #isFull(queue: BatchQueue): boolean {
    return queue.size >= this.#maxBufferedBatches || queue.bytes >= this.#maxBufferedBytes
  }

  #continues({ sequence }: BatchMessage): boolean {
    return sequence === (this.#live.last?.sequence ?? this.#wanted - 1n) + 1n
  }

  #moveTo(sequence: bigint): void {
    this.#cursor = sequence
    this.#wanted = sequence + 1n
  }

  #ask(nowMs: number): void {
    this.#gapMs = nowMs
    this.#exchange.start(this.#wanted, nowMs)
  }

  #nextReply(nowMs: number): QueuedBatch | undefined {
    const { replies } = this.#exchange
    let reply = replies.shift()
    while (reply !== undefined && reply.sequence < this.#wanted) reply = replies.shift()
    if (reply !== undefined && reply.sequence > this.#wanted) {
      this.#countMissing(reply.sequence)
      this.#lose(nowMs)
    }
    return reply
  }

  #nextLive(nowMs: number): QueuedBatch | undefined {
    for (let batch = this.#live.shift(); batch !== undefined; batch = this.#live.shift()) {
      if (batch.sequence < this.#wanted) {
        if (this.#exchange.isCopy(batch)) {
          this.counters.lateCopies++
          continue
        }
        this.#restart(nowMs)
        this.#lastOnLiveSocket = this.#live.last?.sequence ?? batch.sequence
      }
      if (batch.isUndecodable) {
        this.#moveTo(batch.sequence)
        this.#isGapForgiven = false
        continue
      }
      if (batch.sequence > this.#wanted && !this.#isGapForgiven) {
        if (this.#cursor !== undefined) this.counters.gaps++
        if (this.#hasReplay) {
          this.#live.unshift(batch)
          this.#ask(nowMs)
          return undefined
        }
        this.#lose(nowMs)
      }
      this.#countMissing(batch.sequence)
      this.#isGapForgiven = false
      return batch
    }
    return undefined
  }

  /** What was never ours, before the first batch, is not missing. */
  #countMissing(next: bigint): void {
    if (this.#cursor !== undefined) this.counters.missing += Number(next - this.#wanted)
  }

  #undecodable(batch: QueuedBatch, isLive: boolean, nowMs: number): void {
    this.counters.undecodable++
    if (isLive && this.#hasReplay) {
      this.counters.gaps++
      batch.isUndecodable = true
      this.#live.unshift(batch)
      this.#wanted = batch.sequence
      this.#ask(nowMs)
      return
    }
    // The copy of the live socket may be whole.
    const copy = isLive ? undefined : this.#live.find(batch.sequence)
    if (copy !== undefined && copy !== batch && !copy.isUndecodable) {
      this.#exchange.replies.unshift(copy)
      return
    }
    this.#lose(nowMs)
    this.#moveTo(batch.sequence)
    if (isLive) this.#isContinuous = true
  }

  /** Judges the whole answer before any of it is applied, so that a drop comes first. */
  #judge(replay: Replay, nowMs: number): void {
    this.#exchange.close()
    this.#isContinuous = true
    const waiting = this.#live.first
    const reach = replay.tip ?? replay.from - 1n
    const isShort =
      waiting !== undefined && reach < (waiting.isUndecodable ? waiting.sequence : waiting.sequence - 1n)
    const isTruncated = isShort || replay.isBroken || (replay.first ?? replay.from) > replay.from
    this.counters.replays[replay.end !== 'terminator' ? 'timeout' : isTruncated ? 'truncated' : 'filled']++
    this.#isGapForgiven = replay.end !== 'terminator' || isShort
    if (this.#isGapForgiven) {
      this.#lose(nowMs)
    } else if (replay.from === 0n && !isTruncated) {
      this.#completeness.becomeWhole()
    }
  }

  /** A part of the history is gone. */
  #lose(nowMs: number): void {
    if (this.#exchange.current !== undefined) this.#exchange.current.isBroken = true
    this.#hasStartedEmpty = this.#cursor === undefined
    this.#completeness.lose()
    this.#gapMs = nowMs
    if (!this.#hasContent) return
    this.#hasContent = false
    this.#output.dropRanks(this.#completeness.fedRanks)
  }

  #restart(nowMs: number): void {
    this.#forget()
    this.counters.restarts++
    this.#output.restarted(nowMs)
  }

  #forget(): void {
    this.#exchange.forget()
    this.#completeness.forget()
    this.#cursor = undefined
    this.#wanted = 0n
    this.#lastOnLiveSocket = undefined
    this.#inHand = undefined
    this.#isGapForgiven = false
    this.#hasContent = false
    this.#isContinuous = false
    this.#isSuspect = false
  }
}
