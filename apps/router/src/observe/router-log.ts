import { printable } from '@router/config'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import type { Finding } from '../fleet/health-causes.js'
import type { AnsweredRequest } from '../http/hot-routes.js'
import { pathOf } from '../http/request-head.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import type { LogLevel } from '../settings/serve-settings.js'

/** `json`: an object a line, for programs. `pretty`: a line for people. */
export type LogFormat = 'json' | 'pretty'

/** Values of a line beside its message; what is `undefined` is left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

export interface RouterLogOptions {
  readonly format: LogFormat
  readonly level: LogLevel
  /** Takes whole lines, each with its line break. */
  readonly write: (line: string) => void
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly wallMs?: (() => number) | undefined
}

/** What the router says to its operator, a line each. No prompt, no key, and no header but the id of a request ever gets in. */
export interface RouterLog {
  /** A proxied request is over. Level info; below the level of the log it costs a comparison. */
  request(facts: RequestFacts): void
  /** Whether requests of the router's own API get a line. */
  readonly tellsApiRequests: boolean
  /** Level debug. */
  apiRequest(request: AnsweredRequest): void
  /** Something is not well: told once a cause and scope by `HealthCauses`. Level warn. */
  cause(finding: Finding): void
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** A log that hands its lines to `write`, one call a line. */
export function createLogger({ format, level, write, wallMs = Date.now }: RouterLogOptions): RouterLog {
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: timestampOf(wallMs),
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: format === 'json' ? write : (line) => write(prettyLine(JSON.parse(line) as LogLine)) },
  )
  const isOn = (wanted: LogLevel): boolean => logger.isLevelEnabled(wanted)
  const hasRequests = isOn('info')
  const hasApiRequests = isOn('debug')
  return {
    request: (facts) => {
      if (hasRequests) logger.info(requestFields(facts), 'request')
    },
    tellsApiRequests: hasApiRequests,
    apiRequest: ({ method, path, status, totalMs }) => {
      if (!hasApiRequests) return
      logger.debug({ method, path: printable(path), status, total_ms: rounded(totalMs) }, 'api request')
    },
    cause: ({ code, scope, detail }) => logger.warn({ code, scope: printable(scope) }, printable(detail)),
    debug: (message, fields) => logger.debug(fields ?? {}, printable(message)),
    info: (message, fields) => logger.info(fields ?? {}, printable(message)),
    warn: (message, fields) => logger.warn(fields ?? {}, printable(message)),
    error: (message, fields) => logger.error(fields ?? {}, printable(message)),
  }
}

/** Gives every request of a server's routes a line, if the log has such lines. Before its routes are added. */
export function logApiRequests(server: FastifyInstance, log: RouterLog): void {
  if (!log.tellsApiRequests) return
  server.addHook('onResponse', ({ method, url }, { statusCode: status, elapsedTime: totalMs }, done) => {
    log.apiRequest({ method, path: pathOf(url), status, totalMs })
    done()
  })
  server.hotRoutes.onAnswered = (request) => log.apiRequest(request)
}

/** The values of an access line. `id` is the client's where it sent one: control characters are escaped. */
function requestFields(facts: RequestFacts): LogFields {
  const { workerId, predictedTokens, promptTokens, blockSize, usage } = facts
  return {
    id: printable(facts.requestId),
    method: facts.method ?? 'POST',
    path: facts.path,
    status: facts.status,
    ending: facts.ending,
    error: facts.errorCode,
    model: facts.model,
    worker: workerId === undefined ? undefined : `${workerId}.${facts.dpRank}`,
    overlap_blocks:
      predictedTokens === undefined || blockSize === undefined
        ? undefined
        : Math.floor(predictedTokens / blockSize),
    predicted_tokens: predictedTokens === undefined ? undefined : Math.round(predictedTokens),
    // As the engine counted where it did.
    prompt_tokens: usage?.promptTokens ?? promptTokens,
    cached_tokens: usage?.cachedTokens,
    output_tokens: usage?.completionTokens ?? (facts.contentChunks > 0 ? facts.contentChunks : undefined),
    ttft_ms: facts.firstByteMs === undefined ? undefined : rounded(facts.firstByteMs),
    total_ms: rounded(facts.totalMs),
    attempts: facts.attempts,
    exactness: facts.exactness,
    cause: facts.cause,
  }
}

/** Microseconds are enough for anybody. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** Requests of one millisecond share a text. */
function timestampOf(wallMs: () => number): () => string {
  let ofMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = wallMs()
    if (nowMs === ofMs) return text
    ofMs = nowMs
    text = `,"time":"${new Date(nowMs).toISOString()}"`
    return text
  }
}

interface LogLine {
  readonly level: string
  readonly time: string
  readonly message: string
  readonly [key: string]: unknown
}

/** `12:00:00.000 WARN  code=no_workers scope=router  no worker takes requests` */
function prettyLine({ level, time, message, ...fields }: LogLine): string {
  const values = Object.entries(fields).map(([key, value]) => `${key}=${written(value)}`)
  return `${[time.slice(11, 23), level.toUpperCase().padEnd(5), message, ...values].join(' ')}\n`
}

/** Quoted where it would not be one word. */
function written(value: unknown): string {
  const text = printable(String(value))
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}
