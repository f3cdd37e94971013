import type { WorkerHealth } from './worker-health.js'

/** How much longer than the others' slow first bytes a silence must be. */
const silenceFactor = 10

/**
 * Workers that were not marked silent yet and whose requests wait for longer than `leastMs` and than ten times the 95th percentile of the
 * first-byte times of the others in their partition. `O(workers)`, and sorts their times where some worker waits.
 */
export function silentAmong<T extends { readonly health: WorkerHealth }>(
  workers: Iterable<T>,
  partitionOf: (worker: T) => string,
  leastMs: number,
  nowMs: number,
): T[] {
  const all = [...workers]
  const waiting = all.filter(({ health }) => !health.isSilent && health.silenceMs(nowMs) >= leastMs)
  if (waiting.length === 0) return []
  const times = new Map<string, Float64Array[]>()
  for (const worker of all) {
    const partition = partitionOf(worker)
    const known = times.get(partition)
    if (known === undefined) times.set(partition, [worker.health.firstByteMs])
    else known.push(worker.health.firstByteMs)
  }
  const sorted = new Map([...times].map(([partition, lists]) => [partition, new FirstByteTimes(lists)]))
  return waiting.filter((worker) => {
    const others = sorted.get(partitionOf(worker))!
    return worker.health.silenceMs(nowMs) >= silenceFactor * others.slowWithout(worker.health.firstByteMs)
  })
}

/** How soon the workers of a partition give first bytes, sorted once for all of them. */
class FirstByteTimes {
  readonly #sorted: Float64Array

  /** @param times of every worker, milliseconds, in no order; they are copied */
  constructor(times: readonly Float64Array[]) {
    this.#sorted = new Float64Array(times.reduce((count, { length }) => count + length, 0))
    let end = 0
    for (const some of times) {
      this.#sorted.set(some, end)
      end += some.length
    }
    this.#sorted.sort()
  }

  /** The 95th percentile without the times of one of the workers; 0 = there are no others. `O(own log all)`. */
  slowWithout(own: Float64Array): number {
    const count = this.#sorted.length - own.length
    if (count === 0) return 0
    let at = Math.ceil(0.95 * count) - 1
    for (const time of own.toSorted()) if (this.#firstOf(time) <= at) at++
    return this.#sorted[at]!
  }

  /** Where a time that is there stands first. */
  #firstOf(time: number): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#sorted[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }
}
