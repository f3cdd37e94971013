import type { WorkerView } from '../fleet/worker-registration.js'
import { ranksOf } from '../fleet/worker-registration.js'

/** Times and sizes of the last request of a rank; NaN = none yet. */
export interface LastRequest {
  firstTokenSeconds: number
  inputTokens: number
  betweenTokensSeconds: number
}

interface Kept {
  readonly ranks: Map<number, LastRequest>
  /** Processes of its engine so far. */
  lives: number
}

/** What was seen of each worker of a fleet. Bounded by its workers and their ranks: it follows who comes, goes and restarts. */
export class WorkerTraces {
  readonly #kept = new Map<bigint, Kept>()

  get size(): number {
    return this.#kept.size
  }

  /** A worker is there, or its record is another one. */
  follow({ registration }: WorkerView): void {
    const { first, count } = ranksOf(registration)
    const known = this.#kept.get(registration.workerId)
    if (known === undefined) this.#kept.set(registration.workerId, { ranks: new Map(), lives: 1 })
    else
      for (const rank of known.ranks.keys())
        if (rank < first || rank >= first + count) known.ranks.delete(rank)
  }

  forget(workerId: bigint): void {
    this.#kept.delete(workerId)
  }

  /** Its engine is another process: what was measured of the one before says nothing of it. */
  restarted(workerId: bigint): void {
    const known = this.#kept.get(workerId)
    if (known === undefined) return
    known.lives++
    known.ranks.clear()
  }

  livesOf(workerId: bigint): number | undefined {
    return this.#kept.get(workerId)?.lives
  }

  lastOf(workerId: bigint, dpRank: number): LastRequest | undefined {
    return this.#kept.get(workerId)?.ranks.get(dpRank)
  }

  /** The last request of a rank, to be overwritten; absent for workers that are gone. */
  lastToWrite(workerId: bigint, dpRank: number): LastRequest | undefined {
    const ranks = this.#kept.get(workerId)?.ranks
    const known = ranks?.get(dpRank)
    if (known !== undefined || ranks === undefined) return known
    const last = { firstTokenSeconds: Number.NaN, inputTokens: Number.NaN, betweenTokensSeconds: Number.NaN }
    ranks.set(dpRank, last)
    return last
  }
}
