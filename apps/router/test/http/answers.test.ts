import { KvIndexError } from '@router/kv-index'
import { RouterError, errorCodes } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { type AnswerCode, answerOf, answerStatuses, wireName } from '../../src/http/answers.js'
import { HttpError, httpErrorCodes } from '../../src/http/http-error.js'

const overload = { statusCode: 529, retryAfterSecs: 3 }
const isHttp = (code: AnswerCode) => (httpErrorCodes as readonly string[]).includes(code)
const errorOf = (code: AnswerCode) =>
  isHttp(code) ? new HttpError(code as never, 'why') : new RouterError(code as never, 'why', { limit: 1 })

/** Statuses of host.md 5.2, by wire name; `over` = what the operator chose. */
const expected: Readonly<Record<string, readonly [number, number | 'over']>> = {
  invalid_json: [400, 400],
  invalid_body: [422, 400],
  unsupported_media_type: [415, 415],
  body_too_large: [413, 413],
  headers_too_large: [431, 431],
  request_timeout: [408, 408],
  bad_http: [400, 400],
  not_ready: [503, 503],
  no_endpoints: [503, 503],
  all_eligible_workers_filtered: [503, 503],
  all_eligible_workers_overloaded: [429, 'over'],
  pinned_worker_overloaded: [429, 'over'],
  pinned_worker_not_allowed: [400, 400],
  queue_rejected: [429, 'over'],
  deadline_exceeded: [429, 'over'],
  admission_full: [429, 'over'],
  bad_request: [400, 400],
  session_conflict: [400, 400],
  not_found: [404, 404],
  method_not_allowed: [405, 405],
  expectation_failed: [417, 417],
  not_implemented: [501, 501],
  replica_sync_off: [409, 409],
  buffer_full: [503, 503],
  unauthorized: [401, 401],
  forbidden_host: [403, 403],
  duplicate_request: [409, 500],
  policy_failed: [500, 500],
  non_finite_cost: [500, 500],
  invalid_picker_row: [500, 500],
  shutting_down: [503, 503],
  init_failed: [503, 500],
}

describe('A1: every code has its status at both front doors', () => {
  const codes = Object.keys(answerStatuses) as AnswerCode[]

  it('and no other', () => {
    expect(new Set(codes.map(wireName))).toEqual(new Set(Object.keys(expected)))
    for (const code of httpErrorCodes) expect(codes).toContain(code)
  })

  it.each(codes)('%s', (code) => {
    const [selection, proxy] = expected[wireName(code)]!
    const atSelection = answerOf(errorOf(code), 'selection', overload)
    const atProxy = answerOf(errorOf(code), 'proxy', overload)
    expect([atSelection.status, atProxy.status]).toEqual([selection, proxy === 'over' ? 529 : proxy])
    expect([atSelection.code, atSelection.message]).toEqual([wireName(code), 'why'])
    const isBusy = (status: number | 'over') => status === 429 || status === 503 || status === 'over'
    expect([atSelection.retryAfterSecs, atProxy.retryAfterSecs]).toEqual([
      isBusy(selection) ? 3 : 0,
      isBusy(proxy) ? 3 : 0,
    ])
    const hasDetails = ['queue_rejected', 'deadline_exceeded'].includes(wireName(code))
    expect(atSelection.details).toEqual(hasDetails ? { limit: 1 } : undefined)
  })
})

describe('other errors', () => {
  it('that only a router can make are its own', () => {
    const others = errorCodes.filter((code) => !Object.hasOwn(answerStatuses, code))
    for (const code of others) expect(answerOf(errorOf(code), 'proxy', overload).status).toBe(500)
    expect(others.length).toBeGreaterThan(10)
  })

  it('of the index are the fault of the request', () => {
    const error = new KvIndexError('KV_INDEX_TOKEN_INVALID', 'a token', {})
    expect(answerOf(error, 'selection', overload)).toMatchObject({ status: 400, code: 'bad_request' })
  })

  it('that nobody knows tell nothing', () => {
    expect(answerOf(new TypeError('secret'), 'selection', overload)).toEqual({
      status: 500,
      code: 'internal_error',
      message: 'an internal error',
      retryAfterSecs: 0,
    })
  })

  it('of a policy that blames the request are 400 at the proxy', () => {
    const blaming = new RouterError('ROUTER_POLICY_FAILED', 'why', { blamesRequest: true })
    expect(answerOf(blaming, 'proxy', overload).status).toBe(400)
    expect(answerOf(blaming, 'selection', overload).status).toBe(500)
  })
})
