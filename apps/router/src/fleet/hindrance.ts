/** Why a complete worker takes no new requests for now. */
export type HindranceCode = 'not_learned' | 'probe_failed' | 'inhibited' | 'breaker_open' | 'no_progress'

/** Something that keeps a worker from new requests until it is over. */
export interface Hindrance {
  readonly code: HindranceCode
  /** What was seen, without the code. */
  readonly detail: string
  /** Since when, on the clock of the fleet. */
  readonly sinceMs: number
}

/** A sentence for records: code, what was seen, how long ago it began. */
export function hindranceText({ code, detail, sinceMs }: Hindrance, nowMs: number): string {
  return `${code}: ${detail}, since ${Math.max(0, Math.round((nowMs - sinceMs) / 1000))} s`
}
