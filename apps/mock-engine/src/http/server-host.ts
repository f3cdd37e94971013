import type { EventOptions } from '../events/rank-publisher.js'
import type { ReplyWriter } from '../model/reply-writer.js'
import type { ExchangeHost } from './exchange.js'
import type { Faults } from './faults.js'
import type { GenerationHost } from './generation.js'
import type { ServedModels } from './models.js'
import type { RequestLog } from './request-log.js'
import type { ResponseStore } from './response-store.js'

/** How the server answers; everything that is not the engine's. */
export interface ServerSettings {
  /** Tokens of an answer that nothing else bounds. */
  readonly replyTokens: number
  readonly cachesPrefixes: boolean
  /** Whether `usage` says how many prompt tokens were cached. */
  readonly showsCachedTokens: boolean
  readonly embeddingDimensions: number
  /** Tokens that one image takes in a prompt. */
  readonly imageTokens: number
  readonly maxLogprobs: number
  readonly setsRequestIdHeader: boolean
  /** Where events go; undefined = nowhere. */
  readonly events: EventOptions | undefined
}

/** What the endpoints share. */
export interface ServerHost extends ExchangeHost, GenerationHost {
  readonly settings: ServerSettings
  readonly writer: ReplyWriter
  readonly models: ServedModels
  readonly faults: Faults
  readonly log: RequestLog
  readonly responses: ResponseStore
  /** A new incarnation of the engine, with other facts where they are given. */
  readonly restart: (facts: {
    readonly blockSize?: number | undefined
    readonly blocksPerRank?: number | undefined
  }) => Promise<void>
}
