import { BatchQueue, type QueuedBatch } from './batch-queue.js'
import { readReplayMessage } from './frames.js'
import { RetryClock } from './retry-clock.js'
import type { SequenceCounters, SequenceOutput } from './sequence-types.js'

const REPLAY_TIMEOUT_MS = 5000
const LATE_COPIES_MS = 5000
/** Failures in a row after which a connection, live or replay, counts as failed. */
export const FAILURES_UNTIL_FAILED = 3

/** How an answer ended. */
export type ReplayEnd = 'terminator' | 'timeout' | 'buffer_full'

/** A request that is out, or whose end nobody has judged yet. */
export interface Replay {
  readonly id: number
  /** First wanted sequence. */
  readonly from: bigint
  deadlineMs: number
  /** Lowest and highest sequence that was delivered. */
  first: bigint | undefined
  tip: bigint | undefined
  end: ReplayEnd | undefined
  /** Something was found missing while its first replies were applied already. */
  isBroken: boolean
}

/**
 * The replay socket as the machine sees it: at most one request that matters, the replies that wait to be applied, and a probe that
 * finds out whether a socket that failed three times is back.
 */
export class ReplayExchange {
  readonly replies = new BatchQueue()
  readonly #output: SequenceOutput
  readonly #counters: SequenceCounters
  readonly #retry = new RetryClock()
  #current: Replay | undefined
  #probe: { readonly id: number; readonly deadlineMs: number } | undefined
  #lastId = 0
  #failures = 0
  /** Live batches up to this sequence may be copies of replayed ones until this time. */
  #replayedTip: bigint | undefined
  #copiesUntilMs = 0

  constructor(output: SequenceOutput, counters: SequenceCounters) {
    this.#output = output
    this.#counters = counters
  }

  get current(): Replay | undefined {
    return this.#current
  }

  get hasFailed(): boolean {
    return this.#failures >= FAILURES_UNTIL_FAILED
  }

  /** A live batch below the wanted one: replayed before it came over the live socket, or sent by another process? */
  isCopy({ sequence, arrivedMs }: QueuedBatch): boolean {
    const tip = this.#replayedTip
    return tip !== undefined && sequence <= tip && arrivedMs < this.#copiesUntilMs
  }

  /** The live connection is a new one: what it sends from now on was never replayed before. */
  forgetCopies(): void {
    this.#replayedTip = undefined
  }

  nextDeadlineMs(): number {
    const current = this.#current
    return Math.min(
      current === undefined || current.end !== undefined ? Infinity : current.deadlineMs,
      this.#probe?.deadlineMs ?? Infinity,
      this.#canProbe ? this.#retry.dueMs : Infinity,
    )
  }

  /** Asks for everything from a sequence on; an earlier request is void. */
  start(from: bigint, nowMs: number): void {
    this.abandon()
    this.#current = {
      id: ++this.#lastId,
      from,
      deadlineMs: nowMs + REPLAY_TIMEOUT_MS,
      first: undefined,
      tip: undefined,
      end: undefined,
      isBroken: false,
    }
    this.#output.requestReplay(this.#current.id, from)
  }

  /** Gives up what is asked for and forgets the replies. */
  abandon(): void {
    const current = this.#current
    this.#current = undefined
    this.replies.clear()
    if (current !== undefined && current.end === undefined) this.#output.endReplay(current.id)
    if (this.#probe !== undefined) this.#output.endReplay(this.#probe.id)
    this.#probe = undefined
  }

  /** As `abandon`, and no live batch is a copy of anything any more. */
  forget(): void {
    this.abandon()
    this.#replayedTip = undefined
  }

  /** The judged answer makes room for the next one. Its replies stay. */
  close(): void {
    this.#current = undefined
  }

  receive(requestId: number, frames: readonly Uint8Array[], nowMs: number): void {
    const message = readReplayMessage(frames)
    if (requestId === this.#probe?.id) {
      if (message !== 'terminator') return
      this.#succeeded()
      this.#endProbe()
      return
    }
    const current = this.#current
    if (current === undefined || current.id !== requestId || current.end !== undefined) return
    if (message === 'terminator') {
      this.#succeeded()
      this.end('terminator', nowMs)
    } else if (typeof message === 'string') {
      if (message !== 'bad_msgpack') this.#counters.badFrames[message]++
    } else if (message.sequence > (current.tip ?? current.from - 1n)) {
      current.first ??= message.sequence
      current.tip = message.sequence
      this.replies.push({ ...message, arrivedMs: nowMs, isUndecodable: false })
    }
  }

  /** The connection broke or could not be made; whoever owns it tries again until the time is over. */
  connectionLost(requestId: number, nowMs: number): void {
    if (requestId === this.#current?.id || requestId === this.#probe?.id) this.#failed(nowMs)
  }

  /** @param isHeldBack replies wait because the caller does not read on: then the time is not over */
  advance(nowMs: number, isHeldBack: boolean, wanted: bigint): void {
    const current = this.#current
    if (current !== undefined && current.end === undefined && nowMs >= current.deadlineMs) {
      if (isHeldBack) {
        current.deadlineMs = nowMs + REPLAY_TIMEOUT_MS
      } else {
        this.#failed(nowMs)
        this.end('timeout', nowMs)
      }
    }
    if (this.#probe !== undefined && nowMs >= this.#probe.deadlineMs) {
      this.#failed(nowMs)
      this.#endProbe()
    } else if (this.#canProbe && nowMs >= this.#retry.dueMs) {
      this.#probe = { id: ++this.#lastId, deadlineMs: nowMs + REPLAY_TIMEOUT_MS }
      this.#output.requestReplay(this.#probe.id, wanted)
    }
  }

  /** The answer is over. What follows from that is judged when no batch is in hand. */
  end(end: ReplayEnd, nowMs: number): void {
    const current = this.#current
    if (current === undefined || current.end !== undefined) return
    current.end = end
    if (current.tip !== undefined) {
      this.#replayedTip = current.tip
      this.#copiesUntilMs = nowMs + LATE_COPIES_MS
    }
    this.#output.endReplay(current.id)
  }

  get #canProbe(): boolean {
    return this.hasFailed && this.#current === undefined && this.#probe === undefined
  }

  #endProbe(): void {
    this.#output.endReplay(this.#probe!.id)
    this.#probe = undefined
  }

  #failed(nowMs: number): void {
    this.#failures++
    this.#retry.failed(nowMs)
  }

  #succeeded(): void {
    this.#failures = 0
    this.#retry.succeeded()
  }
}
