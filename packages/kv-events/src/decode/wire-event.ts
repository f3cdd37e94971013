import type { UndecodableReason } from '../reasons.js'

/** What an event of a batch is. */
export type WireEventKind = 'stored' | 'removed' | 'cleared' | 'ignored' | 'undecodable'

/** Object ids of one block, in the order of its keys. */
export type BlockObjects = readonly bigint[]

/**
 * One event as it was read, nothing filtered yet. Hashes and tokens stand in `EventBuffers`. Empty strings are absent ones. Reused:
 * `reset` before each event.
 */
export class WireEvent {
  kind: WireEventKind = 'ignored'
  /** Only of an undecodable event. */
  reason: UndecodableReason | undefined = undefined
  /** Index of the first hash, and hashes. */
  hashStart = 0
  hashCount = 0
  hasParent = false
  parentLow = 0
  parentHigh = 0
  /** Index of the first token, and tokens; in the eagle layout the first of each pair, then the second of the last. */
  tokenStart = 0
  tokenCount = 0
  isEagle = false
  /** Tokens per block, as the engine says. */
  blockSize = 0
  medium: string | undefined = undefined
  loraName: string | undefined = undefined
  /** Own salt, from either place. */
  salt: string | undefined = undefined
  /** By block; absent = no block has any, nor have those past the end. */
  objects: readonly BlockObjects[] | undefined = undefined
  /** -1 = not given. */
  group = -1
  attentionKind: string | undefined = undefined
  locality: string | undefined = undefined
  ownership: string | undefined = undefined
  sessionId: string | undefined = undefined

  reset(): void {
    this.kind = 'ignored'
    this.reason = undefined
    this.hashStart = 0
    this.hashCount = 0
    this.hasParent = false
    this.parentLow = 0
    this.parentHigh = 0
    this.tokenStart = 0
    this.tokenCount = 0
    this.isEagle = false
    this.blockSize = 0
    this.medium = undefined
    this.loraName = undefined
    this.salt = undefined
    this.objects = undefined
    this.group = -1
    this.attentionKind = undefined
    this.locality = undefined
    this.ownership = undefined
    this.sessionId = undefined
  }
}

const KEPT_EVENTS = 1024

/** Events of one batch in wire order. The first `KEPT_EVENTS` objects are reused for ever. */
export class WireEvents {
  #events: WireEvent[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  clear(): void {
    this.#count = 0
    if (this.#events.length > KEPT_EVENTS) this.#events.length = KEPT_EVENTS
  }

  /** The next event, reset. */
  add(): WireEvent {
    if (this.#count === this.#events.length) this.#events.push(new WireEvent())
    const event = this.#events[this.#count++]!
    event.reset()
    return event
  }

  at(index: number): WireEvent {
    return this.#events[index]!
  }
}
