import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { ConfigError } from '@router/sdk'
import { quoted } from '../quoted.js'
import { HttpError } from './http-error.js'

/** Who may call a route: anybody, holders of a client key where there are any, or holders of the admin token. */
export type RouteAccess = 'open' | 'client' | 'admin'

/** How a listener is protected (host.md 14.1). */
export interface AccessSettings {
  /** Bearer token of admin routes; absent = they need none, which only loopback listeners may have. */
  readonly adminToken?: string | undefined
  /** Admin routes do not exist. Default false. */
  readonly hasNoAdmin?: boolean | undefined
  /** Bearer keys of client routes; absent or empty = they need none. The admin token opens them too. */
  readonly apiKeys?: readonly string[] | undefined
}

/** The headers that access depends on. */
export interface AccessHeaders {
  readonly host?: string | undefined
  readonly authorization?: string | undefined
  /** Where clients of the Anthropic API write their key. */
  readonly 'x-api-key'?: string | string[] | undefined
}

/** Whether an address or name can only be this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  if (isIP(bare) === 4) return bare.startsWith('127.')
  return isIP(bare) === 6 && (bare === '::1' || bare.startsWith('::ffff:127.'))
}

/** Decides on every request of one listener. */
export class Access {
  readonly #isLoopback: boolean
  readonly #hasNoAdmin: boolean
  readonly #adminToken: Buffer | undefined
  readonly #apiKeys: readonly Buffer[]
  // The last one that was good: clients say the same again and again.
  #loopbackHeader: string | undefined

  /**
   * Error: `ROUTER_CONFIG_INVALID` for a listener with admin routes that others than this machine could reach without a token.
   * @param host that the listener binds
   */
  constructor(host: string, { adminToken, hasNoAdmin = false, apiKeys = [] }: AccessSettings = {}) {
    this.#isLoopback = isLoopback(host)
    this.#hasNoAdmin = hasNoAdmin
    this.#adminToken = adminToken === undefined ? undefined : digest(adminToken)
    this.#apiKeys = apiKeys.map(digest)
    if (this.#isLoopback || hasNoAdmin || adminToken !== undefined) return
    const message = `host '${host}' is not loopback: its admin routes would be open to everybody`
    const accepted = 'a loopback host, an admin token, or no admin API'
    throw new ConfigError('ROUTER_CONFIG_INVALID', `${message}; accepted: ${accepted}`, [
      { code: 'ROUTER_CONFIG_INVALID', message, path: ['host'], value: host, accepted },
    ])
  }

  /** Errors: `forbidden_host`, `not_found` for admin routes that do not exist, `unauthorized`. */
  check(access: RouteAccess, { host, authorization, 'x-api-key': apiKey }: AccessHeaders): void {
    if (this.#isLoopback && (host === undefined || host !== this.#loopbackHeader)) {
      if (!isLoopbackHeader(host)) {
        const message = `host ${quoted(host ?? '')} is no name of this machine, which is all that this listener serves`
        throw new HttpError('forbidden_host', message)
      }
      this.#loopbackHeader = host
    }
    if (access === 'open') return
    if (access === 'admin' && this.#hasNoAdmin) throw new HttpError('not_found', 'there is no such path')
    const keys = access === 'admin' ? [] : this.#apiKeys
    const isOpen = access === 'admin' ? this.#adminToken === undefined : keys.length === 0
    if (isOpen) return
    const ofClient = access === 'client' && typeof apiKey === 'string' ? apiKey : ''
    const given = digest(bearerOf(authorization) ?? ofClient)
    // Every key is compared, whichever fits: the time tells nothing.
    let isKnown = this.#adminToken !== undefined && timingSafeEqual(given, this.#adminToken)
    for (const key of keys) isKnown = timingSafeEqual(given, key) || isKnown
    if (!isKnown) throw new HttpError('unauthorized', `a valid bearer token is needed`)
  }

  /** Whether the value of a header is the admin token, bare or as a bearer. */
  isAdminToken(value: string): boolean {
    return (
      this.#adminToken !== undefined && timingSafeEqual(digest(bearerOf(value) ?? value), this.#adminToken)
    )
  }
}

function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(.+)$/i.exec(authorization ?? '')?.[1]
}

/** `Host` header without its port. */
function isLoopbackHeader(host: string | undefined): boolean {
  return host !== undefined && isLoopback(host.replace(/:\d*$/, ''))
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
