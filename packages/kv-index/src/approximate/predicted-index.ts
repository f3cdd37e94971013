import type { BlockIndex, OverlapTarget } from '../block-index.js'
import type { HashWords } from '../hash-words.js'
import { OverlapRows } from '../overlap-rows.js'
import type { LifetimeOptions } from './lifetime-options.js'
import { LifetimeRetention } from './lifetime-retention.js'
import type { PromptBlocks } from './prompt-blocks.js'

/**
 * Predict on route: what ranks with events were sent a moment ago, until their events tell the same. The blocks stand in an index of
 * their own that nobody else sees, so that they are never dumped, replicated or served.
 */
export class PredictedIndex {
  readonly #retention: LifetimeRetention
  readonly #matches = new OverlapRows()

  /**
   * @param index empty, and given to nobody else
   * @param options `ttlMs` is `router_predicted_ttl_secs`. Error: `KV_INDEX_OPTION_INVALID`
   */
  constructor(index: BlockIndex, options: LifetimeOptions & { readonly ttlMs: number }) {
    this.#retention = new LifetimeRetention(index, options)
  }

  /** Blocks of all ranks. */
  get size(): number {
    return this.#retention.size
  }

  /** Blocks of one rank. */
  sizeOf(rank: number): number {
    return this.#retention.sizeOf(rank)
  }

  /** A rank was sent a prompt. See `LifetimeRetention.insert`. */
  insert(rank: number, blocks: PromptBlocks, nowMs: number): void {
    this.#retention.insert(rank, blocks, nowMs)
  }

  /** See `LifetimeRetention.expire`. */
  expire(nowMs: number, budget?: number): boolean {
    return this.#retention.expire(nowMs, budget)
  }

  /** The rank left, or its engine lives anew. `O(1)`. */
  removeRank(rank: number): void {
    this.#retention.removeRank(rank)
  }

  /**
   * After a lookup of the same prompt into `target`: raises the device blocks of ranks that have more of it here. Blocks that are now
   * the device's are no longer an extension of a slower tier. Allocates nothing warm.
   */
  raise(local: HashWords, count: number, nowMs: number, target: OverlapTarget): void {
    const matches = this.#matches
    matches.rowOfRank = target.rowOfRank
    matches.reserve(target.deviceBlocks.length)
    this.#retention.lookup(local, count, nowMs, matches)
    for (let at = 0; at < matches.count; at++) {
      const row = matches.rows[at]!
      raiseRow(target, row, matches.deviceBlocks[row]!)
    }
  }
}

function raiseRow(target: OverlapTarget, row: number, predictedBlocks: number): void {
  const { deviceBlocks, hostBlocks, diskBlocks, externalBlocks, rows } = target
  const extension = hostBlocks[row]! + diskBlocks[row]! + externalBlocks[row]!
  if (deviceBlocks[row]! + extension === 0) rows[target.count++] = row
  let gained = predictedBlocks - deviceBlocks[row]!
  if (gained <= 0) return
  deviceBlocks[row] = predictedBlocks
  gained = shorten(hostBlocks, row, gained)
  gained = shorten(diskBlocks, row, gained)
  shorten(externalBlocks, row, gained)
}

/** Takes blocks from an extension; returns how many it did not have. */
function shorten(extension: Float64Array, row: number, blocks: number): number {
  const taken = Math.min(extension[row]!, blocks)
  extension[row]! -= taken
  return blocks - taken
}
