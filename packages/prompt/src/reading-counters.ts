import { type Exactness, type PromptCause, exactnesses, promptCauses } from './prompt-reading.js'
import type { ThreadCounters, TokenizerThreads } from './threads/tokenizer-threads.js'

/** What became of all requests so far, for metrics; sums only grow. */
export interface PromptCounters {
  /** Requests that were read, whatever came of them. */
  readonly requests: number
  /** Requests that cannot be: an error was thrown. */
  readonly refused: number
  /** Readings by how much is known; with `refused` and those under way they make `requests`. */
  readonly exactness: Readonly<Record<Exactness, number>>
  /** Readings that are not exact, by cause. */
  readonly causes: Readonly<Record<PromptCause, number>>
  /** Requests that need a tokenizer, whether there is one or not. */
  readonly wanted: number
  /** Prompts of token ids of which some are beyond the vocabulary: hashed as they are, and refused by the engine. */
  readonly unknownIds: number
  readonly threads: Readonly<ThreadCounters>
  /** Prompts that wait for a thread now, and threads that work. */
  readonly waiting: number
  readonly busyThreads: number
  /** Starts of conversations whose thread is known, at most 4,096. */
  readonly conversations: number
  /** Tokenizer folders that something is known of, at most 1,024. */
  readonly folders: number
  /** Models whose bytes per token are known, at most 1,024. */
  readonly models: number
}

/** Counts readings. */
export class ReadingCounters {
  readonly #exactness = zeros(exactnesses)
  readonly #causes = zeros(promptCauses)
  #requests = 0
  #refused = 0
  #wanted = 0
  #unknownIds = 0

  begun(): void {
    this.#requests++
  }

  refused(): void {
    this.#refused++
  }

  wanted(): void {
    this.#wanted++
  }

  sawUnknownIds(): void {
    this.#unknownIds++
  }

  ended(exactness: Exactness, cause: PromptCause | undefined): void {
    this.#exactness[exactness]++
    if (cause !== undefined) this.#causes[cause]++
  }

  /** A copy of everything. */
  snapshot(threads: TokenizerThreads, models: number): PromptCounters {
    return {
      requests: this.#requests,
      refused: this.#refused,
      exactness: { ...this.#exactness },
      causes: { ...this.#causes },
      wanted: this.#wanted,
      unknownIds: this.#unknownIds,
      threads: { ...threads.counters },
      waiting: threads.waiting,
      busyThreads: threads.busy,
      ...threads.sizes,
      models,
    }
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}
