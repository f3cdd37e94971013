import type { WorkerInfo } from '@router/sdk'

/** Which taints each worker carries, as bits. Rebuilt when workers change, so bounded by the taints in use. */
export class TaintIndex {
  #ids = new Map<string, number>()
  #words = 1
  #bits = new Uint32Array(0)

  rebuild(workers: readonly WorkerInfo[]): void {
    this.#ids = new Map()
    for (const worker of workers) {
      for (const taint of worker.taints) if (!this.#ids.has(taint)) this.#ids.set(taint, this.#ids.size)
    }
    this.#words = Math.max(1, Math.ceil(this.#ids.size / 32))
    this.#bits = new Uint32Array(workers.length * this.#words)
    for (const [index, worker] of workers.entries()) {
      for (const taint of worker.taints) {
        const id = this.#ids.get(taint)!
        this.#bits[index * this.#words + (id >> 5)]! |= 1 << (id & 31)
      }
    }
  }

  /** Id of a taint that some worker carries, else -1. */
  idOf(taint: string): number {
    return this.#ids.get(taint) ?? -1
  }

  /** Whether the worker at `index` carries the taint `id`; -1 is carried by nobody. */
  carries(index: number, id: number): boolean {
    return id >= 0 && (this.#bits[index * this.#words + (id >> 5)]! & (1 << (id & 31))) !== 0
  }
}
