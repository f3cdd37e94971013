import type { BlockIndex } from '../../src/block-index.js'
import { type HashWords, hashWords } from '../../src/hash-words.js'
import { OverlapRows } from '../../src/overlap-rows.js'

/** A lookup target whose row is the rank, for ranks below a limit. */
export class MatchTable extends OverlapRows {
  /** `rowOfRank` other than the rank itself: rows are dense, not all ranks need one. */
  constructor(ranks: number, rowOfRank?: readonly number[]) {
    super(ranks)
    if (rowOfRank !== undefined) this.rowOfRank = Int32Array.from(rowOfRank)
  }

  /** The row of a rank, tier after tier. */
  at(row: number): Blocks {
    return [this.deviceBlocks[row]!, this.hostBlocks[row]!, this.diskBlocks[row]!, this.externalBlocks[row]!]
  }

  /** Every row, those without a match too; checks that `rows` names exactly those that have one. */
  all(): Blocks[] {
    const written = [...this.rows.subarray(0, this.count)].toSorted((a, b) => a - b)
    const matches = Array.from(this.deviceBlocks, (_, row) => this.at(row))
    const expected = [...matches.keys()].filter((row) => matches[row]!.some((blocks) => blocks !== 0))
    if (written.join() !== expected.join())
      throw new Error(`rows says ${written.join()}, the columns say ${expected.join()}`)
    return matches
  }
}

/** Blocks on the device, and what host, disk and external tiers add. */
export type Blocks = readonly [device: number, host: number, disk: number, external: number]

/** What every rank holds of a prompt, ranks without a match left out. */
export function matchesOf(
  index: BlockIndex,
  path: readonly bigint[] | HashWords,
  ranks: number,
): Record<number, Blocks> {
  const table = new MatchTable(ranks)
  const words = path instanceof Uint32Array ? path : hashWords(path)
  index.lookup(words, words.length >> 1, table)
  const rows = [...table.all().entries()].filter(([, blocks]) => blocks.some((value) => value !== 0))
  return Object.fromEntries(rows)
}
