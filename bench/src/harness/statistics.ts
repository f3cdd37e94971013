/** Middle value; of an even count the mean of the two. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle]!
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Smallest value that at least this fraction of the values does not exceed (nearest rank). @param sorted ascending, not empty */
export function percentile(sorted: Float64Array, fraction: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)]!
}

/** Nearest-rank percentile of values in any order. NaN without values. */
export function quantile(values: readonly number[], fraction: number): number {
  return values.length === 0 ? Number.NaN : percentile(Float64Array.from(values).sort(), fraction)
}
