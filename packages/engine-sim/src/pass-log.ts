import { grown } from './block-table.js'

/** Why a request ended. All but `completed` end it without the outputs that were asked for. */
export const endReasons = [
  'completed',
  /** Rejected: the prompt does not fit into the pool. */
  'prompt_exceeds_pool',
  /** Rejected: the prompt is as long as `max_model_len`, or longer. */
  'prompt_exceeds_model_len',
  /** Failed: prompt and outputs together do not fit into the pool any more. */
  'outputs_exceed_pool',
] as const

/** One of `endReasons`. */
export type EndReason = (typeof endReasons)[number]

/**
 * What a pass did, told at its end. First, in the order in which it happened, admissions, preemptions and the blocks that became cached
 * or were evicted; then what goes to the clients: requests that end without a token, tokens in the order of the scheduler, rejections and
 * failures. A request is known by the number that `submit` gave; `ended` is the last that is told of it.
 */
export interface PassSink {
  /** The request runs, from the start of this pass on; `hitTokens` of it were found in the cache. */
  admitted: (request: number, hitTokens: number, isReadmission: boolean) => void
  /** The request waits again, at the front. It keeps its outputs and computes everything anew but for what is still cached. */
  preempted: (request: number) => void
  /** The cache has got a block: the one at `index` (from 0) of the request. Until `removed`, `block` stands for its content. */
  stored: (block: number, request: number, index: number) => void
  /** The cache has lost the last copy of a block. */
  removed: (block: number) => void
  /** A token for the client, the `ordinal`-th of the request, from 1. */
  token: (request: number, ordinal: number) => void
  /** The request is over and its number free. */
  ended: (request: number, reason: EndReason) => void
}

const [ADMITTED, READMITTED, PREEMPTED, STORED, REMOVED, TOKEN, ENDED] = [0, 1, 2, 3, 4, 5, 6] as const
const width = 4

/** What happened in a pass, until somebody wants to know. Bounded by what one pass can do; nothing is allocated but to grow. */
export class PassLog {
  #entries = new Int32Array(1024)
  #length = 0

  /** Entries. */
  get size(): number {
    return this.#length / width
  }

  clear(): void {
    this.#length = 0
  }

  admitted(request: number, hitTokens: number, isReadmission: boolean): void {
    this.#add(isReadmission ? READMITTED : ADMITTED, request, hitTokens, 0)
  }

  preempted(request: number): void {
    this.#add(PREEMPTED, request, 0, 0)
  }

  stored(block: number, request: number, index: number): void {
    this.#add(STORED, block, request, index)
  }

  removed(block: number): void {
    this.#add(REMOVED, block, 0, 0)
  }

  token(request: number, ordinal: number): void {
    this.#add(TOKEN, request, ordinal, 0)
  }

  ended(request: number, reason: EndReason): void {
    this.#add(ENDED, request, endReasons.indexOf(reason), 0)
  }

  /** Tells everything, in order. */
  tell(sink: PassSink): void {
    const entries = this.#entries
    const length = this.#length
    for (let at = 0; at < length; at += width) {
      const first = entries[at + 1]!
      const second = entries[at + 2]!
      switch (entries[at]) {
        case TOKEN:
          sink.token(first, second)
          break
        case ADMITTED:
          sink.admitted(first, second, false)
          break
        case READMITTED:
          sink.admitted(first, second, true)
          break
        case PREEMPTED:
          sink.preempted(first)
          break
        case STORED:
          sink.stored(first, second, entries[at + 3]!)
          break
        case REMOVED:
          sink.removed(first)
          break
        default:
          sink.ended(first, endReasons[second]!)
      }
    }
  }

  #add(kind: number, first: number, second: number, third: number): void {
    const at = this.#length
    if (at === this.#entries.length) this.#entries = grown(this.#entries, new Int32Array(at * 2))
    const entries = this.#entries
    entries[at] = kind
    entries[at + 1] = first
    entries[at + 2] = second
    entries[at + 3] = third
    this.#length = at + width
  }
}
