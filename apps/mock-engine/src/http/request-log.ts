/** One request as it arrived. */
export interface RecordedRequest {
  readonly method: string
  /** With its query. */
  readonly url: string
  /** Names and values in turn, as the client wrote them. */
  readonly rawHeaders: readonly string[]
  readonly bodyBase64: string
}

/** Bytes of bodies and headers that are kept. */
export const recordedBytesLimit = 256 * 1024 * 1024

/** The last requests, byte by byte; bounded by their number and by their bytes, the oldest go first. */
export class RequestLog {
  readonly #limit: number
  readonly #bytesLimit: number
  #entries: { readonly request: RecordedRequest; readonly bytes: number }[] = []
  #bytes = 0

  /** `limit` requests, 0 = none; `bytesLimit` is for tests. */
  constructor(limit: number, bytesLimit = recordedBytesLimit) {
    this.#limit = limit
    this.#bytesLimit = bytesLimit
  }

  /** Keeps a copy. A request that is larger than the limit of bytes is left out. */
  add(method: string, url: string, rawHeaders: readonly string[], body: Uint8Array | undefined): void {
    if (this.#limit === 0) return
    const bodyBase64 = body === undefined ? '' : Buffer.from(body).toString('base64')
    const bytes = bodyBase64.length + url.length + rawHeaders.reduce((sum, text) => sum + text.length, 0)
    if (bytes > this.#bytesLimit) return
    this.#entries.push({ request: { method, url, rawHeaders: [...rawHeaders], bodyBase64 }, bytes })
    this.#bytes += bytes
    while (this.#entries.length > this.#limit || this.#bytes > this.#bytesLimit)
      this.#bytes -= this.#entries.shift()!.bytes
  }

  /** Oldest first. */
  list(): readonly RecordedRequest[] {
    return this.#entries.map(({ request }) => request)
  }
}
