import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ApiError, type ErrorShape, badRequest, errorBody } from './api-error.js'
import { Exchange } from './exchange.js'
import { type Route, routesOf } from './routes.js'
import type { ServerHost } from './server-host.js'
import { StatsCounter } from './stats.js'

/** Bytes of a body that are accepted. */
export const bodyBytesLimit = 256 * 1024 * 1024

/** The endpoints of a host, not listening yet. Connections that are idle for `keepAliveMs` are closed. */
export function createHttpServer(host: ServerHost, keepAliveMs: number): FastifyInstance {
  const { flavour } = host.engine
  const routes = routesOf(flavour)
  const refuseRoute = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    const path = request.url.split('?')[0]!
    const [status, type] = routes.some((route) => route.path === path)
      ? [405, 'Method Not Allowed']
      : [404, 'Not Found']
    exchangeOf(host, { path: 'other', shape: flavour }, request, reply).fail(new ApiError(status, type, type))
  }
  const app = Fastify({
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_error, request, reply) => refuseRoute(request, reply),
    bodyLimit: bodyBytesLimit,
    keepAliveTimeout: keepAliveMs,
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    routerOptions: { ignoreTrailingSlash: false },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  // What the simulation itself is asked counts apart.
  const adminHost: ServerHost = { ...host, stats: new StatsCounter() }
  for (const route of routes)
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        reply.hijack()
        await answer(host, route.group === 'admin' ? adminHost : host, route, request, reply)
      },
    })
  app.setErrorHandler(
    (error: { readonly statusCode?: number; readonly message: string }, _request, reply) => {
      const status = error.statusCode ?? 500
      const refusal = new ApiError(
        status,
        status < 500 ? 'BadRequestError' : 'InternalServerError',
        error.message,
      )
      void reply.code(status).send(errorBody(flavour, refusal))
    },
  )
  app.setNotFoundHandler(refuseRoute)
  return app
}

/** As uvicorn answers what is no HTTP. */
function refuseConnection(_error: Error, socket: Socket): void {
  if (!socket.writable) socket.destroy()
  else
    socket.end(
      'HTTP/1.1 400 Bad Request\r\nserver: uvicorn\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n' +
        'Invalid HTTP request received.',
    )
}

function exchangeOf(
  host: ServerHost,
  where: { readonly path: string; readonly shape: ErrorShape },
  request: FastifyRequest,
  reply: FastifyReply,
): Exchange {
  return new Exchange(host, reply.raw, {
    ...where,
    headers: request.headers,
    parameters: (request.params ?? {}) as Record<string, string>,
    query: request.query as Record<string, string>,
    bytes: (request.body as Buffer | undefined)?.length ?? 0,
  })
}

async function answer(
  host: ServerHost,
  counting: ServerHost,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const shape = route.shape ?? host.engine.flavour
  const exchange = exchangeOf(counting, { path: route.path, shape }, request, reply)
  try {
    const bytes = request.body as Buffer | undefined
    if (route.group !== 'admin') host.log.add(request.method, request.url, request.raw.rawHeaders, bytes)
    const body = readJson(request, bytes, route)
    if (route.group !== 'admin') {
      const { model } = (body ?? {}) as { readonly model?: unknown }
      const fault = host.faults.take({
        path: route.path,
        model: typeof model === 'string' ? model : undefined,
        isGeneration: route.group === 'model',
      })
      if (fault !== undefined && !(await exchange.meet(fault))) return
    }
    await route.handle(host, exchange, body)
  } catch (error) {
    exchange.fail(isTooDeep(error) ? badRequest('the body is nested too deeply') : error)
  }
}

/** Whether the stack ended, which only a body makes happen. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack')
}

const strictText = new TextDecoder('utf-8', { fatal: true })

/** Throws an `ApiError` of status 400 for what is no JSON. */
function readJson(request: FastifyRequest, bytes: Buffer | undefined, route: Route): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (route.group === 'model' && !route.path.includes(':'))
      throw new ApiError(400, 'Bad Request', '1 validation error:\n  body: Field required')
    return undefined
  }
  const type = request.headers['content-type'] ?? ''
  if (route.group === 'model' && !/^application\/(?:[^;]*\+)?json\b/iu.test(type))
    throw new ApiError(400, 'Bad Request', "Unsupported Media Type: Only 'application/json' is allowed")
  try {
    return JSON.parse(strictText.decode(bytes))
  } catch (error) {
    throw badRequest(`JSON decode error: ${(error as Error).message}`)
  }
}
