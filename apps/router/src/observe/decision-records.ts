import { deserialize, serialize } from 'node:v8'
import type { RoutedExplanation } from '@router/core'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import type { Fleet } from '../fleet/fleet.js'
import type { JsonValue } from '../http/json-writer.js'
import { type DecisionSubject, decisionJson } from './decision-json.js'

/** How many decisions are recorded and kept. */
export interface DecisionSettings {
  /** Decisions a second among up to 16 ranks; those among more count for more. 0 = only those that are asked for. Default 10. */
  readonly perSecond?: number | undefined
  /** Default 10,000. */
  readonly maximumRecords?: number | undefined
  /** Default 64 MiB. */
  readonly maximumBytes?: number | undefined
  /** Monotonic, milliseconds. */
  readonly nowMs: () => number
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly wallMs?: (() => number) | undefined
}

/** Told how a selection came about. */
export type OnExplained = (explanation: RoutedExplanation) => void

interface Kept {
  readonly requestId: string | undefined
  /** Serialised, outside of the heap: nothing that a collection has to walk. */
  readonly bytes: Buffer
}

/** Ranks that cost as much as a small decision does by itself. */
const ranksPerShare = 16
/** A quiet time lets so many seconds' worth of decisions through at once. */
const burstSeconds = 10
/** What an entry takes beside its bytes and the characters of its id. */
const entryBytes = 200

/**
 * Decision records: how requests came to their ranks, the last ones, by request id. A sample, bounded in what it costs: so many a second,
 * all of them while there are no more than that, and those that somebody asks for. Bounded in number and bytes; oldest forgotten first.
 */
export class DecisionRecords {
  readonly #fleet: Fleet
  readonly #perMs: number
  readonly #maximumRecords: number
  readonly #maximumBytes: number
  readonly #nowMs: () => number
  readonly #wallMs: () => number
  // In the order of their decisions.
  readonly #records = new Map<number, Kept>()
  #recorded = 0
  #bytes = 0
  #allowance: number
  #refilledMs: number

  constructor(fleet: Fleet, settings: DecisionSettings) {
    this.#fleet = fleet
    const { perSecond = 10, maximumRecords = 10_000, maximumBytes = 64 * 2 ** 20, nowMs } = settings
    this.#perMs = perSecond / 1000
    this.#maximumRecords = maximumRecords
    this.#maximumBytes = maximumBytes
    this.#nowMs = nowMs
    this.#wallMs = settings.wallMs ?? Date.now
    this.#allowance = burstSeconds * perSecond
    this.#refilledMs = nowMs()
  }

  /** Records that are kept. */
  get size(): number {
    return this.#records.size
  }

  /** What they take. */
  get bytes(): number {
    return this.#bytes
  }

  /** Records that were made so far. */
  get recorded(): number {
    return this.#recorded
  }

  /**
   * Who is to be told of the selections of a request, one after the other; `undefined` = it is not in the sample, and nobody asks for it:
   * that costs next to nothing.
   * @param subjectOf asked once, where it is recorded
   */
  recorder(
    { router }: FleetPartition,
    isAskedFor: boolean,
    subjectOf: () => Omit<DecisionSubject, 'attempt'>,
  ): OnExplained | undefined {
    if (!isAskedFor && !this.#takeShares(router.partition.table.count / ranksPerShare)) return undefined
    const subject = subjectOf()
    let attempt = 0
    return (explanation) => this.#add({ ...subject, attempt: ++attempt }, explanation)
  }

  /** Those of one request, oldest first: one a try; several where clients use an id again. `O(records)`. */
  of(requestId: string): JsonValue[] {
    return [...this.#records.values()].filter((kept) => kept.requestId === requestId).map(recordOf)
  }

  /** The last ones, newest first. */
  latest(limit: number): JsonValue[] {
    const first = Math.max(0, this.size - limit)
    return [...this.#records.values()].slice(first).toReversed().map(recordOf)
  }

  /** Takes what a decision costs from what there is, if that is enough. */
  #takeShares(shares: number): boolean {
    if (this.#perMs === 0) return false
    const nowMs = this.#nowMs()
    const most = 1000 * burstSeconds * this.#perMs
    this.#allowance = Math.min(most, this.#allowance + (nowMs - this.#refilledMs) * this.#perMs)
    this.#refilledMs = nowMs
    const price = Math.max(1, shares)
    // What costs more than there ever is waits until there is all.
    if (this.#allowance < Math.min(price, most)) return false
    this.#allowance -= price
    return true
  }

  /** `O(ranks)`. */
  #add(subject: DecisionSubject, explanation: RoutedExplanation): void {
    const record = serialize(decisionJson(this.#fleet, subject, explanation, this.#wallMs()))
    // Of its own size: what the serialiser returns is larger.
    const bytes = Buffer.allocUnsafeSlow(record.length)
    record.copy(bytes)
    const kept = { requestId: subject.requestId, bytes }
    this.#records.set(this.#recorded++, kept)
    this.#bytes += sizeOf(kept)
    while (this.#records.size > this.#maximumRecords || this.#bytes > this.#maximumBytes) this.#forgetOldest()
  }

  #forgetOldest(): void {
    for (const [at, kept] of this.#records) {
      this.#records.delete(at)
      this.#bytes -= sizeOf(kept)
      return
    }
  }
}

function sizeOf({ requestId = '', bytes }: Kept): number {
  return bytes.length + 2 * requestId.length + entryBytes
}

function recordOf({ bytes }: Kept): JsonValue {
  return deserialize(bytes) as JsonValue
}
