import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type ErrorShape, errorBody, internalError } from './api-error.js'
import type { RequestFault } from './fault-schema.js'
import type { Phase, StatsCounter } from './stats.js'

/** What an exchange needs of the server. */
export interface ExchangeHost {
  readonly stats: StatsCounter
  /** Ends the server as a crash does. */
  readonly crash: () => void
}

/** What a request is, before its body is understood. */
export interface ExchangeRequest {
  /** Of the route, without query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly parameters: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly shape: ErrorShape
  /** Of the body. */
  readonly bytes: number
}

/** A client has so long to read what was written before the connection goes, which may overtake it. */
const readingMs = 20

/** Thrown where there is nobody to answer any more. */
export class ClientGone extends Error {}

/**
 * One request and its answer. Everything that is written goes through here, so that faults meet every endpoint alike and a client that
 * goes away is noticed whatever the request is doing.
 */
export class Exchange {
  readonly request: ExchangeRequest
  /** Where it is, for the count of aborts; undefined = nothing is lost if the client leaves. */
  phase: Phase | undefined
  readonly #host: ExchangeHost
  readonly #response: ServerResponse
  readonly #gone = new AbortController()
  #fault: RequestFault | undefined
  #endedHere = false
  /** A fault keeps the rest of the answer back. */
  #isStuck = false

  constructor(host: ExchangeHost, response: ServerResponse, request: ExchangeRequest) {
    this.#host = host
    this.#response = response
    this.request = request
    host.stats.inFlight++
    response.removeHeader('connection')
    response.setHeader('server', 'uvicorn')
    response.on('error', () => {})
    response.once('close', () => this.#closed())
  }

  /** Aborts when the client went away before the answer was whole. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Adds a header to the answer, whichever it will be. */
  setHeader(name: string, value: string): void {
    this.#response.setHeader(name, value)
  }

  /** Lets a fault happen. False = the request is over. */
  async meet(fault: RequestFault): Promise<boolean> {
    this.#host.stats.applied(fault.kind)
    this.#fault = fault
    switch (fault.kind) {
      case 'slow':
        this.phase = 'held'
        await delay(fault.delay_ms, undefined, { signal: this.gone }).catch(() => {
          throw new ClientGone()
        })
        this.phase = undefined
        return true
      case 'error':
        this.fail(faultError(fault))
        return false
      case 'reset_before_headers':
        this.#reset()
        return false
      case 'hang':
        if (fault.after_chunks !== undefined) return true
        this.phase = 'held'
        return false
      case 'crash':
        if (fault.after_chunks !== undefined) return true
        this.#host.crash()
        return false
      default:
        return true
    }
  }

  /** Answers with JSON, or with text where `body` is a string. */
  send(status: number, body: object | string | undefined, contentType = 'application/json'): void {
    if (this.#response.headersSent || this.#response.destroyed) return
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    const bytes = Buffer.from(text)
    const fault = status < 400 ? this.#fault : undefined
    const sent = fault?.kind === 'garbage' ? garbled(bytes) : bytes
    if (text !== '') this.#response.setHeader('content-type', contentType)
    this.#response.setHeader('content-length', sent.length)
    this.#response.writeHead(status)
    const breaks = fault === undefined ? undefined : breakOf(fault)
    if (breaks === undefined) {
      this.#response.end(sent)
      return
    }
    this.#response.flushHeaders()
    if (breaks.after > 0) this.#response.write(sent.subarray(0, sent.length >> 1))
    this.#breakOff(breaks.how)
  }

  /** Answers with an error in the shape of the endpoint, also in the middle of a stream; forgets it where nobody is there. */
  fail(error: unknown): void {
    if (error instanceof ClientGone) return
    const refusal =
      error instanceof ApiError ? error : internalError(String((error as Error)?.message ?? error))
    const body = errorBody(this.request.shape, refusal)
    if (this.#response.headersSent) {
      if (this.#response.writableEnded) return
      const head = this.request.shape === 'anthropic' ? 'event: error\n' : ''
      this.#response.end(`${head}data: ${JSON.stringify(body)}\n\n${head === '' ? 'data: [DONE]\n\n' : ''}`)
      return
    }
    for (const [name, value] of Object.entries(refusal.headers)) this.#response.setHeader(name, value)
    this.send(refusal.status, body)
  }

  /** Starts an event stream: its headers go out at once, as those of the real engine do. */
  openStream(): EventStream {
    this.#response.setHeader('content-type', 'text/event-stream; charset=utf-8')
    this.#response.writeHead(200)
    this.#response.flushHeaders()
    this.#host.stats.openStreams++
    this.#response.once('close', () => this.#host.stats.openStreams--)
    const fault = this.#fault
    const breaks = fault === undefined ? undefined : breakOf(fault)
    const garbleAt = fault?.kind === 'garbage' ? (fault.after_chunks ?? 0) : undefined
    let written = 0
    const broken = () => this.#endedHere || this.#isStuck
    const breakWhereDue = () => {
      if (breaks !== undefined && written === breaks.after && !broken()) this.#breakOff(breaks.how)
    }
    breakWhereDue()
    return {
      write: (text) => {
        if (broken() || this.#response.destroyed) return
        this.#response.write(written === garbleAt ? garbled(Buffer.from(text)) : text)
        written++
        breakWhereDue()
      },
      end: () => {
        if (!broken()) this.#response.end()
      },
    }
  }

  #breakOff(how: 'reset' | 'cut' | 'hang' | 'crash'): void {
    if (how === 'hang') {
      this.#isStuck = true
      return
    }
    this.#endedHere = true
    setTimeout(() => {
      if (how === 'crash') this.#host.crash()
      else if (how === 'reset') this.#reset()
      else this.#response.destroy()
      this.#gone.abort()
    }, readingMs)
  }

  #reset(): void {
    this.#endedHere = true
    this.#response.socket?.resetAndDestroy()
  }

  #closed(): void {
    const isWhole = this.#response.writableFinished
    this.#host.stats.finished(this.request.path, isWhole ? this.#response.statusCode : 'cut')
    if (isWhole) return
    this.#gone.abort()
    const phase = this.#isStuck ? 'held' : this.phase
    if (!this.#endedHere && phase !== undefined) this.#host.stats.aborted(phase)
  }
}

/** Events on their way to a client. Both calls do nothing once a fault or the client ended it. */
export interface EventStream {
  /** One event, as it stands in the stream. What a slow client does not take stays in memory: at most the answer. */
  readonly write: (text: string) => void
  readonly end: () => void
}

function breakOf(
  fault: RequestFault,
): { after: number; how: 'reset' | 'cut' | 'hang' | 'crash' } | undefined {
  switch (fault.kind) {
    case 'reset_after_headers':
      return { after: 0, how: 'reset' }
    case 'cut':
    case 'hang':
    case 'crash':
      return { after: fault.after_chunks ?? 1, how: fault.kind }
    default:
      return undefined
  }
}

function faultError(fault: Extract<RequestFault, { kind: 'error' }>): ApiError {
  const [type, message] = {
    400: ['BadRequestError', 'the request was refused on purpose'],
    429: ['RateLimitError', 'too many requests, on purpose'],
    500: ['InternalServerError', 'the engine failed on purpose'],
    503: ['ServiceUnavailableError', 'the engine is unavailable on purpose'],
  }[fault.status] as [string, string]
  const retryAfter = fault.retry_after_seconds ?? (fault.status === 429 ? 1 : undefined)
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return new ApiError(fault.status, type, message, { headers })
}

/** The first half, and something that no JSON has; an event stays one event. */
function garbled(bytes: Buffer): Buffer {
  const isEvent = bytes.subarray(0, 5).toString() === 'data:' || bytes.subarray(0, 6).toString() === 'event:'
  return Buffer.concat([
    bytes.subarray(0, bytes.length >> 1),
    Buffer.from(isEvent ? '\u{fffd}}{\n\n' : '\u{fffd}}{'),
  ])
}
