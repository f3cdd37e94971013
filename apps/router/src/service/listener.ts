import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { AccessSettings } from '../http/access.js'
import type { OverloadAnswers } from '../http/answers.js'
import { type HttpServerOptions, closeHttpServer, createHttpServer } from '../http/http-server.js'
import type { ServeSettings } from '../settings/serve-settings.js'

/** A port that is served. */
export interface Listener {
  readonly url: string
  /** Takes no new connections, lets requests end, cuts what lasts longer than `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** A server as the settings say, without routes. Errors: those of `createHttpServer`. */
export function serverOf(
  settings: ServeSettings,
  more: Pick<HttpServerOptions, 'door' | 'front'>,
): FastifyInstance {
  return createHttpServer({
    ...more,
    host: settings.host,
    access: accessOf(settings),
    overload: overloadOf(settings),
    arrivalMs: 1000 * settings.requestTimeoutSecs,
    keepAliveMs: 1000 * settings.keepAliveSecs,
  })
}

/** Who may call, on every listener. */
export function accessOf({ adminToken, hasNoAdmin, apiKeys }: ServeSettings): AccessSettings {
  return { adminToken, hasNoAdmin, apiKeys }
}

/** What callers are told when there is too much to do. */
export function overloadOf({ overloadStatusCode, overloadRetryAfterSecs }: ServeSettings): OverloadAnswers {
  return { statusCode: overloadStatusCode, retryAfterSecs: overloadRetryAfterSecs }
}

/** Binds a server, port 0 = a free one. Errors: those of the system for an address that cannot be bound. */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<Listener> {
  await server.listen({ host, port })
  const { address, family, port: bound } = server.server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: (graceMs) => closeHttpServer(server, graceMs),
  }
}
