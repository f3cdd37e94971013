import type { IncomingMessage } from 'node:http'
import { HttpError } from './http-error.js'

/** What bodies may take, bytes and milliseconds. */
export interface BodyLimits {
  /** One body. Default 192 MiB. */
  readonly bodyBytes?: number | undefined
  /** All bodies together. Default 1,024 MiB. */
  readonly allBytes?: number | undefined
  /** A body of which nothing comes for so long is refused. Default 10,000. */
  readonly stallMs?: number | undefined
}

const mebibyte = 1024 * 1024

/** The bodies that a front door holds. They count from their first byte until they are let go. */
export class BodyBuffers {
  readonly #bodyBytes: number
  readonly #allBytes: number
  readonly #stallMs: number
  #held = 0

  constructor({ bodyBytes = 192 * mebibyte, allBytes = 1024 * mebibyte, stallMs = 10_000 }: BodyLimits = {}) {
    this.#bodyBytes = bodyBytes
    this.#allBytes = allBytes
    this.#stallMs = stallMs
  }

  /** Bytes of all bodies. */
  get held(): number {
    return this.#held
  }

  /**
   * Reads a body, and tells once: the body, or why there is none, an `HttpError` of `body_too_large`, `buffer_full` or `request_timeout`;
   * nothing when the client goes. The body counts until the returned function is called; again is fine.
   */
  read(request: IncomingMessage, done: (outcome: Buffer | HttpError) => void): () => void {
    let counted = 0
    let isOver = false
    const chunks: Buffer[] = []
    const release = (): void => {
      this.#held -= counted
      counted = 0
    }
    const finish = (outcome: Buffer | HttpError): void => {
      isOver = true
      request.off('data', take).off('end', end)
      if (outcome instanceof HttpError) release()
      done(outcome)
    }
    const fits = (bytes: number): boolean => {
      if (counted + bytes > this.#bodyBytes) {
        finish(new HttpError('body_too_large', `the body has more than ${this.#bodyBytes} bytes`))
        return false
      }
      if (this.#held + bytes > this.#allBytes) {
        finish(
          new HttpError('buffer_full', `requests in flight hold all of ${this.#allBytes} bytes for bodies`),
        )
        return false
      }
      return true
    }
    const count = (bytes: number): boolean => {
      if (!fits(bytes)) return false
      counted += bytes
      this.#held += bytes
      return true
    }
    const take = (chunk: Buffer): void => {
      if (count(chunk.length)) chunks.push(chunk)
    }
    const end = (): void => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    // What is announced takes no room yet: it may never come.
    if (!fits(Number(request.headers['content-length'] ?? 0))) return release
    request
      .on('data', take)
      .on('end', end)
      .once('close', () => {
        if (!request.complete) release()
      })
    // Most bodies are there by then.
    setImmediate(() => {
      if (!isOver && !request.complete) this.#watch(request, () => isOver, finish)
    })
    return release
  }

  #watch(request: IncomingMessage, isOver: () => boolean, finish: (outcome: HttpError) => void): void {
    const { socket } = request
    const stalled = (): void => {
      if (!isOver()) finish(new HttpError('request_timeout', 'the body did not come in time'))
    }
    const over = (): void => {
      socket.setTimeout(0)
      request.off('timeout', stalled).off('end', over).off('close', over)
    }
    socket.setTimeout(this.#stallMs)
    request.on('timeout', stalled).on('end', over).on('close', over)
  }
}
