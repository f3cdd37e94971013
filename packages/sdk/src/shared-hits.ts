/**
 * Blocks of the request that a shared cache holds: sorted, disjoint, half-open ranges `[starts[i], ends[i])` of block
 * positions. Borrowed for the call. `count` ranges are valid; the arrays may be longer.
 */
export interface SharedHits {
  readonly count: number
  readonly starts: Uint32Array
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

/** Shared hits from `[start, end)` pairs; empty ranges are dropped. Throws `RangeError` on unsorted or overlapping ones. */
export function sharedHitsFrom(ranges: readonly (readonly [number, number])[]): SharedHits {
  const kept = ranges.filter(([start, end]) => start !== end)
  let previousEnd = 0
  for (const [start, end] of kept) {
    const valid = Number.isInteger(start) && Number.isInteger(end) && start >= previousEnd && end > start
    if (!valid || end > 0xffff_ffff) {
      throw new RangeError(`shared hits must be sorted, disjoint block ranges, got [${start}, ${end})`)
    }
    previousEnd = end
  }
  return {
    count: kept.length,
    starts: Uint32Array.from(kept, ([start]) => start),
    ends: Uint32Array.from(kept, ([, end]) => end),
  }
}
