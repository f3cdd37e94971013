import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { EngineProcess } from './engine-process.js'

/** A request of the router to an engine, as its HTTP client tells of it. */
export interface LoggedAttempt {
  readonly requestId: string
  readonly engine: EngineProcess
  readonly startedMs: number
  /** Since when its engine had been dead when it started; absent = it was not. */
  readonly deadSinceMs: number | undefined
  /** Status of the answer, or why there was none. */
  end: string | undefined
}

/** As the client publishes it. */
interface UpstreamRequest {
  readonly origin: string | URL
  readonly method: string
  readonly headers: readonly string[]
}

const created = 'undici:request:create'
const answered = 'undici:request:headers'
const failed = 'undici:request:error'

/**
 * Sees every request of the router to an engine from outside: the HTTP client of this process says what it does. Remembers those of requests
 * that are not over.
 */
export class AttemptLog {
  readonly #engines: ReadonlyMap<string, EngineProcess>
  readonly #onAttempt: (attempt: LoggedAttempt) => void
  readonly #onEnd: (attempt: LoggedAttempt, isRefused: boolean) => void
  readonly #live = new Map<string, LoggedAttempt[]>()
  readonly #attempts = new WeakMap<UpstreamRequest, LoggedAttempt>()

  constructor(
    engines: readonly EngineProcess[],
    listener: {
      onAttempt: (attempt: LoggedAttempt) => void
      /** Its answer began, or there is none. @param isRefused nobody listened there */
      onEnd: (attempt: LoggedAttempt, isRefused: boolean) => void
    },
  ) {
    this.#engines = new Map(engines.map((engine) => [engine.url, engine]))
    this.#onAttempt = listener.onAttempt
    this.#onEnd = listener.onEnd
    subscribe(created, this.#created)
    subscribe(answered, this.#answered)
    subscribe(failed, this.#failed)
  }

  /** A client asks: what is tried for it is remembered until `forget`. */
  follow(requestId: string): void {
    this.#live.set(requestId, [])
  }

  /** What was tried for a request, which is over. */
  forget(requestId: string): readonly LoggedAttempt[] {
    const attempts = this.#live.get(requestId) ?? []
    this.#live.delete(requestId)
    return attempts
  }

  /** The largest number of engines that were tried for one request that is not over. */
  get mostEngines(): number {
    return Math.max(0, ...[...this.#live.values()].map((attempts) => enginesOf(attempts)))
  }

  close(): void {
    unsubscribe(created, this.#created)
    unsubscribe(answered, this.#answered)
    unsubscribe(failed, this.#failed)
  }

  readonly #created = (message: unknown): void => {
    const { request } = message as { request: UpstreamRequest }
    const engine = this.#engines.get(String(request.origin))
    if (engine === undefined || request.method !== 'POST') return
    const at = request.headers.findIndex((name, index) => index % 2 === 0 && name === 'x-request-id')
    const attempt: LoggedAttempt = {
      requestId: request.headers[at + 1] ?? '',
      engine,
      startedMs: performance.now(),
      deadSinceMs: engine.deadSinceMs,
      end: undefined,
    }
    this.#attempts.set(request, attempt)
    this.#live.get(attempt.requestId)?.push(attempt)
    this.#onAttempt(attempt)
  }

  readonly #answered = (message: unknown): void => {
    const { request, response } = message as { request: UpstreamRequest; response: { statusCode: number } }
    const attempt = this.#attempts.get(request)
    if (attempt === undefined) return
    attempt.end = String(response.statusCode)
    this.#onEnd(attempt, false)
  }

  readonly #failed = (message: unknown): void => {
    const { request, error } = message as { request: UpstreamRequest; error: NodeJS.ErrnoException }
    const attempt = this.#attempts.get(request)
    if (attempt === undefined) return
    const hadAnswer = attempt.end !== undefined
    attempt.end = `${attempt.end ?? ''} ${error.code ?? error.message}`.trim()
    if (!hadAnswer) this.#onEnd(attempt, error.code === 'ECONNREFUSED')
  }
}

function enginesOf(attempts: readonly LoggedAttempt[]): number {
  return new Set(attempts.map(({ engine }) => engine)).size
}
