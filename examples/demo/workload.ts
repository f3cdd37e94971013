/** One request of a conversation, and when it comes. */
export interface Turn {
  /** Of the engines' time, after the answer to the turn before; of the first one 0. */
  readonly pauseMs: number
  readonly path: '/v1/chat/completions' | '/v1/completions'
  /** Body of the request after the earlier answers of its conversation, in their order; without `stream`. */
  readonly body: (answers: readonly string[]) => object
  /** Tokens of its prompt where they do not depend on answers. */
  readonly promptTokens?: Uint32Array
}

/** Turns one after the other. */
export interface Conversation {
  /** Of the engines' time, after the start of the run. */
  readonly startMs: number
  readonly turns: readonly Turn[]
}

/** What is asked of a fleet: the same of every policy. */
export interface Workload {
  readonly name: string
  readonly description: string
  /** In the order of their starts. */
  readonly conversations: readonly Conversation[]
  /** Of the engines, tokens. */
  readonly blockSize: number
  /** Context that the engines need, tokens. */
  readonly maxModelTokens: number
}

/** Requests of a workload. */
export function requestsOf({ conversations }: Workload): number {
  return conversations.reduce((sum, { turns }) => sum + turns.length, 0)
}
