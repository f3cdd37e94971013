import type { IncomingMessage } from 'node:http'

/** Headers of one connection, which never pass. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Of requests, in addition: what the router writes anew, and what only it reads (host.md 11.3, 14.2). */
const routerHeaders = new Set([
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  'x-tenant-id',
  'x-data-parallel-rank',
])

/** Of answers, in addition: they say where an engine is. */
const engineHeaders = new Set(['location', 'content-location'])

/** What goes to an engine with a request. */
export interface RequestHeaderOptions {
  /** The client's key is its own, and not one of the router's. */
  readonly passesAuthorization: boolean
  /** Whether a value is the router's own token, which clients may send all the same. */
  readonly isOwnToken: (value: string) => boolean
  /** Key of the worker's own engine, in place of the client's. */
  readonly apiKey?: string | undefined
  /** Booked rank, for workers with several. */
  readonly dpRank?: number | undefined
}

/** Headers of a request for the engine: names and values by turns, as the client wrote them. */
export function requestHeaders(
  { rawHeaders, headers }: IncomingMessage,
  { passesAuthorization, isOwnToken, apiKey, dpRank }: RequestHeaderOptions,
): string[] {
  const named = namedByConnection(headers.connection)
  const passed = ['accept-encoding', 'identity']
  const passesKeys = passesAuthorization && apiKey === undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    if (hopByHop.has(name) || routerHeaders.has(name) || named?.has(name) === true) continue
    if (name.startsWith('x-router-') || name.startsWith('x-dynamo-')) continue
    const isKey = name === 'authorization' || name === 'x-api-key'
    if (isKey && (!passesKeys || isOwnToken(rawHeaders[at + 1]!))) continue
    passed.push(rawHeaders[at]!, rawHeaders[at + 1]!)
  }
  if (apiKey !== undefined) passed.push('Authorization', `Bearer ${apiKey}`)
  if (dpRank !== undefined) passed.push('X-data-parallel-rank', String(dpRank))
  return passed
}

/**
 * Headers of an answer for the client, names and values by turns.
 * @param raw as the engine wrote them
 * @param keepsLength the body passes as it is
 */
export function responseHeaders(raw: readonly Buffer[], keepsLength: boolean): string[] {
  const passed: string[] = []
  let named: Set<string> | undefined
  for (let at = 0; at < raw.length; at += 2) {
    const written = raw[at]!.toString('latin1')
    const name = written.toLowerCase()
    const value = raw[at + 1]!.toString('latin1')
    if (name === 'connection') named = both(named, namedByConnection(value))
    if (hopByHop.has(name) || engineHeaders.has(name) || name.startsWith('x-router-')) continue
    if (name === 'content-length' && !keepsLength) continue
    passed.push(written, value)
  }
  if (named === undefined) return passed
  return passed.filter((_, at) => !named.has(passed[at - (at % 2)]!.toLowerCase()))
}

/** A header of an answer; `undefined` = it has none. */
export function headerOf(raw: readonly Buffer[], name: string): string | undefined {
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]!.length === name.length && raw[at]!.toString('latin1').toLowerCase() === name)
      return raw[at + 1]!.toString('latin1')
  return undefined
}

function both(one: Set<string> | undefined, other: Set<string> | undefined): Set<string> | undefined {
  return one === undefined || other === undefined ? (one ?? other) : new Set([...one, ...other])
}

/** Headers that `Connection` names; `undefined` = none that matter. */
function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  const names = connection.split(',').map((name) => name.trim().toLowerCase())
  return new Set(names.filter((name) => name !== 'keep-alive' && name !== 'close' && name !== ''))
}
