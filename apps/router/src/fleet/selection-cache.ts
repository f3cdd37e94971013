import type { HashWords } from '@router/kv-index'
import type { SelectionMeasures } from './selection-measures.js'

/** What was selected, for a booking later on. */
export interface CachedSelection {
  readonly workerId: bigint
  readonly dpRank: number
  readonly local: HashWords
  readonly sequence: HashWords
  /** Tokens of the prompt. */
  readonly promptTokens: number
  /** Tokens to prefill, where prefill is tracked. */
  readonly prefillTokens: number
  readonly assumesKvReuse: boolean | undefined
  readonly expectedOutputTokens: number | undefined
  readonly loraName: string | undefined
  readonly measures: SelectionMeasures
}

/** Bounds of the cache. */
export interface SelectionCacheLimits {
  /** Life of a selection. Default 120,000. */
  readonly ttlMs?: number
  /** Selections. Default 4,096. */
  readonly maximumEntries?: number
  /** Bytes, estimated. Default 268,435,456. */
  readonly maximumBytes?: number
}

interface Entry {
  readonly selection: CachedSelection
  readonly expiresMs: number
  readonly bytes: number
}

/** Memory of an entry beside its hashes and its key, roughly. */
const entryBytes = 512

/** Selections that may still be booked, by partition and id. The oldest leave first, when they are too old, too many or too large. */
export class SelectionCache {
  readonly #ttlMs: number
  readonly #maximumEntries: number
  readonly #maximumBytes: number
  // In the order in which they were put: all live equally long.
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(limits: SelectionCacheLimits = {}) {
    this.#ttlMs = limits.ttlMs ?? 120_000
    this.#maximumEntries = limits.maximumEntries ?? 4096
    this.#maximumBytes = limits.maximumBytes ?? 268_435_456
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Keeps a selection instead of an earlier one of this key. One that is too large on its own is not kept. */
  put(key: string, selection: CachedSelection, nowMs: number): void {
    this.delete(key)
    const { local, sequence } = selection
    const bytes = entryBytes + 2 * key.length + local.byteLength + sequence.byteLength
    this.#entries.set(key, { selection, expiresMs: nowMs + this.#ttlMs, bytes })
    this.#bytes += bytes
    this.expire(nowMs)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maximumEntries && this.#bytes <= this.#maximumBytes) break
      this.delete(oldest)
    }
  }

  /** What was selected; it stays until it is deleted. */
  get(key: string, nowMs: number): CachedSelection | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.expiresMs > nowMs) return entry.selection
    this.delete(key)
    return undefined
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#bytes -= entry.bytes
    this.#entries.delete(key)
  }

  /** Drops what is too old. */
  expire(nowMs: number): void {
    for (const [key, { expiresMs }] of this.#entries) {
      if (expiresMs > nowMs) return
      this.delete(key)
    }
  }
}
