import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpError } from '../http/http-error.js'
import { writeJson } from '../http/json-writer.js'
import { checkContentType, pathOf } from '../http/request-head.js'
import { type ProxyTarget, targetOf } from './endpoints.js'
import { proxyAnswerOf, sendRefusal } from './error-answers.js'
import { ProxiedRequest } from './proxied-request.js'
import type { ProxyOptions } from './proxy-settings.js'
import { ProxyState, type RequestStage } from './proxy-state.js'
import { refusedFacts } from './request-facts.js'
import { relayStored } from './stored-responses.js'

const longestRequestId = 128
const slowestSweepMs = 1000

/** How much of everything a proxy keeps. */
export type ProxySizes = {
  /** Bytes of bodies. */
  readonly bodyBytes: number
  /** Workers with connections. */
  readonly upstreams: number
  /** Ids of responses that engines keep. */
  readonly responses: number
  /** Requests that wait for a further try. */
  readonly waitingRetries: number
  /** Names of models that some worker offered. */
  readonly models: number
}

/**
 * The OpenAI API in front of a fleet (host.md 14.2). It takes requests straight from the server, before any framework: `take` says whether a
 * request was one of its own.
 */
export class OpenAiProxy {
  readonly #state: ProxyState
  readonly #sweep: NodeJS.Timeout
  readonly #stopListening: () => void

  constructor(options: ProxyOptions) {
    this.#state = new ProxyState(options)
    this.#stopListening = options.fleet.workers.listen({
      // Once everybody knows that it has left.
      onRemove: (workerId) =>
        queueMicrotask(() => {
          for (const request of this.#state.live) request.workerGone(workerId)
        }),
    })
    const { firstByteTimeoutMs, idleTimeoutMs, requestTimeoutMs, sseKeepAliveMs } = this.#state.settings
    const shortestMs = Math.min(
      firstByteTimeoutMs,
      idleTimeoutMs,
      requestTimeoutMs,
      sseKeepAliveMs || Infinity,
    )
    const everyMs = Math.max(10, Math.min(slowestSweepMs, shortestMs / 4))
    this.#sweep = setInterval(() => this.#check(), everyMs).unref()
  }

  /** What its requests share, for whoever asks about a request without making one. */
  get state(): ProxyState {
    return this.#state
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#state.live.size
  }

  /** Requests in flight by where they are. `O(requests)`. */
  get stages(): Readonly<Record<RequestStage, number>> {
    const stages = { preprocess: 0, route: 0, dispatch: 0, relay: 0 }
    for (const { stage } of this.#state.live) stages[stage]++
    return stages
  }

  /** Sizes of what is kept, for gauges. */
  get sizes(): ProxySizes {
    const { bodies, upstreams, owners, budget, models } = this.#state
    return {
      bodyBytes: bodies.held,
      upstreams: upstreams.size,
      responses: owners.size,
      waitingRetries: budget.waiting,
      models: models.size,
    }
  }

  /** Takes a request that is for one of its paths; false = it is not, and nothing was done. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const found = targetOf(pathOf(request.url!))
    if (found === undefined) return false
    const id = requestIdOf(request)
    try {
      this.#state.access.check('client', request.headers)
      if (!found.methods.includes(request.method!)) throw wrongMethod(request.method!, found.methods)
      this.#serve(found.target, request, response, id)
    } catch (error) {
      const { retryAfterSecs, ...answer } = proxyAnswerOf(error, this.#state.settings.overload)
      const headers = ['x-router-request-id', id]
      if (answer.status === 405) headers.push('allow', found.methods.join(', '))
      if (retryAfterSecs > 0) headers.push('retry-after', String(retryAfterSecs))
      sendRefusal(response, answer, headers)
      request.resume()
      const { method } = request
      const { status, code: errorCode } = answer
      this.#state.onFinished?.(refusedFacts({ requestId: id, method, path: found.path, status, errorCode }))
    }
    return true
  }

  /** Cuts whatever is in flight: clients and engines. */
  abortAll(): void {
    for (const request of this.#state.live) request.abort()
  }

  /** Cuts everything and closes the connections to engines. */
  async close(): Promise<void> {
    clearInterval(this.#sweep)
    this.#stopListening()
    this.abortAll()
    await this.#state.upstreams.close()
  }

  #serve(target: ProxyTarget, request: IncomingMessage, response: ServerResponse, id: string): void {
    switch (target.kind) {
      case 'routed':
        checkContentType(request.headers)
        new ProxiedRequest(this.#state, target.endpoint, request, response, id).start()
        return
      case 'models': {
        const body = Buffer.from(writeJson(this.#state.models.list()))
        const headers = ['content-type', 'application/json', 'content-length', String(body.length)]
        response.writeHead(200, [...headers, 'x-router-request-id', id])
        response.end(body)
        return
      }
      case 'response':
        relayStored(this.#state, target, request, response, id)
    }
  }

  #check(): void {
    const nowMs = this.#state.nowMs()
    for (const request of this.#state.live) request.check(nowMs)
  }
}

/** The client's own, where it can be told from others at a glance. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && given !== '' && given.length <= longestRequestId ? given : randomUUID()
}

function wrongMethod(method: string, accepted: readonly string[]): HttpError {
  const message = `${method} is not possible here; accepted: ${accepted.join(', ')}`
  return new HttpError('method_not_allowed', message)
}
