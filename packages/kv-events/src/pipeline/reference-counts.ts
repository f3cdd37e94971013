import { type HashWords, TIERS } from '@router/kv-index'
import { HashCounts } from './hash-counts.js'

/** Blocks per rank and tier whose count is remembered at most; further ones count as held once, and `forgotten` says how many. */
export const MAX_COUNTED_BLOCKS = 65_536

/**
 * How often an engine holds the same block, for one rank. Only counts above 1 are kept; whether a block is held at all is for the
 * index to say.
 */
export class ReferenceCounts {
  readonly #tables: (HashCounts | undefined)[] = TIERS.map(() => undefined)
  /** Counts that were not kept because there are too many. */
  forgotten = 0

  /** Counts above 1, over all tiers. */
  get size(): number {
    return this.#tables.reduce((sum, table) => sum + (table?.size ?? 0), 0)
  }

  /** A block that is held was stored again. */
  storedAgain(tier: number, low: number, high: number): void {
    const table = (this.#tables[tier] ??= new HashCounts())
    const count = table.get(low, high)
    if (count === 0 && table.size >= MAX_COUNTED_BLOCKS) this.forgotten++
    else table.set(low, high, count === 0 ? 2 : count + 1)
  }

  /**
   * Takes one reference from each of `count` hashes and moves those that must go from the index to the front of the range, in order.
   * @returns how many must go
   */
  release(tier: number, engine: HashWords, start: number, count: number): number {
    const table = this.#tables[tier]
    if (table === undefined) return count
    let kept = start
    for (let index = start; index < start + count; index++) {
      const low = engine[2 * index]!
      const high = engine[2 * index + 1]!
      const references = table.get(low, high)
      if (references > 1) {
        table.set(low, high, references === 2 ? 0 : references - 1)
        continue
      }
      engine[2 * kept] = low
      engine[2 * kept + 1] = high
      kept++
    }
    if (table.size === 0) this.#tables[tier] = undefined
    return kept - start
  }

  /** The rank holds nothing any more. */
  clear(): void {
    this.#tables.fill(undefined)
  }
}
