/** What is wrong with a request before the router looks at what it asks for; wire names, see `answerOf`. */
export const httpErrorCodes = [
  'invalid_json',
  'invalid_body',
  'unsupported_media_type',
  'body_too_large',
  'headers_too_large',
  'request_timeout',
  'bad_http',
  'bad_request',
  'unauthorized',
  'forbidden_host',
  'not_found',
  'method_not_allowed',
  'expectation_failed',
  'not_implemented',
  'replica_sync_off',
  'buffer_full',
] as const

export type HttpErrorCode = (typeof httpErrorCodes)[number]

/** A request that is refused as such. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly code: HttpErrorCode

  constructor(code: HttpErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
