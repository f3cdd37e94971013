import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { quoted } from '../quoted.js'
import type { RouteAccess } from './access.js'
import type { FrontDoor } from './answers.js'
import { type RawJsonRequest, type WrittenAnswer, jsonType } from './hot-routes.js'
import { HttpError } from './http-error.js'
import type { Read } from './json-fields.js'
import { JsonReader } from './json-reader.js'
import { type JsonValue, writeJson } from './json-writer.js'
import { checkContentType } from './request-head.js'

/** A request as a JSON route sees it. */
export interface JsonRequest {
  /** A part of the path, decoded. */
  readonly parameter: (name: string) => string
  /** A key of the query; absent = not there. */
  readonly query: (key: string) => string | undefined
  /** A header, trimmed; absent = not there, or empty. */
  readonly header: (name: string) => string | undefined
  /** The body. Errors: those of `JsonReader`. */
  readonly body: <T>(read: Read<T>) => T
  /** As it came, for whoever reads it as another front door does. */
  readonly raw: { readonly headers: IncomingHttpHeaders; readonly body: Buffer }
}

export interface JsonAnswer {
  readonly status: number
  readonly body: JsonValue
  /** In place of the body: an answer that is no JSON. */
  readonly text?: { readonly contentType: string; readonly content: string }
}

/** A path and verb that takes JSON, or nothing, and answers JSON. */
export interface JsonRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With `:name` for a part that varies. */
  readonly path: string
  readonly access: RouteAccess
  /** A body must come. */
  readonly takesBody?: boolean
  /** It is asked so often that a framework would cost more than its answer. Only `POST`, with a body, and a path without parts that vary. */
  readonly isHot?: boolean
  readonly handle: (request: JsonRequest) => JsonAnswer | Promise<JsonAnswer>
}

const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const

export interface JsonRoutesOptions {
  /** How their refusals look. Default: as those of the server. */
  readonly door?: FrontDoor | undefined
  /** Told how many keys of a body nobody asked for. */
  readonly onUnknownKeys?: ((count: number) => void) | undefined
}

/** Adds routes to a server; other verbs on their paths are 405. */
export function addJsonRoutes(
  server: FastifyInstance,
  routes: readonly JsonRoute[],
  { door, onUnknownKeys = () => undefined }: JsonRoutesOptions = {},
): void {
  const doorConfig = door === undefined ? {} : { door }
  for (const { method, path, access, takesBody = false, isHot = false, handle } of routes) {
    const answer = (request: RawJsonRequest): WrittenAnswer | Promise<WrittenAnswer> => {
      // For callers whose JSON cannot hold 64 bits.
      const hasTextIds = request.url.includes('ids=') && queryOf(request.url).get('ids') === 'string'
      const textKey = hasTextIds ? 'worker_id' : undefined
      const found = handle(jsonRequest(request, onUnknownKeys))
      return found instanceof Promise ? found.then((late) => written(late, textKey)) : written(found, textKey)
    }
    if (isHot) server.hotRoutes.add(path, { access, door, check: checkContentType, answer })
    server.route({
      method,
      url: path,
      exposeHeadRoute: true,
      config: { access, ...doorConfig },
      onRequest: (request, _reply, done) => {
        if (takesBody || hasBody(request.headers)) checkContentType(request.headers)
        done()
      },
      handler: (request, reply) => {
        const send = ({ status, contentType, content }: WrittenAnswer): FastifyReply =>
          reply.code(status).header('content-type', contentType).send(content)
        const found = answer(request as RawJsonRequest)
        return found instanceof Promise ? found.then(send) : send(found)
      },
    })
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const known = routes.filter((route) => route.path === path)
    const taken: string[] = known.map(({ method }) => method)
    if (taken.includes('GET')) taken.push('HEAD')
    server.route({
      method: verbs.filter((verb) => !taken.includes(verb)),
      url: path,
      config: { access: known[0]!.access, ...doorConfig },
      onRequest: (request, reply, done) => {
        if (Object.values(request.params as Record<string, string>).includes('')) return done(emptyPart())
        void reply.header('allow', taken.join(', '))
        const message = `${request.method} is not possible here; accepted: ${taken.join(', ')}`
        done(new HttpError('method_not_allowed', message))
      },
      handler: () => undefined,
    })
  }
}

/** The worker that a part of the path names. Error: `bad_request`. */
export function workerIdIn({ parameter }: JsonRequest, name: string): bigint {
  const text = parameter(name)
  const id = /^\d{1,20}$/.test(text) ? BigInt(text) : -1n
  if (id >= 0n && id <= 0xffff_ffff_ffff_ffffn) return id
  const message = `${quoted(text)} is no worker id; accepted: an unsigned 64-bit integer`
  throw new HttpError('bad_request', message)
}

function written({ status, body, text }: JsonAnswer, textKey: string | undefined): WrittenAnswer {
  if (text !== undefined) return { status, ...text }
  return { status, contentType: jsonType, content: writeJson(body, textKey) }
}

function jsonRequest(request: RawJsonRequest, onUnknownKeys: (count: number) => void): JsonRequest {
  let query: URLSearchParams | undefined
  return {
    get raw() {
      const { headers, body } = request
      return { headers, body: body ?? Buffer.alloc(0) }
    },
    parameter: (name) => {
      const value = request.params?.[name] ?? ''
      if (value === '') throw emptyPart()
      return value
    },
    query: (key) => {
      query ??= queryOf(request.url)
      return query.get(key) ?? undefined
    },
    header: (name) => {
      const value = request.headers[name]
      return (typeof value === 'string' ? value.trim() : undefined) || undefined
    },
    body: (read) => {
      const reader = new JsonReader(request.body ?? new Uint8Array(0))
      const value = reader.document(read)
      if (reader.unknownKeys > 0) onUnknownKeys(reader.unknownKeys)
      return value
    },
  }
}

/** Error: `bad_request` for a key that stands twice. */
function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?')
  const query = new URLSearchParams(start < 0 ? '' : url.slice(start))
  const twice = [...query.keys()].find((key) => query.getAll(key).length > 1)
  if (twice !== undefined) throw new HttpError('bad_request', `the query has ${quoted(twice)} more than once`)
  return query
}

function emptyPart(): HttpError {
  return new HttpError('not_found', 'a part of the path is empty')
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined
}
