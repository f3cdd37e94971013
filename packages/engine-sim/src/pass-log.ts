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
  /** Failed: without chunked prefill the prompt fits into no pass. */
  'prompt_exceeds_pass',
  /** The client gave it up. */
  'cancelled',
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

const [TOKEN, ENDED, STORED, REMOVED, ADMITTED, READMITTED, PREEMPTED, DROPPED] = [
  0, 1, 2, 3, 4, 5, 6, 7,
] as const
const kindBits = 3
const kindMask = 7

/**
 * What happened in a pass, until somebody wants to know: two numbers an entry, a kind with a request or block and what it is about;
 * three for a stored block. Bounded by what one pass can do; nothing is allocated but to grow.
 */
export class PassLog {
  /** Entries but for tokens. */
  size = 0
  #numbers = new Int32Array(1024)
  #length = 0

  clear(): void {
    this.size = 0
    this.#length = 0
  }

  admitted(request: number, hitTokens: number, isReadmission: boolean): void {
    this.#add(isReadmission ? READMITTED : ADMITTED, request, hitTokens)
  }

  preempted(request: number): void {
    this.#add(PREEMPTED, request, 0)
  }

  stored(block: number, request: number, index: number): void {
    this.#add(STORED, request, index)
    this.#numbers[this.#length++] = block
  }

  removed(block: number): void {
    this.#add(REMOVED, block, 0)
  }

  token(request: number, ordinal: number): void {
    const at = this.#length
    if (at + 3 > this.#numbers.length) this.#grow()
    this.#numbers[at] = (request << kindBits) | TOKEN
    this.#numbers[at + 1] = ordinal
    this.#length = at + 2
  }

  ended(request: number, reason: EndReason): void {
    this.#add(ENDED, request, endReasons.indexOf(reason))
  }

  /** The token of a request is not told, if it has not been. */
  dropTokens(request: number): void {
    const numbers = this.#numbers
    const token = (request << kindBits) | TOKEN
    for (let at = 0; at < this.#length; at += (numbers[at]! & kindMask) === STORED ? 3 : 2)
      if (numbers[at] === token) numbers[at] = DROPPED
  }

  /** Tells everything, in order; what is added meanwhile too. */
  tell(sink: PassSink): void {
    for (let at = 0; at < this.#length; at += 2) {
      const numbers = this.#numbers
      const head = numbers[at]!
      const subject = head >> kindBits
      const detail = numbers[at + 1]!
      switch (head & kindMask) {
        case TOKEN:
          sink.token(subject, detail)
          break
        case ENDED:
          sink.ended(subject, endReasons[detail]!)
          break
        case STORED:
          sink.stored(numbers[at + 2]!, subject, detail)
          at++
          break
        case REMOVED:
          sink.removed(subject)
          break
        case PREEMPTED:
          sink.preempted(subject)
          break
        case DROPPED:
          break
        default:
          sink.admitted(subject, detail, (head & kindMask) === READMITTED)
      }
    }
  }

  #add(kind: number, subject: number, detail: number): void {
    const at = this.#length
    // Room for the longest entry.
    if (at + 3 > this.#numbers.length) this.#grow()
    this.#numbers[at] = (subject << kindBits) | kind
    this.#numbers[at + 1] = detail
    this.#length = at + 2
    this.size++
  }

  #grow(): void {
    this.#numbers = grown(this.#numbers, new Int32Array(this.#numbers.length * 2))
  }
}
