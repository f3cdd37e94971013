import type { WorkerInfo } from '@router/sdk'

interface WorkerEntry {
  info: WorkerInfo
  slots: readonly number[]
}

/** Which slots belong to which worker. Slots are numbers that stay with a rank and are used again after it left. */
export class SlotRegistry {
  /** Ascending by worker id. */
  readonly entries: WorkerEntry[] = []
  #free: number[] = []
  #next = 0

  /** Slots ever in use at once. */
  get size(): number {
    return this.#next
  }

  /** Adds or replaces a worker; returns the slots that are new and those that are gone. */
  upsert(info: WorkerInfo): { readonly added: readonly number[]; readonly dropped: readonly number[] } {
    const index = this.search(info.workerId)
    const known = this.entries[index]?.info.workerId === info.workerId ? this.entries[index] : undefined
    const { dataParallelStartRank: start, dataParallelSize: size } = info
    const added: number[] = []
    const slots = Array.from({ length: size }, (_, offset) => {
      const kept = known?.slots[start + offset - known.info.dataParallelStartRank]
      if (kept !== undefined) return kept
      const slot = this.#free.pop() ?? this.#next++
      added.push(slot)
      return slot
    })
    const kept = new Set(slots)
    const dropped = known?.slots.filter((slot) => !kept.has(slot)) ?? []
    this.#free.push(...dropped)
    if (known === undefined) this.entries.splice(index, 0, { info, slots })
    else Object.assign(known, { info, slots })
    return { added, dropped }
  }

  /** Slots of the removed worker; `undefined` when it was unknown. */
  remove(workerId: bigint): readonly number[] | undefined {
    const index = this.search(workerId)
    const entry = this.entries[index]
    if (entry?.info.workerId !== workerId) return undefined
    this.#free.push(...entry.slots)
    this.entries.splice(index, 1)
    return entry.slots
  }

  /** Position of the first worker with an id not below `workerId`. `O(log workers)`, allocates nothing. */
  search(workerId: bigint): number {
    let low = 0
    let high = this.entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.entries[middle]!.info.workerId < workerId) low = middle + 1
      else high = middle
    }
    return low
  }
}
