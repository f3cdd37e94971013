import { badRequest } from './api-error.js'

type Fields = Readonly<Record<string, unknown>>

/** Refuses what the real engine could not load: a data URL without whole base64 data, or another scheme. URLs are not fetched. Throws an `ApiError` of status 400. */
export function checkImages(messages: readonly Fields[]): void {
  for (const { content } of messages)
    if (Array.isArray(content)) for (const part of content as readonly Fields[]) checkPart(part)
}

function checkPart(part: Fields | null): void {
  const image = part?.['image_url']
  if (image === undefined || image === null) return
  const url = typeof image === 'string' ? image : (image as Fields)['url']
  if (typeof url !== 'string') throw badRequest('image_url.url: expected a URL or a data URL', 'messages')
  const [, data] = /^data:[^,]*;base64,(.*)$/su.exec(url) ?? []
  if (data === undefined) {
    if (/^https?:\/\//u.test(url)) return
    throw badRequest('image_url.url: accepted are http(s) URLs and base64 data URLs', 'messages')
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/u.test(data) || data.length % 4 !== 0)
    throw badRequest('image_url.url: the base64 data of the image is broken', 'messages')
}
