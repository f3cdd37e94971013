import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Finding } from '../fleet/health-causes.js'

/** How late the event loop ran its timers. */
export interface DelaySource {
  /** Longest delay since it was last above `slowMs` when asked; milliseconds. */
  takeLongestMs(slowMs: number): number
  close(): void
}

/** Between looks at the clock: at 20 ms they cost an idle process 2.6 ms of work a second, at 50 ms 0.9 ms. */
const resolutionMs = 50
const slowMs = 100
/** How long a delay counts. */
const recentMs = 60_000

/** What the process measures of itself, less up to 50 ms. `close` it. */
export function processDelays(): DelaySource {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  return {
    takeLongestMs: (limitMs) => {
      // What is measured is the time between looks; without any it is 0.
      const longestMs = Math.max(0, histogram.max / 1e6 - resolutionMs)
      // Only then: the measurement that is under way is lost.
      if (longestMs > limitMs) histogram.reset()
      return longestMs
    },
    close: () => void histogram.disable(),
  }
}

/** Tells when something kept the process from its work. */
export class EventLoopWatch {
  readonly #delays: DelaySource
  readonly #nowMs: () => number
  #slow: { readonly longestMs: number; readonly atMs: number } | undefined

  /** @param nowMs monotonic */
  constructor(delays: DelaySource, nowMs: () => number) {
    this.#delays = delays
    this.#nowMs = nowMs
  }

  /** A delay above 100 ms in the last 60 s. Ask every few seconds. */
  findings(): Finding[] {
    const nowMs = this.#nowMs()
    const longestMs = this.#delays.takeLongestMs(slowMs)
    if (this.#slow !== undefined && nowMs - this.#slow.atMs >= recentMs) this.#slow = undefined
    if (longestMs > slowMs)
      this.#slow = { longestMs: Math.max(longestMs, this.#slow?.longestMs ?? 0), atMs: nowMs }
    if (this.#slow === undefined) return []
    const detail = `the event loop stood still for ${Math.round(this.#slow.longestMs)} ms, within the last 60 s`
    return [{ code: 'slow_event_loop', scope: 'router', detail }]
  }
}
