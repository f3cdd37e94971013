/** Which real engine the server looks like: event encoding, metrics, server information. */
export type Flavour = 'vllm' | 'sglang'

/** Why a generation is over; `aborted` = the caller cancelled it, `rejected` = it never could run, `restarted` = the engine went away. */
export type GenerationEnd = 'stop' | 'length' | 'aborted' | 'rejected' | 'restarted'

/** One prompt to run. Tokens are ids of the model's vocabulary. */
export interface GenerationRequest {
  readonly promptTokens: Uint32Array
  /** What the model will say, decided beforehand: tokens become visible one by one as the scheduler produces them. May be empty. */
  readonly outputTokens: Uint32Array
  /** Whether the output ends by itself (`stop`) or because the limit was reached (`length`). */
  readonly endsBy: 'stop' | 'length'
  /** Adapter and salt keep equal tokens apart in the cache. */
  readonly loraName?: string | undefined
  readonly cacheSalt?: string | undefined
  /** Identifiers of media, with the half-open token range that each takes in the prompt. */
  readonly media?:
    | readonly { readonly identifier: string; readonly start: number; readonly end: number }[]
    | undefined
  /** Data-parallel rank; absent = the least loaded. */
  readonly rank?: number | undefined
  /** Once, before the first token: prompt tokens found in the cache when it was first scheduled. */
  readonly onAdmitted?: ((cachedTokens: number) => void) | undefined
  /** One token is visible; `index` counts from 0. */
  readonly onToken?: ((index: number) => void) | undefined
  /** Exactly once, last. `message` says why where `end` is `rejected`. */
  readonly onEnd: (end: GenerationEnd, message?: string) => void
}

/** A generation under way. */
export interface Generation {
  readonly rank: number
  /** Frees its blocks at the end of the pass that runs, and ends it as `aborted`. Whether it was running; a second call does nothing. */
  readonly abort: () => boolean
}

/** Gauges and counters of one rank, since the engine started. Tokens and blocks are whole numbers. */
export interface RankFacts {
  readonly rank: number
  readonly runningRequests: number
  readonly waitingRequests: number
  readonly totalBlocks: number
  readonly usedBlocks: number
  readonly prefixCacheQueriedTokens: number
  readonly prefixCacheHitTokens: number
  readonly promptTokens: number
  readonly generatedTokens: number
  readonly preemptions: number
  /** Batches of events published, and those left out on purpose. */
  readonly eventBatches: number
  readonly suppressedEventBatches: number
}

/** Text to tokens and back, and a conversation to the text that the model sees. */
export interface ServedModel {
  readonly encode: (text: string, addSpecialTokens: boolean) => Uint32Array
  readonly decode: (tokens: Uint32Array) => string
  /**
   * The whole prompt of a conversation, special tokens included. Throws `MOCK_ENGINE_CONVERSATION_INVALID` for messages that cannot be
   * rendered.
   */
  readonly render: (conversation: Conversation) => string
  readonly vocabularySize: number
  /** Characters of the longest token: a text has at least as many tokens as it has times so many characters. */
  readonly longestToken: number
  /** The token that stands for an image in `render`; absent = the model sees none. */
  readonly imageToken: number | undefined
}

/** What a chat request says to the template, as the client wrote it. */
export interface Conversation {
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly tools?: readonly unknown[] | undefined
  readonly documents?: readonly unknown[] | undefined
  readonly addGenerationPrompt: boolean
  readonly continueFinalMessage: boolean
  readonly templateArguments: Readonly<Record<string, unknown>>
}

/**
 * Where the KV events of a rank are to be had on this machine, with real ports; where the engine connects, that endpoint, which a router
 * binds.
 */
export interface RankEventSockets {
  readonly rank: number
  readonly endpoint: string
  /** Absent = no replay socket. */
  readonly replayEndpoint: string | undefined
}

/** The simulated engine as its HTTP side sees it. */
export interface ServedEngine {
  readonly flavour: Flavour
  readonly model: ServedModel
  readonly blockSize: number
  readonly blocksPerRank: number
  readonly ranks: number
  readonly maxModelTokens: number
  readonly maxPassTokens: number
  readonly maxRunning: number
  /** Seconds since the epoch at which this incarnation started. */
  readonly startedAtSeconds: number
  readonly generate: (request: GenerationRequest) => Generation
  readonly facts: () => readonly RankFacts[]
  /** One entry a rank; none when events are off. */
  readonly eventSockets: readonly RankEventSockets[]
  /**
   * Live events stop (`silent`), or the given share of batches is lost (`lossFraction`, 0 to 1). Their sequence numbers pass, and the
   * replay socket has them. What is left out is off; an engine that restarts keeps it. Throws `MOCK_ENGINE_OPTION_INVALID`.
   */
  readonly setEventFault: (fault: { readonly silent?: boolean; readonly lossFraction?: number }) => void
  /** Passes stand still until it is called with false. */
  readonly setHang: (hangs: boolean) => void
  /** Passes take so many times as long; 1 = as configured. */
  readonly setSlowness: (factor: number) => void
  /**
   * As vLLM's `/reset_prefix_cache`: empties the cache of every rank and says so in its events; false and nothing done while a request
   * is alive.
   */
  readonly resetPrefixCache: () => boolean
  /** A new incarnation: empty cache, sequence numbers from 0, all generations end as `restarted`; facts may change. */
  readonly restart: (facts?: {
    readonly blockSize?: number
    readonly blocksPerRank?: number
  }) => Promise<void>
  readonly close: () => Promise<void>
}
