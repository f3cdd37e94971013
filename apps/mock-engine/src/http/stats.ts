import type { RankFacts } from '../engine/serving.js'

/**
 * Where a request was when its client left: kept back by a fault, waiting to be scheduled, in its prompt (nothing was generated
 * yet), or producing tokens.
 */
export type Phase = 'held' | 'queued' | 'prefill' | 'decode'

/** What the server did since it started, as `GET /stats` shows it. A restart of the engine resets `ranks` only. */
export interface MockEngineStats {
  /** How often the engine was restarted. */
  readonly restarts: number
  /** Finished requests by path and status; `cut` = the connection ended before the answer was whole. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly in_flight: number
  readonly open_streams: number
  readonly aborts: Readonly<Record<Phase, number>>
  readonly faults_applied: Readonly<Record<string, number>>
  readonly tokens: { readonly prompt: number; readonly cached: number; readonly generated: number }
  readonly ranks: readonly RankFacts[]
}

/** Counters behind `/stats`. Paths are those of the routes, so that their number is bounded. */
export class StatsCounter {
  restarts = 0
  openStreams = 0
  inFlight = 0
  promptTokens = 0
  cachedTokens = 0
  generatedTokens = 0
  readonly #requests = new Map<string, Map<string, number>>()
  readonly #aborts: Record<Phase, number> = { held: 0, queued: 0, prefill: 0, decode: 0 }
  readonly #faults = new Map<string, number>()

  finished(path: string, status: number | 'cut'): void {
    this.inFlight--
    const statuses = this.#requests.get(path) ?? new Map<string, number>()
    this.#requests.set(path, statuses)
    countUp(statuses, String(status))
  }

  aborted(phase: Phase): void {
    this.#aborts[phase]++
  }

  applied(faultKind: string): void {
    countUp(this.#faults, faultKind)
  }

  /** A copy. */
  report(ranks: readonly RankFacts[]): MockEngineStats {
    return {
      restarts: this.restarts,
      requests: Object.fromEntries(
        [...this.#requests].map(([path, statuses]) => [path, Object.fromEntries(statuses)]),
      ),
      in_flight: this.inFlight,
      open_streams: this.openStreams,
      aborts: { ...this.#aborts },
      faults_applied: Object.fromEntries(this.#faults),
      tokens: { prompt: this.promptTokens, cached: this.cachedTokens, generated: this.generatedTokens },
      ranks,
    }
  }
}

function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
