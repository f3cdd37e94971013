import type { WorkerTable } from './worker-table.js'

/** One warning per cause. `workerId` and `dpRank` when it concerns a rank. */
export interface RouterWarning {
  readonly code: string
  readonly message: string
  /** Instance name of the policy. */
  readonly policy: string
  readonly workerId?: bigint
  readonly dpRank?: number
}

const maximumCauses = 65_536

/** De-duplicates warnings of one policy object by code and rank; forgets a rank when its worker leaves. Bounded. */
export class WarningGate {
  /** True during a query: nothing is reported and nothing remembered. */
  muted = false
  readonly #reported = new Map<string, RouterWarning>()
  readonly #report: (warning: RouterWarning) => void
  readonly #policy: string

  constructor(policy: string, report: (warning: RouterWarning) => void) {
    this.#policy = policy
    this.#report = report
  }

  /** Causes remembered, at most 65,536; beyond that the oldest is forgotten. */
  get size(): number {
    return this.#reported.size
  }

  /** @param message for people; left out, it says the code and whom it concerns */
  once(code: string, message: string | undefined, workerId?: bigint, dpRank?: number): void {
    if (this.muted) return
    const key = `${code}/${workerId}/${dpRank}`
    if (this.#reported.has(key)) return
    if (this.#reported.size >= maximumCauses) this.#reported.delete(this.#reported.keys().next().value!)
    const warning: RouterWarning = {
      code,
      message: message ?? `policy ${this.#policy}: ${code}${concerning(workerId, dpRank)}`,
      policy: this.#policy,
      ...(workerId === undefined ? {} : { workerId }),
      ...(dpRank === undefined ? {} : { dpRank }),
    }
    this.#reported.set(key, warning)
    this.#report(warning)
  }

  /** Drops the memory of a worker that leaves, even if it comes back before the next selection. */
  forget(leaving: bigint): void {
    for (const [key, { workerId }] of this.#reported) if (workerId === leaving) this.#reported.delete(key)
  }

  /** Drops the memory of ranks and workers that left. */
  retain(table: WorkerTable): void {
    for (const [key, { workerId, dpRank }] of this.#reported) {
      if (workerId === undefined) continue
      const isKnown =
        dpRank === undefined ? table.workerIndexOf(workerId) >= 0 : table.rowOf(workerId, dpRank) >= 0
      if (!isKnown) this.#reported.delete(key)
    }
  }
}

function concerning(workerId: bigint | undefined, dpRank: number | undefined): string {
  if (workerId === undefined) return ''
  return dpRank === undefined ? ` (worker ${workerId})` : ` (worker ${workerId}, rank ${dpRank})`
}
