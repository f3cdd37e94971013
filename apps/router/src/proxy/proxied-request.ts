import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PromptReading } from '@router/prompt'
import type { Placement } from '../fleet/fleet-request.js'
import { HttpError } from '../http/http-error.js'
import { recorderOf } from '../observe/proxy-decisions.js'
import { answerExtras, extrasEvent, placementHeaders } from './answer-extras.js'
import { Attempt, type AttemptOutcome, type AttemptOwner } from './attempt.js'
import type { ProxyEndpoint } from './endpoints.js'
import {
  brokenStreamEvent,
  failureAnswer,
  proxyAnswerOf,
  retryAfterOf,
  sendRefusal,
} from './error-answers.js'
import { type LiveRequest, type ProxyState, type RequestStage, stageOf } from './proxy-state.js'
import { RequestBookings } from './request-bookings.js'
import { type RequestEnding, requestFacts } from './request-facts.js'
import { type RequestIntake, takeIn } from './request-intake.js'
import { workerRequestOf } from './worker-request.js'

type FailedAttempt = Extract<AttemptOutcome, { kind: 'failed' }>

/**
 * One request of a client, from its body to the end of the answer: what it is routed on, a booking for each try, and the tries. Every
 * booking is freed when its try ends, exactly once, whatever ended it; a client that goes ends the try.
 */
export class ProxiedRequest implements AttemptOwner, LiveRequest {
  readonly endpoint
  readonly response: ServerResponse
  addedHeaders: string[] = []
  stripsUsage = false
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #target: ProxyEndpoint
  readonly #requestId: string
  readonly #startedMs: number
  #release: () => void = () => undefined
  #intake: RequestIntake | undefined
  #reading: PromptReading | undefined
  #bookings: RequestBookings | undefined
  #selection: Placement | undefined
  #attempt: Attempt | undefined
  #attempts = 0
  #retries = 0
  #isRetrying = false
  /** How the last try failed, while the next one waits for its turn. */
  #failed: FailedAttempt | undefined
  readonly #triedFresh = new Set<bigint>()
  /** The engine of the last try chose its rank itself. */
  #ignoresRank = false
  #firstByteMs: number | undefined
  #readingMs = 0
  #isOver = false

  constructor(
    state: ProxyState,
    target: ProxyEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
  ) {
    this.endpoint = target.prompt
    this.#target = target
    this.#state = state
    this.#request = request
    this.response = response
    this.#requestId = id
    this.#startedMs = state.nowMs()
  }

  get stage(): RequestStage {
    return stageOf(this.#reading !== undefined, this.#attempt)
  }

  /** Reads the body, and goes on from there. */
  start(): void {
    const { response } = this
    this.#state.live.add(this)
    this.#state.budget.joined()
    response.once('close', () => this.#clientGone())
    const release = this.#state.bodies.read(this.#request, (outcome) => {
      if (this.#isOver) return
      if (outcome instanceof HttpError) this.#refuse(outcome)
      else this.#read(outcome)
    })
    if (this.#isOver) release()
    else this.#release = release
  }

  /** Ends it from the router's side, as if the client had gone. */
  abort(): void {
    if (this.#isOver) return
    this.response.destroy()
    this.#clientGone()
  }

  /** What that worker was answering breaks off. */
  workerGone(workerId: bigint): void {
    if (this.#selection?.workerId === workerId) this.#attempt?.cut()
  }

  /** Ends what is too late. */
  check(nowMs: number): void {
    this.#attempt?.check(nowMs)
    if (this.#failed !== undefined && !this.#isInTime(nowMs)) this.#giveUp(this.#failed)
  }

  extras(contentChunks = 0): string | undefined {
    const { extraFields } = this.#intake!.facts
    if (extraFields.length === 0) return undefined
    const { workerId, dpRank } = this.#selection!
    const { firstByteMs } = this.#attempt!
    const nowMs = this.#state.nowMs()
    const facts = {
      workerId,
      dpRank,
      firstByteMs: Number.isNaN(firstByteMs) ? undefined : firstByteMs - this.#startedMs,
      betweenChunksMs: contentChunks < 2 ? undefined : (nowMs - firstByteMs) / (contentChunks - 1),
      totalMs: nowMs - this.#startedMs,
    }
    return answerExtras(extraFields, facts, this.#state.settings.tellsPlacement)
  }

  lastEvent(contentChunks: number): string | undefined {
    const extras = this.extras(contentChunks)
    return extras && extrasEvent(this.endpoint, extras)
  }

  sent(): void {
    if (!this.#ignoresRank) this.#bookings!.dispatched()
  }

  progressed(contentChunks: number): void {
    this.#bookings!.progressed(contentChunks)
  }

  identified(responseId: string): void {
    this.#state.owners.set(responseId, this.#selection!.workerId)
  }

  ended(outcome: AttemptOutcome): void {
    const attempt = this.#attempt!
    this.#attempt = undefined
    this.#bookings!.free()
    this.#endRetry()
    if (!Number.isNaN(attempt.firstByteMs)) this.#firstByteMs = attempt.firstByteMs - this.#startedMs
    switch (outcome.kind) {
      case 'relayed':
        this.#learn(attempt)
        this.#finish('answered', attempt)
        return
      case 'broken':
        this.#breakOff(outcome.failure === 'timeout', attempt)
        return
      case 'failed':
        this.#tryAnother(outcome)
        return
      case 'cancelled':
        this.#finish('client_gone', attempt)
    }
  }

  #read(body: Buffer): void {
    try {
      const intake = takeIn(this.#state, this.#target, this.#request, body)
      this.#intake = intake
      this.stripsUsage = intake.addedUsage
      const { reading } = intake
      if (reading instanceof Promise)
        reading.then((found) => this.#route(intake, found)).catch((error: unknown) => this.#refuse(error))
      else this.#route(intake, reading)
    } catch (error) {
      this.#refuse(error)
    }
  }

  #route(intake: RequestIntake, reading: PromptReading): void {
    if (this.#isOver) return
    this.#reading = reading
    this.#readingMs = this.#state.nowMs() - intake.startedMs
    const { headers } = this.#request
    const about = { id: this.#requestId, path: this.#target.path, headers }
    const recorder = recorderOf(this.#state, about, intake, reading)
    this.#bookings = new RequestBookings(this.#state, intake, reading, recorder)
    this.#send()
  }

  /** Books a rank and sends the request there. Errors: those of `Fleet.reserve`. */
  #send(again?: Placement): void {
    const { fleet, upstreams, watch, settings, nowMs } = this.#state
    const bookings = this.#bookings!
    let selection = again === undefined ? bookings.reserve() : bookings.reserveAgain(again)
    let watched = watch?.begin(selection.workerId)
    // A worker that the client chose gets its request whatever speaks against it.
    while (watch !== undefined && watched === undefined && fleet.settings.isDirect !== true) {
      bookings.free()
      bookings.exclude(selection.workerId)
      selection = bookings.reserve()
      watched = watch.begin(selection.workerId)
    }
    this.#selection = selection
    this.addedHeaders = ['x-router-request-id', this.#requestId]
    if (settings.tellsPlacement) this.addedHeaders.push(...placementHeaders(selection))
    const isFurtherTry = this.#attempts++ > 0
    if (again === undefined) fleet.delivered(selection, isFurtherTry, this.#readingMs)
    const attempt = new Attempt(this, watched, {
      nowMs,
      firstByteMs: settings.firstByteTimeoutMs,
      idleMs: settings.idleTimeoutMs,
      keepAliveMs: settings.sseKeepAliveMs,
      deadlineMs: this.#startedMs + settings.requestTimeoutMs,
    })
    this.#attempt = attempt
    const sent = workerRequestOf(this.#state, selection, this.#target, this.#request, this.#intake!)
    this.#ignoresRank = sent.ignoresRank
    try {
      upstreams.dispatch(sent.target, sent.request, attempt, again !== undefined)
    } catch (error) {
      attempt.onError(error as Error)
    }
  }

  #tryAnother(outcome: FailedAttempt): void {
    const { settings, budget, nowMs } = this.#state
    const bookings = this.#bookings!
    const selection = this.#selection!
    const { workerId } = selection
    const isInTime = this.#isInTime(nowMs())
    if (outcome.wasStale && isInTime && !this.#triedFresh.has(workerId)) {
      this.#triedFresh.add(workerId)
      // Where it takes nothing any more, others may.
      if (this.#isSent(selection)) return
    }
    bookings.exclude(workerId)
    if (!isInTime || this.#retries >= settings.retryLimit || !bookings.hasOthers) {
      this.#giveUp(outcome)
      return
    }
    this.#failed = outcome
    budget.ask(this.#retry)
  }

  /** There is a place for its further try. */
  readonly #retry = (): void => {
    const outcome = this.#failed!
    this.#failed = undefined
    this.#isRetrying = true
    if (this.#isInTime(this.#state.nowMs())) {
      this.#retries++
      if (this.#isSent()) return
    }
    this.#endRetry()
    // What the last one said stands.
    this.#giveUp(outcome)
  }

  /** Sends it once more; false = nobody may take it. */
  #isSent(again?: Placement): boolean {
    try {
      this.#send(again)
      return true
    } catch {
      return false
    }
  }

  #endRetry(): void {
    if (!this.#isRetrying) return
    this.#isRetrying = false
    this.#state.budget.giveBack()
  }

  #isInTime(nowMs: number): boolean {
    return nowMs - this.#startedMs < this.#state.settings.requestTimeoutMs
  }

  /** Every try failed: the last status, in the router's own words. */
  #giveUp({ failure, status, retryAfter }: FailedAttempt): void {
    const answer = failureAnswer(failure === 'timeout', status)
    this.#answer(answer, retryAfterOf(answer.status, retryAfter, this.#state.settings.overload))
  }

  #refuse(error: unknown): void {
    if (this.#isOver) return
    const { retryAfterSecs, ...answer } = proxyAnswerOf(error, this.#state.settings.overload)
    this.#answer(answer, retryAfterSecs > 0 ? ['retry-after', String(retryAfterSecs)] : [])
  }

  #answer(answer: Parameters<typeof sendRefusal>[1], headers: readonly string[]): void {
    sendRefusal(this.response, answer, ['x-router-request-id', this.#requestId, ...headers])
    this.#finish('refused', undefined, answer.code)
  }

  /** What was relayed cannot be taken back: a stream gets one error, everything else is cut. */
  #breakOff(isLate: boolean, attempt: Attempt): void {
    const code = isLate ? 'upstream_timeout' : 'upstream_failed'
    const { response } = this
    if (attempt.isStream)
      response.end(brokenStreamEvent(this.#target, code, 'the engine broke its answer off'))
    else response.destroy()
    this.#finish('broken', attempt, code)
  }

  #learn({ usage }: Attempt): void {
    if (usage?.promptTokens !== undefined) this.#state.reader.learn(this.#reading!, usage.promptTokens)
  }

  #clientGone(): void {
    if (this.#isOver) return
    if (this.#attempt === undefined) this.#finish('client_gone', undefined)
    else this.#attempt.cancel()
  }

  #finish(ending: RequestEnding, attempt: Attempt | undefined, errorCode?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#failed !== undefined) this.#state.budget.withdraw(this.#retry)
    this.#failed = undefined
    this.#bookings?.free()
    this.#release()
    this.#state.live.delete(this)
    this.#state.budget.left()
    const remains = {
      intake: this.#intake,
      reading: this.#reading,
      selection: this.#selection,
      ignoresRank: this.#ignoresRank,
      attempt,
    }
    this.#state.onFinished?.(
      requestFacts(remains, {
        requestId: this.#requestId,
        path: this.#target.path,
        ending,
        status: this.response.headersSent ? this.response.statusCode : 0,
        errorCode,
        firstByteMs: this.#firstByteMs,
        totalMs: this.#state.nowMs() - this.#startedMs,
        attempts: this.#attempts,
        freshTries: this.#triedFresh.size,
      }),
    )
  }
}
