import type { Flavour } from '../engine/serving.js'

/** How an answer says that something is wrong: as vLLM, as SGLang, or as the Anthropic API. */
export type ErrorShape = Flavour | 'anthropic'

/** A refusal that the client sees. `param` names the field at fault. */
export class ApiError extends Error {
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    type: string,
    message: string,
    more: { param?: string | null | undefined; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = status
    this.type = type
    this.param = more.param ?? null
    this.headers = more.headers ?? {}
  }
}

/** 400: the request cannot be served as it is. */
export function badRequest(message: string, param?: string): ApiError {
  return new ApiError(400, 'BadRequestError', message, { param })
}

/** 404: nothing has this name or id. */
export function notFound(message: string, param?: string): ApiError {
  return new ApiError(404, 'NotFoundError', message, { param })
}

/** 500: the engine did not finish. */
export function internalError(message: string): ApiError {
  return new ApiError(500, 'InternalServerError', message)
}

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

/** The body of an error answer in one of the shapes. */
export function errorBody(shape: ErrorShape, error: ApiError): object {
  const { message, type, param, status: code } = error
  if (shape === 'anthropic')
    return { type: 'error', error: { type: anthropicTypes[code] ?? 'api_error', message } }
  if (shape === 'sglang') return { object: 'error', message, type, param, code }
  return { error: { message, type, param, code } }
}
