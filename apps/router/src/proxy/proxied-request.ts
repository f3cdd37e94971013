import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PromptReading } from '@router/prompt'
import { scanObject } from '@router/prompt'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import type { FleetRequest, Selection } from '../fleet/fleet-request.js'
import { HttpError } from '../http/http-error.js'
import { Attempt, type AttemptOutcome, type AttemptOwner, endAndClose } from './attempt.js'
import { spliceBody } from './body-splices.js'
import type { ProxyEndpoint } from './endpoints.js'
import { brokenStreamEvent, proxyAnswerOf, sendRefusal } from './error-answers.js'
import { requestHeaders } from './forwarded-headers.js'
import type { LiveRequest, ProxyState } from './proxy-state.js'
import type { RequestEnding, RequestFacts } from './request-facts.js'
import { fleetRequestOf } from './routed-prompt.js'
import { type RoutingFacts, readRoutingFacts } from './routing-facts.js'
import type { ServedModel } from './served-models.js'

/** What a request turned out to be, once its body was read. */
interface Routed {
  readonly facts: RoutingFacts
  readonly model: ServedModel
  readonly partition: FleetPartition
  readonly reading: PromptReading
  readonly request: FleetRequest
  /** Workers that it may go to; absent = all. */
  readonly allowed: readonly bigint[] | undefined
  readonly body: Uint8Array
}

/**
 * One request of a client, from its body to the end of the answer: what it is routed on, a booking for each try, and the tries. Every
 * booking is freed when its try ends, exactly once, whatever ended it; a client that goes ends the try.
 */
export class ProxiedRequest implements AttemptOwner, LiveRequest {
  readonly endpoint
  readonly response: ServerResponse
  addedHeaders: readonly string[] = []
  stripsUsage = false
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #target: ProxyEndpoint
  readonly #requestId: string
  /** Names its bookings; no client can choose it. */
  readonly #innerId: string
  readonly #startedMs: number
  #release: () => void = () => undefined
  #routed: Routed | undefined
  #facts: RoutingFacts | undefined
  #selection: Selection | undefined
  #bookingId: string | undefined
  #attempt: Attempt | undefined
  #attempts = 0
  #retries = 0
  #isRetrying = false
  readonly #tried = new Set<bigint>()
  readonly #triedFresh = new Set<bigint>()
  #isPrefillOver = false
  #firstByteMs: number | undefined
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
    this.#innerId = state.nextInnerId()
    this.#startedMs = state.nowMs()
  }

  /** Reads the body, and goes on from there. */
  start(): void {
    const { response } = this
    this.#state.live.add(this)
    this.#state.budget.requests++
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

  /** Ends what is too late. */
  check(nowMs: number): void {
    this.#attempt?.check(nowMs)
  }

  sent(): void {
    const { partition, request } = this.#routed!
    partition.router.noteDispatched(this.#bookingId!, request.prompt.blocks!, request.terms?.chunks?.hashes)
  }

  progressed(contentChunks: number): void {
    const { router } = this.#routed!.partition
    const id = this.#bookingId!
    if (!this.#isPrefillOver) router.markPrefillCompleted(id)
    this.#isPrefillOver = true
    router.noteOutput(id, contentChunks)
  }

  ended(outcome: AttemptOutcome): void {
    const attempt = this.#attempt!
    this.#attempt = undefined
    this.#isPrefillOver = false
    this.#free()
    if (this.#isRetrying) this.#state.budget.giveBack()
    this.#isRetrying = false
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
      const { fleet, models, reader, settings } = this.#state
      const scan = scanObject(body)
      const nvext = scan.find('nvext')
      const facts = readRoutingFacts(
        this.#request.headers,
        nvext && body.subarray(nvext.valueStart, nvext.valueEnd),
        { trustsHeaders: settings.trustsRoutingHeaders, readsNvext: settings.readsNvext },
      )
      this.#facts = facts
      const named = scan.find('model')
      const model = models.resolve(named && textOf(body.subarray(named.valueStart, named.valueEnd)))
      const { routingGroup } = facts
      const partition = fleet.ready({ model: model.partition, routingGroup, role: 'aggregated' })
      const { blockSize, isEagle } = partition.shape
      const spliced = spliceBody(body, scan, {
        model: named === undefined || isNamed(body, named, model.engineName) ? undefined : model.engineName,
        cacheSalt: facts.cacheSalt,
        dropsNvext: nvext !== undefined,
        asksUsage: settings.injectsUsage && this.#target.reportsUsageOnDemand,
      })
      this.stripsUsage = spliced.addedUsage
      const reading = reader.read({
        endpoint: this.#target.prompt,
        body,
        tokenizer: settings.tokenizerOf(model.partition),
        blockSize,
        isEagle,
        loraName: model.loraName,
        cacheSalt: facts.cacheSalt,
        nvext: settings.readsNvext,
        model: model.partition,
      })
      const go = (found: PromptReading): void => {
        if (this.#isOver) return
        const request = fleetRequestOf(found, facts, model.loraName, reader)
        const allowed = this.#allowedOf(found, model, facts)
        this.#routed = { facts, model, partition, reading: found, request, allowed, body: spliced.bytes }
        this.#begin()
      }
      if (reading instanceof Promise) reading.then(go).catch((error: unknown) => this.#refuse(error))
      else go(reading)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Where it may go: a pin, the holder of the response that it goes on from, or the workers that serve its model. */
  #allowedOf(
    { body }: PromptReading,
    model: ServedModel,
    facts: RoutingFacts,
  ): readonly bigint[] | undefined {
    if (facts.workerId !== undefined) return [facts.workerId]
    const { previousResponseId } = body
    const holder = previousResponseId === undefined ? undefined : this.#state.owners.get(previousResponseId)
    return holder === undefined ? model.workerIds : [holder]
  }

  #begin(): void {
    try {
      this.#send()
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Books a rank and sends the request there. Errors: those of `Fleet.reserve`. */
  #send(again?: Selection): void {
    const { partition, body } = this.#routed!
    const { upstreams, watch, settings, nowMs } = this.#state
    let selection: Selection
    let watched
    for (;;) {
      selection = this.#reserve(again)
      watched = watch?.begin(selection.workerId)
      if (watch === undefined || watched !== undefined) break
      this.#free()
      this.#tried.add(selection.workerId)
      again = undefined
    }
    const { workerId, dpRank, endpoint } = selection
    this.#selection = selection
    this.addedHeaders = this.#headersOf(selection)
    this.#attempts++
    const attempt = new Attempt(this, watched, {
      nowMs,
      firstByteMs: settings.firstByteTimeoutMs,
      idleMs: settings.idleTimeoutMs,
      deadlineMs: this.#startedMs + settings.requestTimeoutMs,
    })
    this.#attempt = attempt
    const { table } = partition.router.partition
    const ranks = table.workers[table.workerIndexOf(workerId)]?.dataParallelSize ?? 1
    const headers = requestHeaders(this.#request, {
      passesAuthorization: settings.passesAuthorization,
      dpRank: ranks > 1 ? dpRank : undefined,
    })
    try {
      upstreams.dispatch(
        endpoint,
        { method: 'POST', path: this.#request.url!, headers, body },
        attempt,
        again !== undefined,
      )
    } catch (error) {
      attempt.onError(error as Error)
    }
  }

  #reserve(again: Selection | undefined): Selection {
    const { facts, model, partition, request, allowed } = this.#routed!
    const { fleet } = this.#state
    const name = partition.name
    const id = `${this.#innerId}.${this.#attempts}.${this.#tried.size}`
    const book = (terms: FleetRequest['terms']): Selection => {
      const booking = { requestId: id, isRelayed: true, isDispatched: false }
      const made = fleet.reserve(name, { ...request, terms: { ...request.terms, ...terms } }, booking)
      this.#bookingId = id
      return made
    }
    if (again !== undefined) return book({ pinnedWorker: { workerId: again.workerId, dpRank: again.dpRank } })
    if (facts.workerId !== undefined && facts.dpRank !== undefined)
      return book({
        pinnedWorker: { workerId: facts.workerId, dpRank: facts.dpRank },
        allowedWorkerIds: model.workerIds,
      })
    const selection = book({ allowedWorkerIds: this.#untried(partition, allowed) })
    const { dpRank } = facts
    if (dpRank === undefined || selection.dpRank === dpRank) return selection
    // A rank of whichever worker: of the one that was chosen.
    this.#free()
    return book({ pinnedWorker: { workerId: selection.workerId, dpRank } })
  }

  #untried(partition: FleetPartition, allowed: readonly bigint[] | undefined): readonly bigint[] | undefined {
    if (this.#tried.size === 0) return allowed
    const all = allowed ?? partition.router.partition.table.workers.map(({ workerId }) => workerId)
    return all.filter((workerId) => !this.#tried.has(workerId))
  }

  #headersOf({ workerId, dpRank, overlaps, partition }: Selection): string[] {
    const headers = ['x-router-request-id', this.#requestId]
    if (!this.#state.settings.tellsPlacement) return headers
    const cachedTokens = overlaps.find((rank) => rank.dpRank === dpRank)?.cachedTokens ?? 0
    const blocks = Math.floor(cachedTokens / partition.shape.blockSize)
    headers.push('x-router-worker', `${workerId}.${dpRank}`, 'x-router-overlap-blocks', String(blocks))
    return headers
  }

  #tryAnother(outcome: Extract<AttemptOutcome, { kind: 'failed' }>): void {
    const { settings, budget, nowMs } = this.#state
    const selection = this.#selection!
    const { workerId } = selection
    const isInTime = nowMs() - this.#startedMs < settings.requestTimeoutMs
    try {
      if (outcome.wasStale && isInTime && !this.#triedFresh.has(workerId)) {
        this.#triedFresh.add(workerId)
        this.#send(selection)
        return
      }
      this.#tried.add(workerId)
      if (isInTime && this.#retries < settings.retryLimit && budget.take()) {
        this.#isRetrying = true
        this.#retries++
        this.#send()
        return
      }
    } catch {
      // Nobody else may take it: what the last one said stands.
      if (this.#isRetrying) budget.giveBack()
      this.#isRetrying = false
    }
    this.#giveUp(outcome)
  }

  /** Every try failed: the last status, in the router's own words. */
  #giveUp({ failure, status, retryAfter }: Extract<AttemptOutcome, { kind: 'failed' }>): void {
    const isLate = failure === 'timeout'
    const code = isLate ? 'upstream_timeout' : 'upstream_failed'
    const message = isLate
      ? 'the engine did not answer in time'
      : status === undefined
        ? 'the engine could not be reached, or broke its answer off'
        : `the engine answered with status ${status}`
    const headers = retryAfter === undefined ? [] : ['retry-after', retryAfter]
    this.#answer({ status: status ?? (isLate ? 504 : 502), code, message, details: undefined }, headers)
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
      endAndClose(response, brokenStreamEvent(this.#target, code, 'the engine broke its answer off'))
    else response.destroy()
    this.#finish('broken', attempt, code)
  }

  #learn({ usage, responseId }: Attempt): void {
    const { reader, owners } = this.#state
    if (responseId !== undefined) owners.set(responseId, this.#selection!.workerId)
    if (usage?.promptTokens !== undefined) reader.learn(this.#routed!.reading, usage.promptTokens)
  }

  #clientGone(): void {
    if (this.#isOver) return
    if (this.#attempt === undefined) this.#finish('client_gone', undefined)
    else this.#attempt.cancel()
  }

  #free(): void {
    const id = this.#bookingId
    this.#bookingId = undefined
    if (id !== undefined) this.#routed!.partition.router.free(id)
  }

  #finish(ending: RequestEnding, attempt: Attempt | undefined, errorCode?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#free()
    this.#release()
    this.#state.live.delete(this)
    this.#state.budget.requests--
    this.#state.onFinished?.(this.#factsOf(ending, attempt, errorCode))
  }

  #factsOf(ending: RequestEnding, attempt: Attempt | undefined, errorCode: string | undefined): RequestFacts {
    const routed = this.#routed
    const selection = this.#selection
    return {
      requestId: this.#requestId,
      path: this.#target.path,
      ending,
      status: this.response.headersSent ? this.response.statusCode : 0,
      errorCode,
      model: routed?.model.partition,
      workerId: selection?.workerId,
      dpRank: selection?.dpRank,
      exactness: routed?.reading.exactness,
      cause: routed?.reading.cause,
      promptTokens: routed?.reading.allTokens,
      isEstimated: routed?.reading.isEstimated ?? false,
      predictedTokens: selection?.cachedTokens,
      blockSize: routed?.partition.shape.blockSize,
      usage: attempt?.usage,
      contentChunks: attempt?.contentChunks ?? 0,
      firstByteMs: this.#firstByteMs,
      totalMs: this.#state.nowMs() - this.#startedMs,
      attempts: this.#attempts,
      ignoredHints: this.#facts?.ignoredHints ?? [],
    }
  }
}

/** A model's name; anything but a non-empty text is as good as none. */
function textOf(value: Uint8Array): string | undefined {
  const name = JSON.parse(Buffer.from(value).toString()) as unknown
  return typeof name === 'string' && name !== '' ? name : undefined
}

function isNamed(
  body: Uint8Array,
  entry: { readonly valueStart: number; readonly valueEnd: number },
  name: string,
): boolean {
  return textOf(body.subarray(entry.valueStart, entry.valueEnd)) === name
}
