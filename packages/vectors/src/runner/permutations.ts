import { WyRand } from '@router/sdk'

/** An order of rows, from which a view is made. */
export interface Permutation {
  readonly name: string
  /** By row: the canonical position of what stands there. */
  readonly rowOf: readonly number[]
  /** By canonical position: the row where it stands; `undefined` = rows are in canonical order. */
  readonly canonicalRows: Uint32Array | undefined
}

/** The canonical order, the same with the order written out, the reverse and a fixed shuffle: each order once. */
export function permutations(count: number): Permutation[] {
  const canonical = Array.from({ length: count }, (_, index) => index)
  const orders = [
    { name: 'order written out', rowOf: canonical },
    { name: 'rows reversed', rowOf: canonical.toReversed() },
    { name: 'rows shuffled', rowOf: shuffled(canonical) },
  ]
  const seen = new Set<string>()
  const distinct = orders.filter(({ rowOf }) => !seen.has(rowOf.join()) && seen.add(rowOf.join()))
  return [
    { name: 'canonical rows', rowOf: canonical, canonicalRows: undefined },
    ...distinct.map(({ name, rowOf }) => ({ name, rowOf, canonicalRows: inverse(rowOf) })),
  ]
}

function shuffled(rows: readonly number[]): number[] {
  const random = new WyRand(BigInt(rows.length))
  const result = [...rows]
  for (let end = result.length - 1; end > 0; end--) {
    const other = random.below(end + 1)
    const row = result[end]!
    result[end] = result[other]!
    result[other] = row
  }
  return result
}

function inverse(rowOf: readonly number[]): Uint32Array {
  const rows = new Uint32Array(rowOf.length)
  for (const [row, canonical] of rowOf.entries()) rows[canonical] = row
  return rows
}
