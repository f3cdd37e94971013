import type { EndReason, PassLog } from './pass-log.js'
import type { RequestBlocks } from './request-blocks.js'
import { NumberQueue, type RequestTable, stages } from './request-table.js'

/** Requests that are over, until all was told and their numbers are free. They own no blocks any more. */
export class RequestEnds {
  readonly #requests: RequestTable
  readonly #blocks: RequestBlocks
  readonly #log: PassLog
  /** Cancelled while they did not run in a pass. */
  readonly #cancelled = new NumberQueue()
  /** Rejected or given up by this pass, and why. */
  readonly #refused = new NumberQueue()
  readonly #reasons: EndReason[] = []
  readonly #ended = new NumberQueue()

  constructor(requests: RequestTable, blocks: RequestBlocks, log: PassLog) {
    this.#requests = requests
    this.#blocks = blocks
    this.#log = log
  }

  /** Whether there is an end to be told by the pass that ends next. */
  get isPending(): boolean {
    return this.#cancelled.size + this.#refused.size > 0
  }

  /** To be told by the pass that ends next, before its tokens. */
  cancel(request: number): void {
    this.#requests.stage[request] = stages.over
    this.#cancelled.pushBack(request)
  }

  /** To be told at the end of this pass, after its tokens. */
  refuse(request: number, reason: EndReason): void {
    this.#requests.stage[request] = stages.over
    this.#refused.pushBack(request)
    this.#reasons.push(reason)
  }

  end(request: number, reason: EndReason): void {
    this.#requests.stage[request] = stages.over
    this.#log.ended(request, reason)
    this.#ended.pushBack(request)
  }

  endCancelled(): void {
    for (; this.#cancelled.size > 0; this.#cancelled.shift()) this.end(this.#cancelled.first, 'cancelled')
  }

  endRefused(): void {
    for (; this.#refused.size > 0; this.#refused.shift()) {
      this.end(this.#refused.first, this.#reasons[0]!)
      this.#reasons.shift()
    }
  }

  /** Frees the numbers of all that have ended. */
  forget(): void {
    for (; this.#ended.size > 0; this.#ended.shift()) {
      this.#blocks.forget(this.#ended.first)
      this.#requests.give(this.#ended.first)
    }
  }
}
