import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { quoted } from '../quoted.js'
import { Access, type AccessSettings, type RouteAccess } from './access.js'
import { type FrontDoor, type OverloadAnswers, answerOf, refusalBody } from './answers.js'
import { letStalledGo, takeInTurn } from './connections.js'
import { HotRoutes, jsonType, refuse } from './hot-routes.js'
import { HttpError } from './http-error.js'
import { type JsonValue, writeJson } from './json-writer.js'
import { pathOf, settleHead } from './request-head.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Default `client`. */
    access?: RouteAccess
    /** How refusals of this route look. Default: that of the server. */
    door?: FrontDoor
  }
  interface FastifyInstance {
    readonly hotRoutes: HotRoutes
  }
}

/** How a listener serves. */
export interface HttpServerOptions {
  /** Address or name to bind. */
  readonly host: string
  /** How its refusals look. */
  readonly door: FrontDoor
  readonly access?: AccessSettings | undefined
  readonly overload?: OverloadAnswers | undefined
  /** Bytes of a body, of routes that do not say their own. Default 8 MiB. */
  readonly bodyLimitBytes?: number | undefined
  /** A request head, or a body that stalls, for longer than this is answered 408. Default 10 s. */
  readonly stallMs?: number | undefined
  /** A request that is not there whole after this time is answered 408, however steadily it comes. Default 1,800 s. */
  readonly arrivalMs?: number | undefined
  /** Idle connections are kept so long, and those of which nothing takes the rest of an answer. Default 75 s. */
  readonly keepAliveMs?: number | undefined
  /**
   * Gets every request first, with all that comes with it: access, its body, its answer. False = it is none of its own, and goes to the
   * routes.
   */
  readonly front?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
}

const headerLimitBytes = 32 * 1024
const defaultBodyLimit = 8 * 1024 * 1024
const defaultStallMs = 10_000
const defaultArrivalMs = 1_800_000
const idleLookMs = 20
const noRetryAfter: OverloadAnswers = { statusCode: 529, retryAfterSecs: 0 }

/**
 * A server with what all listeners of the router share, and no routes: who may call (each route says `config.access`), limits of heads and
 * bodies, and how refusals look. Bodies arrive as bytes. Error: `ROUTER_CONFIG_INVALID`, see `Access`.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { host, overload = noRetryAfter, stallMs = defaultStallMs, front } = options
  const bodyLimit = options.bodyLimitBytes ?? defaultBodyLimit
  const access = new Access(host, options.access)
  const doorOf = ({ routeOptions }: FastifyRequest): FrontDoor => routeOptions.config?.door ?? options.door
  const send = (request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply => {
    const door = doorOf(request)
    const { retryAfterSecs, ...answer } = answerOf(httpErrorOf(error, bodyLimit), door, overload)
    if (retryAfterSecs > 0) void reply.header('retry-after', String(retryAfterSecs))
    return sendJson(reply, answer.status, refusalBody(door, answer))
  }
  const refuseHead = (response: ServerResponse, error: unknown): void => {
    // Where its body ends is in doubt.
    response.shouldKeepAlive = false
    refuse(response, error, options.door, overload)
  }
  const keepAliveTimeout = options.keepAliveMs ?? 75_000
  // Heads may not have less time than they need to stall.
  const requestTimeout = Math.max(stallMs, options.arrivalMs ?? defaultArrivalMs)
  const http = {
    maxHeaderSize: headerLimitBytes,
    headersTimeout: stallMs,
    connectionsCheckingInterval: Math.min(1000, stallMs / 2),
    // That it is there is checked here, and answered as everything else.
    requireHostHeader: false,
  }
  const bodies = { bodyBytes: bodyLimit, allBytes: Infinity, stallMs }
  const hotRoutes = new HotRoutes({ access, bodies, door: options.door, overload })
  const server = fastify({
    bodyLimit,
    keepAliveTimeout,
    return503OnClosing: false,
    routerOptions: { maxParamLength: headerLimitBytes },
    http,
    serverFactory: (route: RequestListener) => {
      const take: RequestListener = (request, response) => {
        if (front?.(request, response) !== true && !hotRoutes.take(request, response))
          route(request, response)
      }
      return createServer({ ...http, keepAliveTimeout, requestTimeout }, (request, response) => {
        letStalledGo(response)
        try {
          settleHead(request)
        } catch (error) {
          refuseHead(response, error)
          return
        }
        takeInTurn(request, response, take)
      })
        .on('checkExpectation', (_request, response) => {
          const message = "what the header Expect asks for is not possible; accepted: '100-continue'"
          refuseHead(response, new HttpError('expectation_failed', message))
        })
        .on('connect', (_request, socket: Socket) =>
          refuseOnSocket(socket, new HttpError('bad_http', 'the router opens no tunnels'), options.door),
        )
    },
    clientErrorHandler: (error, socket) => refuseOnSocket(socket, clientErrorOf(error), options.door),
    frameworkErrors: (_error, request, reply) =>
      void send(request, reply, new HttpError('bad_request', 'the path is no valid URL')),
  })
  server.decorate('hotRoutes', hotRoutes)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  server.addHook('onRequest', (request, _reply, done) => {
    access.check(request.routeOptions.config.access ?? 'client', request.headers)
    done()
  })
  server.addHook('preParsing', (request, _reply, payload, done) => {
    watchBody(request.raw, stallMs, doorOf(request))
    done(null, payload)
  })
  server.setErrorHandler((error, request, reply) => send(request, reply, error))
  server.setNotFoundHandler((request, reply) =>
    send(request, reply, new HttpError('not_found', `there is no path ${quoted(pathOf(request.url))}`)),
  )
  return server
}

/** Takes no new connections, lets requests end, and cuts what lasts longer than `graceMs`. */
export async function closeHttpServer({ server, close }: FastifyInstance, graceMs: number): Promise<void> {
  // Connections that get idle while it closes would be kept.
  const idle = setInterval(() => server.closeIdleConnections(), idleLookMs)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await close()
  clearInterval(idle)
  clearTimeout(cut)
}

/** Sends JSON text. */
function sendJson(reply: FastifyReply, status: number, body: JsonValue): FastifyReply {
  return reply.code(status).header('content-type', jsonType).send(writeJson(body))
}

/** Errors of the framework in our words; others stay as they are. */
function httpErrorOf(error: unknown, bodyLimit: number): unknown {
  const { code, statusCode } = error as FastifyError
  if (typeof code !== 'string' || !code.startsWith('FST_')) return error
  if (statusCode === 413) return new HttpError('body_too_large', `the body has more than ${bodyLimit} bytes`)
  return statusCode === 400 ? new HttpError('bad_http', (error as Error).message) : error
}

function clientErrorOf(error: Error & { readonly code?: string }): HttpError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HttpError('request_timeout', 'the request did not come in time')
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new HttpError('headers_too_large', `the headers are larger than ${headerLimitBytes} bytes`)
  return new HttpError('bad_http', 'this is no valid HTTP request')
}

/** Answers where there is no reply to answer with, and hangs up; only hangs up where another answer is under way. */
function refuseOnSocket(socket: Socket, error: HttpError, door: FrontDoor): void {
  // Kept there by Node for this very question.
  const { _httpMessage: current } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  if (!socket.writable || current?.headersSent === true) {
    socket.destroy()
    return
  }
  const answer = answerOf(error, door, noRetryAfter)
  const { status } = answer
  const body = writeJson(refusalBody(door, answer))
  const head = `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\nconnection: close\r\ncontent-type: application/json`
  socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy())
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** Refuses a body of which nothing comes for too long. */
function watchBody(request: IncomingMessage, stallMs: number, door: FrontDoor): void {
  if (request.complete) return
  const stalled = (): void =>
    refuseOnSocket(request.socket, new HttpError('request_timeout', 'the body did not come in time'), door)
  const over = (): void => {
    request.setTimeout(0)
    request.off('timeout', stalled).off('end', over).off('close', over)
  }
  request.setTimeout(stallMs)
  request.on('timeout', stalled).on('end', over).on('close', over)
}
