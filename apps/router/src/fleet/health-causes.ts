/** Every cause that there can be (host.md 13.3). */
export const healthCauseCodes = [
  'no_workers',
  'kv_events_silent',
  'kv_events_disconnected',
  'index_started_empty',
  'index_rebuilding',
  'approximate_mode',
  'block_size_mismatch',
  'hash_layout_mismatch',
  'hash_mismatch',
  'index_blind',
  'eviction_drift',
  'tokenizer_missing',
  'tokenizer_mismatch',
  'tokenizer_slow',
  'capacity_unknown',
  'capacity_suspicious',
  'undecodable_events',
  'expired_bookings',
  'replica_silent',
  'replica_sync_down',
  'discovery_invalid',
  'config_conflict',
  'inert_setting',
  'session_prefix_hot',
  'block_size_assumed',
  'slow_event_loop',
] as const

/** Why the router is not wholly well. */
export type HealthCauseCode = (typeof healthCauseCodes)[number]

/** Something that is not as it should be, at one place. */
export interface Finding {
  readonly code: HealthCauseCode
  /** What it is about: a worker, a rank, a partition, a setting, or the router. */
  readonly scope: string
  /** A sentence. */
  readonly detail: string
}

/** A finding that lasts. */
export interface HealthCause extends Finding {
  /** When it was first seen, milliseconds since 1970. */
  readonly sinceMs: number
  /** How often it happened; 1 for what is found. */
  readonly count: number
}

/** Causes at a time; further ones are not kept, only the warning of the first. */
const maximumCauses = 10_000

/**
 * What is not well at the moment. A source *finds* what holds now, again and again, and what it no longer finds is over; what only happens
 * is *raised*, and stays until it is cleared.
 */
export class HealthCauses {
  readonly #causes = new Map<string, HealthCause & { readonly source: string | undefined }>()
  readonly #wallMs: () => number
  readonly #onNew: (finding: Finding) => void

  /**
   * @param wallMs milliseconds since 1970
   * @param onNew told once per cause and scope, as long as it lasts
   */
  constructor(wallMs: () => number = Date.now, onNew: (finding: Finding) => void = () => undefined) {
    this.#wallMs = wallMs
    this.#onNew = onNew
  }

  /** Causes that hold; at most 10,000. */
  get size(): number {
    return this.#causes.size
  }

  /** By code and scope. */
  list(): HealthCause[] {
    const causes = [...this.#causes.values()].map(({ source: _source, ...cause }) => cause)
    return causes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  }

  /** Everything that a source finds now; what it found before and does not find any more is over. */
  found(source: string, findings: readonly Finding[]): void {
    const keys = new Set(findings.map(keyOf))
    for (const [key, cause] of this.#causes)
      if (cause.source === source && !keys.has(key)) this.#causes.delete(key)
    for (const finding of findings) this.#note(finding, source)
  }

  /** Something happened. */
  raise(finding: Finding): void {
    this.#note(finding, undefined)
  }

  /** What was raised about this scope, or the places in it (`7` and `7.0`), is over. */
  clear(scope: string): void {
    for (const [key, cause] of this.#causes) {
      const isInside = cause.scope === scope || cause.scope.startsWith(`${scope}.`)
      if (cause.source === undefined && isInside) this.#causes.delete(key)
    }
  }

  #note(finding: Finding, source: string | undefined): void {
    const key = keyOf(finding)
    const known = this.#causes.get(key)
    if (known === undefined && this.#causes.size >= maximumCauses) return
    const { sinceMs, count } = known ?? { sinceMs: this.#wallMs(), count: 0 }
    // What is found again is the same, what happens again is more.
    const isMore = known === undefined || source === undefined
    this.#causes.set(key, { ...finding, source, sinceMs, count: isMore ? count + 1 : count })
    if (known === undefined) this.#onNew(finding)
  }
}

function keyOf({ code, scope }: Finding): string {
  return `${code} ${scope}`
}
