import fc from 'fast-check'

/** Rows `0..count-1` in a random order: `canonicalRows[i]` is where the i-th row of the canonical order stands. */
export function permutationOf(count: number): fc.Arbitrary<Uint32Array> {
  const rows = Array.from({ length: count }, (_, row) => row)
  return fc
    .shuffledSubarray(rows, { minLength: count, maxLength: count })
    .map((shuffled) => Uint32Array.from(shuffled))
}

/** Values of the canonical order, moved to the rows that `canonicalRows` names. */
export function scatter(canonical: readonly number[], canonicalRows: Uint32Array): Float64Array {
  const values = new Float64Array(canonical.length)
  canonical.forEach((value, index) => {
    values[canonicalRows[index]!] = value
  })
  return values
}
