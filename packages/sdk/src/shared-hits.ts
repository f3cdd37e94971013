/**
 * Blocks of the request that a shared cache holds: sorted, disjoint, half-open ranges `[starts[i], ends[i])` of block
 * positions. Borrowed for the call. `count` ranges are valid; the arrays may be longer.
 */
export interface SharedHits {
  /** Valid ranges. */
  readonly count: number
  /** First block of each range. */
  readonly starts: Uint32Array
  /** Block after the last of each range. */
  readonly ends: Uint32Array
}

/** Number of blocks in all ranges. `O(ranges)`, allocates nothing. */
export function totalSharedHits(hits: SharedHits): number {
  return sharedHitsBeyond(hits, 0)
}

/** Number of covered positions `>= position` (blocks). `O(ranges)`, allocates nothing. */
export function sharedHitsBeyond(hits: SharedHits, position: number): number {
  let total = 0
  for (let index = hits.count - 1; index >= 0; index--) {
    const start = hits.starts[index]!
    const end = hits.ends[index]!
    if (end <= position) break
    total += end - (start > position ? start : position)
  }
  return total
}

/**
 * Shared hits from `[start, end)` pairs of block positions, u32; empty ranges are dropped. Throws `RangeError` on anything but
 * sorted, disjoint ranges. For tests and edges: it allocates.
 */
export function sharedHitsFrom(ranges: readonly (readonly [number, number])[]): SharedHits {
  const starts: number[] = []
  const ends: number[] = []
  for (const [start, end] of ranges) {
    const isRange =
      Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= 0xffff_ffff
    const isEmpty = start === end
    if (!isRange || (!isEmpty && start < (ends.at(-1) ?? 0))) {
      throw new RangeError(`shared hits must be sorted, disjoint block ranges, got [${start}, ${end})`)
    }
    if (isEmpty) continue
    starts.push(start)
    ends.push(end)
  }
  return { count: starts.length, starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) }
}
