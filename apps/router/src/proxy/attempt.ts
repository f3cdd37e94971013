import type { ServerResponse } from 'node:http'
import type { PromptEndpoint } from '@router/prompt'
import type { Dispatcher } from 'undici'
import { isOwnShortage, isRefusal } from '../workers/engine-client.js'
import { withExtras } from './answer-extras.js'
import { headerOf, responseHeaders } from './forwarded-headers.js'
import { StreamWatch, responseIdIn } from './stream-watch.js'
import { wasReused } from './upstreams.js'
import { type TokenUsage, usageIn } from './usage.js'
import { type WatchedAttempt, isRedirect } from './worker-watch.js'

/** Answers that are not streams are kept back up to this size: until they are whole another worker may be tried. */
const longestHeldAnswer = 1024 * 1024
/** A refusal that is longer, or takes longer, costs its connection. */
const longestRefusal = 64 * 1024
const longestRefusalMs = 1000
/** Says nothing to whoever reads events, and that somebody is there to whoever watches connections. */
const keepAliveComment = Buffer.from(': keep-alive\n\n')
const retriedStatuses = new Set([429, 500, 502, 503, 504])
const eventType = /^text\/event-stream/i
const plainCoding = /^(?:identity)?$/i
/** What a status line may say to a client. */
const plainText = /^[\x20-\x7e]+$/

/** Why an attempt came to nothing. */
export type AttemptFailure = 'refused' | 'timeout' | 'cut' | 'status'

/** How an attempt ended. */
export type AttemptOutcome =
  /** The answer was relayed as the engine gave it, an error within its stream included. */
  | { readonly kind: 'relayed' }
  /** Nothing was relayed: another worker may be tried. */
  | {
      readonly kind: 'failed'
      readonly failure: AttemptFailure
      /** Of the engine; absent = no answer. */
      readonly status?: number
      readonly retryAfter?: string | undefined
      /** The connection had been idle, and the engine closed it: it says nothing of the worker. */
      readonly wasStale: boolean
    }
  /** The answer broke off after some of it was relayed. */
  | { readonly kind: 'broken'; readonly failure: AttemptFailure }
  | { readonly kind: 'cancelled' }

/** What an attempt needs of the request it is for. */
export interface AttemptOwner {
  readonly endpoint: PromptEndpoint | undefined
  /** The router asked for a usage that the client did not. */
  readonly stripsUsage: boolean
  readonly response: ServerResponse
  /** Headers for the client beside those of the engine, names and values by turns. */
  readonly addedHeaders: readonly string[]
  /** What an answer in one piece should tell beside what the engine says, as the JSON of its `nvext`; `undefined` = nothing. */
  extras(): string | undefined
  /** The same for a stream, as an event of its own before its `[DONE]`, with so many content chunks before it. */
  lastEvent(contentChunks: number): string | undefined
  /** The request is on its way. */
  sent(): void
  /** So many content chunks came. */
  progressed(contentChunks: number): void
  /** The id of a response that the engine keeps, told before the client learns of it. */
  identified(responseId: string): void
  ended(outcome: AttemptOutcome): void
}

/** Limits of one attempt, on the clock of the proxy. */
export interface AttemptTimes {
  readonly nowMs: () => number
  readonly firstByteMs: number
  readonly idleMs: number
  /** A stream that is silent for so long gets a comment; 0 = never. */
  readonly keepAliveMs: number
  /** When the whole request has to be over. */
  readonly deadlineMs: number
}

/**
 * One request to one worker, and its answer on the way to the client: chunk by chunk, headers and first chunk in one write, and no faster
 * than the client reads. Told of by `ended` exactly once.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  /** Reported by the engine. */
  usage: TokenUsage | undefined
  contentChunks = 0
  /** Of the answer; 0 = none came. */
  status = 0
  readonly startedMs: number
  /** When the first byte of the body came; NaN = not yet. */
  firstByteMs = Number.NaN
  readonly #owner: AttemptOwner
  readonly #watched: WatchedAttempt | undefined
  readonly #times: AttemptTimes
  #abort: ((reason?: Error) => void) | undefined
  #resume: (() => void) | undefined
  #rawHeaders: readonly Buffer[] = []
  #statusText = ''
  #stream: StreamWatch | undefined
  #held: Buffer[] | undefined
  #responseId: string | undefined
  #heldBytes = 0
  #hasRelayed = false
  #isPaused = false
  #isOver = false
  // How it ends says nothing of the worker.
  #isBlameless = false
  #lastByteMs = 0
  // When the head of a stream came, or the last comment left.
  #lastSignMs = 0

  constructor(owner: AttemptOwner, watched: WatchedAttempt | undefined, times: AttemptTimes) {
    this.#owner = owner
    this.#watched = watched
    this.#times = times
    this.startedMs = times.nowMs()
  }

  /** The answer is a stream of events. */
  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** Gives up: the client has gone, or the router ends. */
  cancel(): void {
    if (this.#isOver) return
    this.#end({ kind: 'cancelled' })
    this.#abort?.(new Error('cancelled'))
  }

  /** Ends what is too late. */
  check(nowMs: number): void {
    const { firstByteMs, idleMs, deadlineMs } = this.#times
    const isLate = Number.isNaN(this.firstByteMs)
      ? nowMs - this.startedMs > firstByteMs
      : !this.#isPaused && nowMs - this.#lastByteMs > idleMs
    if (this.#isOver) return
    if (!isLate && nowMs <= deadlineMs) {
      this.#keepAlive(nowMs)
      return
    }
    this.#fail('timeout', false)
    this.#abort?.(new Error('timed out'))
  }

  /** Its worker has left the fleet: as if its engine had broken off. */
  cut(): void {
    if (this.#isOver) return
    this.#isBlameless = true
    this.#fail('cut', false)
    this.#abort?.(new Error('its worker has left'))
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
    if (this.#isOver) abort(new Error('over'))
    else this.#owner.sent()
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200) return true
    this.status = status
    this.#rawHeaders = rawHeaders
    this.#resume = resume
    if (plainText.test(statusText)) this.#statusText = statusText
    this.#watched?.head(status)
    if (retriedStatuses.has(status) || isRedirect(status)) {
      this.#fail('status', false)
      // Does nothing once its end is there.
      setTimeout(() => this.#abort?.(new Error('a slow refusal')), longestRefusalMs).unref()
      return true
    }
    const { endpoint, stripsUsage } = this.#owner
    if (!eventType.test(headerOf(rawHeaders, 'content-type') ?? '')) this.#held = []
    // In a coding that nobody asked for there is nothing to see: what comes passes.
    else if (plainCoding.test(headerOf(rawHeaders, 'content-encoding') ?? ''))
      this.#stream = new StreamWatch(endpoint ?? 'responses', stripsUsage, (contentChunks) =>
        this.#owner.lastEvent(contentChunks),
      )
    this.#lastSignMs = this.#times.nowMs()
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#isOver) return this.#drain(chunk)
    const nowMs = this.#times.nowMs()
    this.#lastByteMs = nowMs
    if (Number.isNaN(this.firstByteMs)) this.firstByteMs = nowMs
    this.#watched?.byte()
    if (this.#stream !== undefined) return this.#relayEvents(this.#stream, chunk)
    if (this.#held === undefined) return this.#write(chunk)
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes <= longestHeldAnswer) return true
    const held = Buffer.concat(this.#held)
    this.#held = undefined
    return this.#write(held)
  }

  onComplete(): void {
    if (this.#isOver) return
    const { response } = this.#owner
    if (this.#stream === undefined) {
      const held = this.#held ?? []
      const whole = held.length === 1 ? held[0]! : Buffer.concat(held)
      this.usage = usageIn(whole)
      if (this.#owner.endpoint === 'responses') this.#identify(responseIdIn(whole))
      const extras = this.#hasRelayed || this.status !== 200 ? undefined : this.#owner.extras()
      const answer = extras === undefined ? whole : withExtras(whole, extras)
      if (!this.#hasRelayed) this.#writeHead(answer === whole)
      if (answer.length > 0) response.end(answer)
      else response.end()
    } else {
      this.#takeFacts(this.#stream)
      const rest = this.#stream.rest()
      if (!this.#hasRelayed) this.#writeHead(false)
      if (rest === undefined) response.end()
      else response.end(rest)
    }
    this.#hasRelayed = true
    this.#end({ kind: 'relayed' })
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#isBlameless = isOwnShortage(error)
    const hasNoAnswer = this.status === 0
    if (hasNoAnswer && isRefusal(error)) this.#fail('refused', false)
    else this.#fail('cut', hasNoAnswer && wasReused(error))
  }

  /** The rest of a refusal, so that its connection can be used again; not when it is long. */
  #drain(chunk: Buffer): boolean {
    this.#heldBytes += chunk.length
    if (this.#heldBytes > longestRefusal) this.#abort?.(new Error('a long refusal'))
    return true
  }

  #relayEvents(stream: StreamWatch, chunk: Buffer): boolean {
    const passing = stream.push(chunk)
    if (stream.contentChunks > this.contentChunks) {
      this.contentChunks = stream.contentChunks
      this.#owner.progressed(this.contentChunks)
    }
    this.#identify(stream.responseId)
    if (!stream.hasError) return passing.length === 0 || this.#write(passing)
    // One error, and the end: whatever the engine says after it does not pass.
    this.#takeFacts(stream)
    if (!this.#hasRelayed) this.#writeHead(false)
    this.#hasRelayed = true
    this.#owner.response.end(passing)
    this.#end({ kind: 'relayed' })
    this.#abort?.(new Error('the stream ended with an error'))
    return true
  }

  /** Only between events, and not for a client that does not read. With the first comment no other worker can be tried any more. */
  #keepAlive(nowMs: number): void {
    const { keepAliveMs } = this.#times
    if (keepAliveMs === 0 || this.#stream === undefined || this.#stream.isWithinEvent || this.#isPaused)
      return
    if (nowMs - Math.max(this.#lastByteMs, this.#lastSignMs) < keepAliveMs) return
    this.#lastSignMs = nowMs
    this.#write(keepAliveComment)
  }

  #identify(responseId: string | undefined): void {
    if (responseId === undefined || this.#responseId !== undefined) return
    this.#responseId = responseId
    this.#owner.identified(responseId)
  }

  #takeFacts(stream: StreamWatch): void {
    this.usage = stream.usage
    this.contentChunks = stream.contentChunks
  }

  #write(bytes: Buffer): boolean {
    const { response } = this.#owner
    // Without a flush: the headers leave with the first bytes.
    if (!this.#hasRelayed) this.#writeHead(this.#stream === undefined)
    this.#hasRelayed = true
    if (response.write(bytes)) return true
    this.#isPaused = true
    response.once('drain', () => {
      this.#isPaused = false
      this.#lastByteMs = this.#times.nowMs()
      this.#resume?.()
    })
    return false
  }

  #writeHead(keepsLength: boolean): void {
    const { response, addedHeaders } = this.#owner
    const headers = responseHeaders(this.#rawHeaders, keepsLength)
    for (const text of addedHeaders) headers.push(text)
    if (this.#statusText === '') response.writeHead(this.status, headers)
    else response.writeHead(this.status, this.#statusText, headers)
  }

  #fail(failure: AttemptFailure, wasStale: boolean): void {
    if (this.#stream !== undefined) this.#takeFacts(this.#stream)
    if (this.#hasRelayed && this.#stream?.isDone === true) {
      // Nothing is missing: only its connection was not ended as it should be.
      this.#owner.response.end()
      this.#end({ kind: 'relayed' })
    } else if (this.#hasRelayed) this.#end({ kind: 'broken', failure }, failure, wasStale)
    else {
      const retryAfter = headerOf(this.#rawHeaders, 'retry-after')
      const answer = failure === 'status' ? { status: this.status, retryAfter } : {}
      this.#end({ kind: 'failed', failure, ...answer, wasStale }, failure, wasStale)
    }
  }

  #end(outcome: AttemptOutcome, failure?: AttemptFailure, wasStale = false): void {
    this.#isOver = true
    this.#held = undefined
    if (outcome.kind === 'cancelled' || wasStale || this.#isBlameless) this.#watched?.end('abandoned')
    else if (failure === undefined || failure === 'status') this.#watched?.end('answered')
    else this.#watched?.end(failure === 'refused' ? 'refused' : 'failed')
    this.#owner.ended(outcome)
  }
}
