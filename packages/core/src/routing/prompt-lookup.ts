import type { PrefixState, PromptBlocks } from '@router/kv-index'
import type { WorkerTable } from '../worker-table.js'
import { ChunkMatches } from './chunk-matches.js'
import type { OverlapColumns } from './overlap-columns.js'
import type { PromptRequest } from './prompt-request.js'

/** Finds what every rank of a partition holds of a prompt, by its blocks, by its content chunks, or by both. */
export class PromptLookup {
  readonly #table: WorkerTable
  readonly #prefix: PrefixState
  readonly #overlaps: OverlapColumns
  readonly #matches = new ChunkMatches()

  constructor(table: WorkerTable, prefix: PrefixState, overlaps: OverlapColumns) {
    this.#table = table
    this.#prefix = prefix
    this.#overlaps = overlaps
  }

  /** Writes it into the cache columns. Whether any rank has some. */
  run(blocks: PromptBlocks, { chunks, isUnhashed }: PromptRequest, nowMs: number): boolean {
    const overlaps = this.#overlaps
    overlaps.begin()
    this.#prefix.lookup(blocks.local, blocks.count, nowMs, overlaps)
    overlaps.finish()
    const hasBlocks = overlaps.count > 0
    if (isUnhashed === true) overlaps.hideAll()
    else if (chunks !== undefined) {
      const { hashes, overlapBlocks } = chunks
      const matches = this.#matches
      matches.begin(this.#table)
      this.#prefix.chunks.lookup(hashes.local, hashes.count, nowMs, matches)
      overlaps.addChunks(matches, overlapBlocks)
      return hasBlocks || matches.count > 0
    }
    return hasBlocks
  }
}
