/** Time, as the keepers of workers use it: injected, so that tests need not wait. */
export interface Timers {
  /** Monotonic, milliseconds. */
  readonly nowMs: () => number
  /** Calls back once, after so many milliseconds; the returned function prevents it. */
  readonly after: (ms: number, callback: () => void) => () => void
}

/** The timers of the process; they keep it from nothing. @param nowMs the clock of the fleet */
export function processTimers(nowMs: () => number): Timers {
  return {
    nowMs,
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms).unref()
      return () => clearTimeout(timer)
    },
  }
}
