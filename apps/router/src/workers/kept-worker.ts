import type { WorkerProbe } from './probes/worker-probe.js'
import type { WorkerHealth } from './worker-health.js'

/** A worker as `WorkerKeeper` keeps it. */
export interface KeptWorker {
  readonly workerId: bigint
  readonly endpoint: string
  readonly isTrusted: boolean
  readonly health: WorkerHealth
  readonly abort: AbortController
  probe?: WorkerProbe
  learnedAtMs: number
  /** Why its engine could not be asked; absent = it could. */
  ignorance?: { readonly detail: string; readonly sinceMs: number } | undefined
  /** Connections are refused. */
  isOut: boolean
  /** Something was wrong since it was last asked. */
  wasSuspect: boolean
  /** What its own health says, and what of that the fleet has: to see a change. */
  said: string
  shown: string
  /** Comes back when that changes by itself. */
  cancelChange?: (() => void) | undefined
}
