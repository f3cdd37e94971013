import {
  type BlockRun,
  DEVICE,
  hashOf,
  hashesOf,
  type HashWords,
  PrefixIndex,
  type StoreOutcome,
} from '@router/kv-index'
import { SourceMemory } from '../../src/convert/source-memory.js'
import { BatchReader } from '../../src/decode/batch-reader.js'
import type { BatchContext, EventSink } from '../../src/normalised.js'

const reader = new BatchReader()

/** Events one by one, each in one go, with a count per block, and no bound on anything. Rank `n` is rank `10 + n` of the index. */
export class PlainModel implements EventSink {
  readonly index = new PrefixIndex({ blockSize: 4 })
  readonly memory = new SourceMemory()
  readonly ids = new Map<number, number>()
  readonly drops = new Map<string, number>()
  readonly #counts = new Map<string, number>()
  readonly #lowerCut: number
  readonly #context: BatchContext = {
    blockSize: 4,
    socketRank: 0,
    memory: this.memory,
    holds: (dpRank, tier, low, high) => this.index.holds(10 + dpRank, tier, low, high),
  }

  /** @param lowerCut blocks of a store that a lower tier is given at a time: it ignores the rest of a run that disagrees with it */
  constructor(lowerCut = 2048) {
    this.#lowerCut = lowerCut
  }

  take(payload: Uint8Array): void {
    reader.read(payload, this.#context, this)
  }

  stored(...[dpRank, tier, run]: Parameters<EventSink['stored']>): void {
    this.#count(dpRank)
    const held = hashesOf(run.engine, run.count).map((hash) => this.#holds(dpRank, tier, hash))
    const outcome = this.#store(dpRank, tier, run)
    if (outcome !== 'ok' && outcome !== 'duplicate_store') {
      this.memory.storeRefused()
      return
    }
    for (const [index, hash] of hashesOf(run.engine, run.count).entries()) {
      const key = `${dpRank} ${tier} ${hash}`
      if (held[index]!) this.#counts.set(key, (this.#counts.get(key) ?? 1) + 1)
    }
  }

  removed(dpRank: number, tier: number, engine: HashWords, count: number): void {
    this.#count(dpRank)
    for (let index = 0; index < count; index++) {
      const key = `${dpRank} ${tier} ${hashOf(engine[2 * index]!, engine[2 * index + 1]!)}`
      const references = this.#counts.get(key) ?? 1
      this.#counts.set(key, references - 1)
      if (references > 1) continue
      this.#counts.delete(key)
      this.index.remove(10 + dpRank, tier, engine, index, 1)
    }
  }

  cleared(dpRank: number): void {
    this.#count(dpRank)
    this.index.removeRank(10 + dpRank)
    for (const key of this.#counts.keys()) if (key.startsWith(`${dpRank} `)) this.#counts.delete(key)
  }

  dropped(...[dpRank, , reason, consumesEventId]: Parameters<EventSink['dropped']>): void {
    this.drops.set(reason, (this.drops.get(reason) ?? 0) + 1)
    if (consumesEventId) this.#count(dpRank)
  }

  #store(dpRank: number, tier: number, run: BlockRun): StoreOutcome {
    if (tier === DEVICE || run.count <= this.#lowerCut) return this.index.store(10 + dpRank, tier, run)
    for (let start = 0; start < run.count; start += this.#lowerCut) {
      this.index.store(10 + dpRank, tier, {
        ...run,
        start,
        count: Math.min(run.count - start, this.#lowerCut),
        hasParent: start > 0 || run.hasParent,
        parentLow: start > 0 ? run.engine[2 * start - 2]! : run.parentLow,
        parentHigh: start > 0 ? run.engine[2 * start - 1]! : run.parentHigh,
      })
    }
    return 'ok'
  }

  #count(dpRank: number): void {
    this.ids.set(dpRank, (this.ids.get(dpRank) ?? 0) + 1)
  }

  #holds(dpRank: number, tier: number, hash: bigint): boolean {
    return this.index.holds(10 + dpRank, tier, Number(hash & 0xffff_ffffn), Number(hash >> 32n))
  }
}
