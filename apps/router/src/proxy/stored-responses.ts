import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OverloadAnswers } from '../http/answers.js'
import { HttpError } from '../http/http-error.js'
import { quoted } from '../quoted.js'
import { Attempt, type AttemptOutcome, type AttemptOwner } from './attempt.js'
import type { ProxyTarget } from './endpoints.js'
import { brokenStreamEvent, failureAnswer, retryAfterOf, sendRefusal } from './error-answers.js'
import { requestHeaders } from './forwarded-headers.js'
import { type LiveRequest, type ProxyState, stageOf } from './proxy-state.js'
import { refusedFacts } from './request-facts.js'
import { keyFor } from './worker-request.js'

/**
 * Asks the worker that holds a response for it, or to cancel it; nothing is booked and nobody else is tried, since nobody else knows it.
 * Errors: `not_found` for an id that is unknown, or whose worker is.
 */
export function relayStored(
  state: ProxyState,
  { id, isCancel }: Extract<ProxyTarget, { kind: 'response' }>,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): void {
  const workerId = state.owners.get(id)
  const view = workerId === undefined ? undefined : state.fleet.workers.get(workerId)
  const endpoint = view?.registration.endpoint
  if (endpoint === undefined || endpoint === '')
    throw new HttpError('not_found', `no worker is known to hold the response ${quoted(id)}`)
  // A cancellation has no body that means anything.
  request.resume()
  const { settings, nowMs, upstreams, live } = state
  const method = isCancel ? 'POST' : 'GET'
  const addedHeaders = ['x-router-request-id', requestId]
  const owner: AttemptOwner = {
    endpoint: undefined,
    stripsUsage: false,
    response,
    addedHeaders,
    extras: () => undefined,
    lastEvent: () => undefined,
    sent: () => undefined,
    progressed: () => undefined,
    identified: () => undefined,
    ended: (outcome) => {
      live.delete(alive)
      const refusal = answer(response, attempt, outcome, addedHeaders, settings.overload)
      if (refusal === undefined) return
      const { status, code: errorCode } = refusal
      state.onFinished?.(refusedFacts({ requestId, method, path: '/v1/responses', status, errorCode }))
    },
  }
  const attempt = new Attempt(owner, state.watch?.begin(workerId!), {
    nowMs,
    firstByteMs: settings.firstByteTimeoutMs,
    idleMs: settings.idleTimeoutMs,
    keepAliveMs: settings.sseKeepAliveMs,
    deadlineMs: nowMs() + settings.requestTimeoutMs,
  })
  const alive: LiveRequest = {
    get stage() {
      return stageOf(true, attempt)
    },
    check: (now) => attempt.check(now),
    abort: () => {
      response.destroy()
      attempt.cancel()
    },
    workerGone: (gone) => {
      if (gone === workerId) attempt.cut()
    },
  }
  live.add(alive)
  response.once('close', () => attempt.cancel())
  const headers = requestHeaders(request, {
    passesAuthorization: settings.passesAuthorization,
    isOwnToken: (value) => state.access.isAdminToken(value),
    apiKey: keyFor(view!, state.apiKeyOf),
  })
  upstreams.dispatch(
    { endpoint, isTrusted: view!.origin === 'trusted' },
    { method, path: request.url!, headers, body: undefined },
    attempt,
    false,
  )
}

/** What the client was told in place of an answer; `undefined` = it got one, or has gone. */
function answer(
  response: ServerResponse,
  attempt: Attempt,
  outcome: AttemptOutcome,
  headers: readonly string[],
  overload: OverloadAnswers,
): ReturnType<typeof failureAnswer> | undefined {
  if (outcome.kind !== 'failed' && outcome.kind !== 'broken') return undefined
  const isLate = outcome.failure === 'timeout'
  if (outcome.kind === 'failed') {
    const refusal = failureAnswer(isLate, outcome.status)
    const retryAfter = retryAfterOf(refusal.status, outcome.retryAfter, overload)
    sendRefusal(response, refusal, [...headers, ...retryAfter])
    return refusal
  }
  if (attempt.isStream) {
    const { code, message } = failureAnswer(isLate, undefined)
    response.end(brokenStreamEvent(undefined, code, message))
  } else response.destroy()
  return undefined
}
