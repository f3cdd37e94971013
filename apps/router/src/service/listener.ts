import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
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
  const { host, adminToken, hasNoAdmin, apiKeys } = settings
  return createHttpServer({
    ...more,
    host,
    access: { adminToken, hasNoAdmin, apiKeys },
    overload: { statusCode: settings.overloadStatusCode, retryAfterSecs: settings.overloadRetryAfterSecs },
    keepAliveMs: 1000 * settings.keepAliveSecs,
  })
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
