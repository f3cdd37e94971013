import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Access, RouteAccess } from './access.js'
import { type FrontDoor, type OverloadAnswers, answerOf, refusalBody } from './answers.js'
import { BodyBuffers, type BodyLimits } from './body-buffers.js'
import { HttpError } from './http-error.js'
import { writeJson } from './json-writer.js'
import { pathOf } from './request-head.js'

/** Type of JSON answers. */
export const jsonType = 'application/json; charset=utf-8'

/** A request as it came, whoever took it in. */
export interface RawJsonRequest {
  /** With its query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Absent = none came. */
  readonly body?: Buffer | null | undefined
  /** Parts of the path that vary, decoded; absent = it has none. */
  readonly params?: Readonly<Record<string, string>> | undefined
}

/** An answer that only has to be sent. */
export interface WrittenAnswer {
  readonly status: number
  readonly contentType: string
  readonly content: string
}

/** What is done on one path. */
export interface HotRoute {
  readonly access: RouteAccess
  /** How its refusals look. Default: that of the server. */
  readonly door: FrontDoor | undefined
  /** Throws for headers that no body may have. */
  readonly check: (headers: IncomingHttpHeaders) => void
  readonly answer: (request: RawJsonRequest) => WrittenAnswer | Promise<WrittenAnswer>
}

export interface HotRoutesOptions {
  readonly access: Access
  readonly bodies: BodyLimits
  readonly door: FrontDoor
  readonly overload: OverloadAnswers
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly status: number
  readonly totalMs: number
}

/**
 * Paths whose `POST` requests are taken straight from the server, by the rules that all routes have: a framework around them costs more
 * than what they do.
 */
export class HotRoutes {
  /** Absent = nobody is told. */
  onAnswered: ((request: AnsweredRequest) => void) | undefined
  readonly #routes = new Map<string, HotRoute>()
  readonly #access: Access
  readonly #bodies: BodyBuffers
  readonly #door: FrontDoor
  readonly #overload: OverloadAnswers

  constructor({ access, bodies, door, overload }: HotRoutesOptions) {
    this.#access = access
    this.#bodies = new BodyBuffers(bodies)
    this.#door = door
    this.#overload = overload
  }

  add(path: string, route: HotRoute): void {
    this.#routes.set(path, route)
  }

  /** Takes a request for one of the paths, written as they are; false = it is for none, and nothing was done. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'POST') return false
    const url = request.url!
    const path = pathOf(url)
    const route = this.#routes.get(path)
    if (route === undefined) return false
    this.#tell(path, response)
    const { headers } = request
    try {
      this.#access.check(route.access, headers)
      route.check(headers)
    } catch (error) {
      this.#refuse(route, response, error)
      return true
    }
    let release = (): void => undefined
    release = this.#bodies.read(request, (body) => {
      if (body instanceof HttpError) {
        // The rest of it is not waited for.
        response.shouldKeepAlive = false
        this.#refuse(route, response, body)
        return
      }
      release()
      this.#answer(route, { url, headers, body }, response)
    })
    return true
  }

  #answer(route: HotRoute, request: RawJsonRequest, response: ServerResponse): void {
    try {
      const answer = route.answer(request)
      if (answer instanceof Promise)
        answer.then(
          (late) => send(response, late),
          (error: unknown) => this.#refuse(route, response, error),
        )
      else send(response, answer)
    } catch (error) {
      this.#refuse(route, response, error)
    }
  }

  #refuse({ door = this.#door }: HotRoute, response: ServerResponse, error: unknown): void {
    refuse(response, error, door, this.#overload)
  }

  #tell(path: string, response: ServerResponse): void {
    const { onAnswered } = this
    if (onAnswered === undefined) return
    const startedMs = performance.now()
    response.once('finish', () => {
      const totalMs = performance.now() - startedMs
      onAnswered({ method: 'POST', path, status: response.statusCode, totalMs })
    })
  }
}

/** Answers with a refusal, as its front door words it. */
export function refuse(
  response: ServerResponse,
  error: unknown,
  door: FrontDoor,
  overload: OverloadAnswers,
): void {
  const { retryAfterSecs, ...answer } = answerOf(error, door, overload)
  if (retryAfterSecs > 0) response.setHeader('retry-after', String(retryAfterSecs))
  const content = writeJson(refusalBody(door, answer))
  send(response, { status: answer.status, contentType: jsonType, content })
}

function send(response: ServerResponse, { status, contentType, content }: WrittenAnswer): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(content),
  })
  response.end(content)
}
