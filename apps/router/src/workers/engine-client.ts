import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup as lookupName } from 'node:dns/promises'
import {
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { EndpointRules } from '../fleet/endpoint-rules.js'

/** What an engine answered, or why it did not. */
export type EngineReply =
  | { readonly status: number; readonly body: string; readonly failure?: never }
  /**
   * `refused` = nobody listens there; `timeout` = nothing came in time; `shortage` = the router could not ask; `failed` = anything else.
   */
  | {
      readonly failure: 'refused' | 'timeout' | 'shortage' | 'failed'
      readonly detail: string
      readonly status?: never
    }

/** Asks engines about themselves. */
export type AskEngine = (url: string, options: AskOptions) => Promise<EngineReply>

export interface AskOptions {
  /** From the start to the last byte. */
  readonly timeoutMs: number
  /** Sent as bearer token. */
  readonly apiKey?: string | undefined
  /** False = a host name must lead to an address that workers may have. */
  readonly isTrusted: boolean
  readonly signal: AbortSignal
}

/** Bytes of an answer; a longer one is a failure. Metrics of large engines have some hundred thousand. */
const maximumBytes = 8 * 1024 * 1024
/** Open files and memory for sockets. */
const ownShortages = new Set<string | undefined>(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** GET requests over a connection of their own; redirects are not followed. @param rules for workers that are not trusted */
export function engineClient(rules: EndpointRules): AskEngine {
  const lookup = checkedLookup(rules)
  return async (url, options) => {
    if (options.isTrusted) return ask(url, options, undefined)
    const verdict = rules.judgeBase(url)
    return 'why' in verdict ? { failure: 'failed', detail: verdict.why } : ask(url, options, lookup)
  }
}

/** Looks names up as the system does, and fails where one leads to an address that workers may not have. */
export function checkedLookup(
  rules: EndpointRules,
  resolve: (name: string, options: LookupOptions) => Promise<LookupAddress[]> = resolveAll,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, options).then(
      (addresses) => {
        const why = addresses
          .map(({ address }) => rules.refusalOf(address, hostname.toLowerCase()))
          .find(Boolean)
        const [first] = addresses
        if (first === undefined || why !== undefined)
          callback(new Error(why ?? `'${hostname}' has no address`), '', 0)
        else if (options.all === true) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}

function resolveAll(name: string, options: LookupOptions): Promise<LookupAddress[]> {
  return lookupName(name, { ...options, all: true })
}

function ask(
  url: string,
  { timeoutMs, apiKey, signal }: AskOptions,
  lookup: LookupFunction | undefined,
): Promise<EngineReply> {
  return new Promise((resolve) => {
    const headers = {
      accept: '*/*',
      'accept-encoding': 'identity',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    }
    const options: RequestOptions = {
      agent: false,
      headers,
      signal,
      ...(lookup === undefined ? {} : { lookup }),
    }
    let request: ClientRequest
    const settle = (reply: EngineReply): void => {
      clearTimeout(timer)
      resolve(reply)
      request?.destroy()
    }
    const timer = setTimeout(
      () => settle({ failure: 'timeout', detail: `no answer within ${timeoutMs} ms` }),
      timeoutMs,
    )
    try {
      request = url.startsWith('https:') ? requestHttps(url, options) : requestHttp(url, options)
    } catch (error) {
      settle({ failure: 'failed', detail: (error as Error).message })
      return
    }
    request.on('error', (error: NodeJS.ErrnoException) => settle(failureOf(error)))
    request.on('response', (response) => read(response, settle))
    request.end()
  })
}

function read(response: IncomingMessage, settle: (reply: EngineReply) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maximumBytes)
      settle({ failure: 'failed', detail: `an answer of more than ${maximumBytes} bytes` })
  })
  response.on('end', () =>
    settle({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
  )
  response.on('error', (error) => settle(failureOf(error)))
  response.on('aborted', () => settle({ failure: 'failed', detail: 'the answer was cut' }))
}

/** Whether nobody listens there. */
export function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED'
}

/** Whether this process lacks what a connection takes: that says nothing of an engine. */
export function isOwnShortage(error: NodeJS.ErrnoException): boolean {
  return ownShortages.has(error.code)
}

function failureOf(error: NodeJS.ErrnoException): EngineReply {
  if (isRefusal(error)) return { failure: 'refused', detail: 'connection refused' }
  const detail = error.message === '' ? String(error.code) : error.message
  return { failure: isOwnShortage(error) ? 'shortage' : 'failed', detail }
}
