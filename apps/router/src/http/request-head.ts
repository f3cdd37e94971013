import type { IncomingHttpHeaders } from 'node:http'
import { HttpError } from './http-error.js'

const longestShownType = 60

/** A URL without its query. */
export function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}

/** Error: `unsupported_media_type` for a body that is no JSON by its own account. */
export function checkContentType(headers: IncomingHttpHeaders): void {
  const given = headers['content-type'] ?? ''
  if (given === 'application/json') return
  const type = given.split(';')[0]!.trim().toLowerCase()
  if (/^application\/(?:json|[^/\s]+\+json)$/.test(type)) return
  const accepted = 'application/json, application/*+json'
  throw new HttpError(
    'unsupported_media_type',
    `content type '${type.slice(0, longestShownType)}' is not accepted here; accepted: ${accepted}`,
  )
}
