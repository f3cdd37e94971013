import type { ServerResponse } from 'node:http'
import { PromptError } from '@router/prompt'
import { type Answer, type OverloadAnswers, answerOf, refusalBody } from '../http/answers.js'
import { HttpError } from '../http/http-error.js'
import { writeJson } from '../http/json-writer.js'
import type { ProxyEndpoint } from './endpoints.js'
import { isRedirect } from './worker-watch.js'

/** What a client is answered for an error, in the words of the proxy. */
export function proxyAnswerOf(error: unknown, overload: OverloadAnswers): Answer {
  return answerOf(PromptError.isInstance(error) ? httpErrorOf(error) : error, 'proxy', overload)
}

/** Sends a refusal in the shape of the OpenAI API, and closes the connection where a body may still be on its way. */
export function sendRefusal(
  response: ServerResponse,
  refusal: Omit<Answer, 'retryAfterSecs'>,
  headers: readonly string[],
): void {
  if (response.headersSent || response.destroyed) return
  const body = Buffer.from(writeJson(refusalBody('proxy', refusal)))
  if (!response.req.complete) response.shouldKeepAlive = false
  response.writeHead(refusal.status, [
    'content-type',
    'application/json',
    'content-length',
    String(body.length),
    ...headers,
  ])
  response.end(body)
}

/** What a client is answered when every try failed. @param status of the engine; absent = there was no answer */
export function failureAnswer(isLate: boolean, status: number | undefined): Omit<Answer, 'retryAfterSecs'> {
  if (isLate)
    return {
      status: status ?? 504,
      code: 'upstream_timeout',
      message: 'the engine did not answer in time',
    }
  const message =
    status === undefined
      ? 'the engine could not be reached, or broke its answer off'
      : `the engine answered with status ${status}`
  const isOwn = status === undefined || isRedirect(status)
  return { status: isOwn ? 502 : status, code: 'upstream_failed', message }
}

/** `Retry-After` of that answer: what the engine said, else what every 429 and 503 of the router says; names and values by turns. */
export function retryAfterOf(
  status: number,
  ofEngine: string | undefined,
  { retryAfterSecs }: OverloadAnswers,
): string[] {
  const isBusy = (status === 429 || status === 503) && retryAfterSecs > 0
  const value = ofEngine ?? (isBusy ? String(retryAfterSecs) : undefined)
  return value === undefined ? [] : ['retry-after', value]
}

/** The one event with which a stream ends that broke off. */
export function brokenStreamEvent(
  endpoint: ProxyEndpoint | undefined,
  code: string,
  message: string,
): string {
  const error = { message, type: 'server_error', code, param: null }
  if (endpoint?.prompt === 'messages')
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message } })}\n\n`
  return `data: ${JSON.stringify({ error })}\n\n`
}

/** A prompt that cannot be read, as a refusal of its request. */
export function httpErrorOf(error: PromptError): HttpError {
  if (error.code === 'PROMPT_BODY_TOO_LARGE') return new HttpError('body_too_large', error.message)
  return new HttpError(error.code === 'PROMPT_BODY_INVALID' ? 'invalid_json' : 'invalid_body', error.message)
}
