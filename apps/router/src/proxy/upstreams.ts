import type { Socket } from 'node:net'
import { Client, type Dispatcher, Pool, buildConnector } from 'undici'
import { EndpointRules, loopbackHosts } from '../fleet/endpoint-rules.js'
import { checkedLookup } from '../workers/engine-client.js'

/** How connections to engines are kept; milliseconds. */
export interface UpstreamSettings {
  /** Default 2,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Idle connections are closed after this time, before the engine does so. Default 4,000. */
  readonly keepAliveMs?: number | undefined
  /** Which addresses workers may have that are not trusted. Default: those of this machine. */
  readonly rules?: EndpointRules | undefined
  /** Workers whose connections are kept; beyond, the least recently used ones are closed. Default 4,096. */
  readonly maximumPools?: number | undefined
}

/** Where an engine is. */
export interface UpstreamTarget {
  /** Base URL. */
  readonly endpoint: string
  /** False = its host, and the address that it leads to, must be among those that workers may have. */
  readonly isTrusted: boolean
}

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
  readonly #maximumPools: number
  readonly #rules: EndpointRules
  readonly #trusted: Client.Options
  readonly #guarded: Client.Options

  constructor(settings: UpstreamSettings = {}) {
    const { connectTimeoutMs = 2000, keepAliveMs = 4000, rules, maximumPools = 4096 } = settings
    this.#maximumPools = maximumPools
    this.#rules = rules ?? new EndpointRules(loopbackHosts)
    const timeout = connectTimeoutMs
    this.#trusted = clientOptions(buildConnector({ timeout }), keepAliveMs)
    const lookup = checkedLookup(this.#rules)
    this.#guarded = clientOptions(buildConnector({ timeout, lookup }), keepAliveMs)
  }

  /** Workers whose connections are kept. */
  get size(): number {
    return this.#upstreams.size
  }

  /**
   * Sends a request to an engine. Throws for a URL that is none, or that an untrusted worker may not have.
   * @param isFresh on a connection of its own, that nothing was sent on before
   */
  dispatch(
    target: UpstreamTarget,
    request: UpstreamRequest,
    handler: Dispatcher.DispatchHandler,
    isFresh: boolean,
  ): void {
    const { origin, basePath, pool } = this.#upstreamOf(target)
    const { method, headers, body = null } = request
    const options = { method, headers, body, path: basePath + request.path }
    if (!isFresh) {
      pool.dispatch(options, handler)
      return
    }
    const client = new Client(origin, this.#optionsOf(target))
    client.dispatch({ ...options, origin }, handler)
    void client.close()
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    const pools = [...this.#upstreams.values()]
    this.#upstreams.clear()
    await Promise.all(pools.map(({ pool }) => pool.destroy()))
  }

  #optionsOf({ isTrusted }: UpstreamTarget): Client.Options {
    return isTrusted ? this.#trusted : this.#guarded
  }

  #upstreamOf(target: UpstreamTarget): Upstream {
    const { endpoint, isTrusted } = target
    const key = isTrusted ? endpoint : `guarded ${endpoint}`
    const known = this.#upstreams.get(key)
    if (known !== undefined) {
      if (this.#upstreams.size < this.#maximumPools) return known
      this.#upstreams.delete(key)
      this.#upstreams.set(key, known)
      return known
    }
    const verdict = isTrusted ? undefined : this.#rules.judgeBase(endpoint)
    if (verdict !== undefined && 'why' in verdict) throw new Error(verdict.why)
    const { origin, pathname } = new URL(endpoint)
    const upstream = {
      origin,
      basePath: pathname.replace(/\/+$/, ''),
      pool: new Pool(origin, this.#optionsOf(target)),
    }
    this.#upstreams.set(key, upstream)
    if (this.#upstreams.size > this.#maximumPools) {
      const [oldest, { pool }] = this.#upstreams.entries().next().value!
      this.#upstreams.delete(oldest)
      void pool.close()
    }
    return upstream
  }
}

/** Options of a connection; its socket notes on an error what it had received. */
function clientOptions(connect: buildConnector.connector, keepAliveMs: number): Client.Options {
  return {
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

/** Whether a connection that failed had carried an earlier answer, given that none of this one came. */
export function wasReused(error: Error): boolean {
  const { [receivedBytes]: noted, socket } = error as Error & {
    readonly [receivedBytes]?: number
    readonly socket?: { readonly bytesRead?: number } | null
  }
  return (noted ?? socket?.bytesRead ?? 0) > 0
}
