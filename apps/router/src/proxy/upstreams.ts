import type { Socket } from 'node:net'
import { Client, type Dispatcher, Pool, buildConnector } from 'undici'

/** How connections to engines are kept; milliseconds. */
export interface UpstreamSettings {
  /** Default 2,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Idle connections are closed after this time, before the engine does so. Default 4,000. */
  readonly keepAliveMs?: number | undefined
}

/** Workers whose connections are kept; beyond, the least recently used ones are closed. */
const maximumPools = 4096
const headerLimitBytes = 64 * 1024
/** Not even what nobody waits for any more may stay silent for longer. */
const longestSilenceMs = 3_600_000

/** Bytes that a connection had received when it failed, as the connector noted them on the error. */
const receivedBytes = Symbol('received bytes')

interface Upstream {
  readonly origin: string
  /** Path of the base URL, without a slash at its end. */
  readonly basePath: string
  readonly pool: Pool
}

/** A request for an engine. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  /** Names and values by turns. */
  readonly headers: string[]
  readonly body: Uint8Array | undefined
}

/** Connections to engines, one pool a worker; kept alive, and closed before the engine would. */
export class Upstreams {
  readonly #upstreams = new Map<string, Upstream>()
  readonly #options: Client.Options

  constructor({ connectTimeoutMs = 2000, keepAliveMs = 4000 }: UpstreamSettings = {}) {
    const connect = buildConnector({ timeout: connectTimeoutMs })
    this.#options = {
      connect: (options, callback) =>
        connect(options, (...result) => {
          const socket = result[1] as Socket | null
          socket?.on('error', (error) => Object.assign(error, { [receivedBytes]: socket.bytesRead }))
          callback(...result)
        }),
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // What is late is for the proxy to say.
      headersTimeout: 0,
      bodyTimeout: longestSilenceMs,
      maxHeaderSize: headerLimitBytes,
      pipelining: 1,
    }
  }

  /** Workers whose connections are kept. */
  get size(): number {
    return this.#upstreams.size
  }

  /**
   * Sends a request to the engine at a base URL. Throws for a URL that is none.
   * @param isFresh on a connection of its own, that nothing was sent on before
   */
  dispatch(
    endpoint: string,
    request: UpstreamRequest,
    handler: Dispatcher.DispatchHandler,
    isFresh: boolean,
  ): void {
    const { origin, basePath, pool } = this.#upstreamOf(endpoint)
    const { method, headers, body = null } = request
    const options = { method, headers, body, path: basePath + request.path }
    if (!isFresh) {
      pool.dispatch(options, handler)
      return
    }
    const client = new Client(origin, this.#options)
    client.dispatch({ ...options, origin }, handler)
    void client.close()
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    const pools = [...this.#upstreams.values()]
    this.#upstreams.clear()
    await Promise.all(pools.map(({ pool }) => pool.destroy()))
  }

  #upstreamOf(endpoint: string): Upstream {
    const known = this.#upstreams.get(endpoint)
    if (known !== undefined) {
      if (this.#upstreams.size < maximumPools) return known
      this.#upstreams.delete(endpoint)
      this.#upstreams.set(endpoint, known)
      return known
    }
    const { origin, pathname } = new URL(endpoint)
    const upstream = { origin, basePath: pathname.replace(/\/+$/, ''), pool: new Pool(origin, this.#options) }
    this.#upstreams.set(endpoint, upstream)
    if (this.#upstreams.size > maximumPools) {
      const [oldest, { pool }] = this.#upstreams.entries().next().value!
      this.#upstreams.delete(oldest)
      void pool.close()
    }
    return upstream
  }
}

/** Whether a connection that failed had carried an earlier answer, given that none of this one came. */
export function wasReused(error: Error): boolean {
  const { [receivedBytes]: noted, socket } = error as Error & {
    readonly [receivedBytes]?: number
    readonly socket?: { readonly bytesRead?: number } | null
  }
  return (noted ?? socket?.bytesRead ?? 0) > 0
}

/** Whether there was no connection at all. */
export function isConnectError(error: Error): boolean {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  return syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT'
}
