import { KvIndexError } from '@router/kv-index'
import { RouterError, type RouterErrorCode } from '@router/sdk'
import { cut } from '../quoted.js'
import { HttpError, type HttpErrorCode } from './http-error.js'
import type { JsonValue } from './json-writer.js'

/** Which front door answers: the selection API, or the OpenAI proxy. */
export type FrontDoor = 'selection' | 'proxy'

/** How a refusal looks from outside. */
export interface Answer {
  readonly status: number
  /** Wire name of the code. */
  readonly code: string
  readonly message: string
  /** Facts for programs; only of `queue_rejected`, `deadline_exceeded` and `do_not_queue`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Seconds, for `Retry-After`; 0 = none. */
  readonly retryAfterSecs: number
}

/** What an operator chose for overload. */
export interface OverloadAnswers {
  /** `overload_status_code`, 200 to 999. */
  readonly statusCode: number
  /** `overload_retry_after_secs`; 0 = no header. */
  readonly retryAfterSecs: number
}

/** Where an operator's choice stands in `answerStatuses`. */
const overload = 'overload'
type Status = number | typeof overload

/** Codes that only HTTP knows, and those of the contract that a caller can get to see. */
export type AnswerCode = HttpErrorCode | RouterErrorCode

/** Status of each code (host.md 5.2): at the selection API, and at the OpenAI proxy. What is not listed is 500. */
export const answerStatuses: Readonly<
  Partial<Record<AnswerCode, readonly [selection: Status, proxy: Status]>>
> = {
  invalid_json: [400, 400],
  invalid_body: [422, 400],
  unsupported_media_type: [415, 415],
  body_too_large: [413, 413],
  headers_too_large: [431, 431],
  request_timeout: [408, 408],
  bad_http: [400, 400],
  bad_request: [400, 400],
  unauthorized: [401, 401],
  forbidden_host: [403, 403],
  not_found: [404, 404],
  method_not_allowed: [405, 405],
  expectation_failed: [417, 417],
  not_implemented: [501, 501],
  replica_sync_off: [409, 409],
  buffer_full: [503, 503],
  ROUTER_NOT_READY: [503, 503],
  ROUTER_NO_ENDPOINTS: [503, 503],
  ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED: [503, 503],
  ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED: [429, overload],
  ROUTER_PINNED_WORKER_OVERLOADED: [429, overload],
  ROUTER_PINNED_WORKER_NOT_ALLOWED: [400, 400],
  ROUTER_QUEUE_REJECTED: [429, overload],
  ROUTER_DEADLINE_EXCEEDED: [429, overload],
  ROUTER_ADMISSION_FULL: [429, overload],
  ROUTER_BAD_REQUEST: [400, 400],
  ROUTER_SESSION_CONFLICT: [400, 400],
  ROUTER_NOT_FOUND: [404, 404],
  ROUTER_DUPLICATE_REQUEST: [409, 500],
  ROUTER_SHUTTING_DOWN: [503, 503],
  ROUTER_INIT_FAILED: [503, 500],
  ROUTER_POLICY_FAILED: [500, 500],
  ROUTER_NON_FINITE_COST: [500, 500],
  ROUTER_INVALID_PICKER_ROW: [500, 500],
}

/** Characters; whoever writes a message may hold what a caller sent, however long. */
const longestMessage = 1000

const codesWithDetails: ReadonlySet<string> = new Set(['ROUTER_QUEUE_REJECTED', 'ROUTER_DEADLINE_EXCEEDED'])

/** What a caller is answered for an error. Errors that are none of the router's are `internal_error`, and say nothing of what happened. */
export function answerOf(error: unknown, door: FrontDoor, overloadAnswers: OverloadAnswers): Answer {
  const code = codeOf(error)
  if (code === undefined)
    return { status: 500, code: 'internal_error', message: 'an internal error', retryAfterSecs: 0 }
  const [selection, proxy] = answerStatuses[code] ?? [500, 500]
  const chosen = door === 'selection' ? selection : proxy
  const isBlamed = door === 'proxy' && code === 'ROUTER_POLICY_FAILED' && isRequestFault(error)
  const status = isBlamed ? 400 : chosen === overload ? overloadAnswers.statusCode : chosen
  const isBusy = chosen === overload || status === 429 || status === 503
  return {
    status,
    code: wireName(code),
    message: cut((error as Error).message, longestMessage),
    details: codesWithDetails.has(code) ? (error as RouterError).details : undefined,
    retryAfterSecs: isBusy ? overloadAnswers.retryAfterSecs : 0,
  }
}

/** The body of a refusal, as its front door words it. */
export function refusalBody(door: FrontDoor, answer: Omit<Answer, 'retryAfterSecs'>): JsonValue {
  const details = answer.details as JsonValue | undefined
  const { status, code, message } = answer
  if (door === 'selection') return { error: message, code, details }
  return { error: { message, type: errorTypeOf(status), code, param: null, details } }
}

/** A code as it goes over the wire: lower case, without `ROUTER_`. */
export function wireName(code: AnswerCode): string {
  return code.replace(/^ROUTER_/, '').toLowerCase()
}

/** Class of a refusal, as clients of the OpenAI API and of its likes know it. */
export function errorTypeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

function codeOf(error: unknown): AnswerCode | undefined {
  if (error instanceof HttpError) return error.code
  if (RouterError.isInstance(error)) return error.code
  // Tokens, hashes and ranges that cannot be are the caller's.
  return KvIndexError.isInstance(error) ? 'ROUTER_BAD_REQUEST' : undefined
}

/** Whether a policy says that the request is at fault. */
function isRequestFault(error: unknown): boolean {
  return RouterError.isInstance(error) && error.details['blamesRequest'] === true
}
