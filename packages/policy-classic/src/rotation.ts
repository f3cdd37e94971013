import type { WorkerInfo } from '@router/sdk'

/**
 * The cursors of a round robin: one over workers, and one over the ranks of each worker that is known. They wrap at 2^32. As many as
 * there are workers; that of a worker goes when it leaves.
 */
export class Rotation {
  /** How many workers were taken in turn, modulo 2^32. */
  worker = 0
  #ids: readonly bigint[] = []
  /** Cursors over ranks, aligned with the ids. */
  #ranks = new Uint32Array(0)

  /** Workers with a cursor over their ranks. */
  get size(): number {
    return this.#ids.length
  }

  stepWorker(): void {
    this.worker = (this.worker + 1) >>> 0
  }

  /** How many ranks of a worker were taken in turn, modulo 2^32; 0 for an unknown one. */
  rankOf(workerId: bigint): number {
    const place = this.#placeOf(workerId)
    return place < 0 ? 0 : this.#ranks[place]!
  }

  /** Nothing for an unknown worker. */
  stepRank(workerId: bigint): void {
    const place = this.#placeOf(workerId)
    if (place >= 0) this.#ranks[place]!++
  }

  /** Keeps the cursors of workers that stay. */
  takeWorkers(workers: readonly WorkerInfo[]): void {
    const ids = workers.map(({ workerId }) => workerId).toSorted((a, b) => (a < b ? -1 : Number(a > b)))
    const ranks = Uint32Array.from(ids, (id) => this.rankOf(id))
    this.#ids = ids
    this.#ranks = ranks
  }

  /** By halving; -1 = unknown. */
  #placeOf(workerId: bigint): number {
    const ids = this.#ids
    let low = 0
    let high = ids.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (ids[middle]! < workerId) low = middle + 1
      else high = middle
    }
    return ids[low] === workerId ? low : -1
  }
}
