import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { quoted } from '../quoted.js'
import { HttpError } from './http-error.js'

/** `http://router/v1/models`: what clients send that take the router for a proxy of theirs. */
const absoluteUrl = /^https?:\/\/([^/?#]+)(.*)$/i

/**
 * Settles what a head leaves open, before anybody reads it: a URL in absolute form becomes its path, and its authority the `Host`. Errors:
 * `bad_http` unless there is one `Host`, which HTTP/1.0 may leave out, and for chunks in HTTP/1.0; `not_implemented` for any coding but
 * chunks; `bad_request` for a URL that is no path.
 */
export function settleHead(request: IncomingMessage): void {
  const { headers, rawHeaders, httpVersionMinor } = request
  if (headers.host === undefined && httpVersionMinor > 0)
    throw new HttpError('bad_http', 'the header Host is missing')
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  if (hosts > 1) throw new HttpError('bad_http', 'there is more than one header Host')
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (httpVersionMinor === 0) throw new HttpError('bad_http', 'HTTP/1.0 has no header Transfer-Encoding')
    if (coding.toLowerCase() !== 'chunked') {
      const message = `transfer coding ${quoted(coding)} is not understood; accepted: chunked`
      throw new HttpError('not_implemented', message)
    }
  }
  const url = request.url!
  if (url.startsWith('/')) return
  const [, authority, path = ''] = absoluteUrl.exec(url) ?? []
  if (authority === undefined) throw new HttpError('bad_request', 'the path is no valid URL')
  headers.host = authority
  request.url = path.startsWith('/') ? path : `/${path}`
}

/** A URL without its query. */
export function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}

/** Error: `unsupported_media_type` for a body that is no JSON by its own account, or is compressed. */
export function checkContentType(headers: IncomingHttpHeaders): void {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw new HttpError(
      'unsupported_media_type',
      `content encoding ${quoted(coding)} is not accepted here; accepted: identity`,
    )
  const given = headers['content-type'] ?? ''
  if (given === 'application/json') return
  const type = given.split(';')[0]!.trim().toLowerCase()
  if (/^application\/(?:json|[^/\s]+\+json)$/.test(type)) return
  const accepted = 'application/json, application/*+json'
  throw new HttpError(
    'unsupported_media_type',
    `content type ${quoted(type)} is not accepted here; accepted: ${accepted}`,
  )
}
