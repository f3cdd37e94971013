/** How an attempt ended, as far as it says something of the worker. */
export type WatchedEnd =
  /** The whole answer came, whatever its status. */
  | 'answered'
  /** Nobody listens there. */
  | 'refused'
  /** Reset, cut, or too late. */
  | 'failed'
  /** The client went, or a connection had gone stale: it says nothing of the worker. */
  | 'abandoned'

/** One request at one worker, as whoever judges workers sees it. */
export interface WatchedAttempt {
  /** Status of the answer, as soon as it is there. */
  head(status: number): void
  /** Some of the body came. */
  byte(): void
  /** Told once. */
  end(how: WatchedEnd): void
}

/** An answer that sends the client elsewhere: past the router, so that it is none. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304
}

/** Whoever judges workers by their requests. */
export interface WorkerWatch {
  /** A request is about to go to this worker; `undefined` = it must not. */
  begin(workerId: bigint): WatchedAttempt | undefined
}
