import { type Tier, TIERS, hashOf, hashesOf } from '@router/kv-index'
import { SourceMemory } from '../../src/convert/source-memory.js'
import type { BatchReader } from '../../src/decode/batch-reader.js'
import type { BatchContext, BatchHeader, EventSink } from '../../src/normalised.js'

/** What a sink was handed, as plain values. */
export type Recorded =
  | {
      readonly type: 'stored'
      readonly dpRank: number
      readonly tier: Tier
      readonly parent: bigint | undefined
      readonly engine: readonly bigint[]
      readonly local: readonly bigint[]
      readonly isEagle: boolean
      readonly salt: string | undefined
      readonly sessionId: string | undefined
      readonly flags: readonly string[]
    }
  | {
      readonly type: 'removed'
      readonly dpRank: number
      readonly tier: Tier
      readonly engine: readonly bigint[]
    }
  | { readonly type: 'cleared'; readonly dpRank: number }
  | {
      readonly type: 'dropped'
      readonly dpRank: number
      readonly outcome: string
      readonly reason: string
      readonly takesId: boolean
    }

/** A source that applies what it reads: it remembers which rank holds what, and refuses what it is told to refuse. */
export class Source {
  readonly memory = new SourceMemory()
  readonly context: BatchContext
  readonly held = new Set<string>()
  /** Engine hashes as parents or blocks of which a store is refused. */
  readonly refused = new Set<bigint>()
  readonly #reader: BatchReader

  constructor(reader: BatchReader, context: Partial<BatchContext> = {}) {
    this.#reader = reader
    this.context = {
      blockSize: 4,
      socketRank: 0,
      memory: this.memory,
      holds: (dpRank, tier, low, high) => this.held.has(key(dpRank, tier, hashOf(low, high))),
      ...context,
    }
  }

  /** Reads a payload; undefined = it is no batch. */
  read(payload: Uint8Array): { readonly header: BatchHeader; readonly events: Recorded[] } | undefined {
    const events: Recorded[] = []
    const header = this.#reader.read(payload, this.context, this.#sink(events))
    if (header.isBatch) return { header: { ...header }, events }
    if (events.length > 0) throw new Error('events of a payload that is no batch')
    return undefined
  }

  #sink(events: Recorded[]): EventSink {
    return {
      stored: (dpRank, tier, run, details) => {
        const engine = hashesOf(run.engine, run.start + run.count).slice(run.start)
        const parent = run.hasParent ? hashOf(run.parentLow, run.parentHigh) : undefined
        events.push({
          type: 'stored',
          dpRank,
          tier: TIERS[tier]!,
          parent,
          engine,
          local: hashesOf(run.local, run.start + run.count).slice(run.start),
          isEagle: details.isEagle,
          salt: details.salt,
          sessionId: details.sessionId,
          flags: [
            ...(details.hasShortTokens ? ['tokens_short'] : []),
            ...(details.contradictsLayout ? ['contradicts_layout'] : []),
            ...(details.mustApplyNow ? ['must_apply_now'] : []),
          ],
        })
        if ([...engine, parent].some((hash) => hash !== undefined && this.refused.has(hash)))
          this.memory.storeRefused()
        else for (const hash of engine) this.held.add(key(dpRank, tier, hash))
      },
      removed: (dpRank, tier, engine, count) => {
        const hashes = hashesOf(engine, count)
        events.push({ type: 'removed', dpRank, tier: TIERS[tier]!, engine: hashes })
        for (const hash of hashes) this.held.delete(key(dpRank, tier, hash))
      },
      cleared: (dpRank) => {
        events.push({ type: 'cleared', dpRank })
        for (const held of this.held) if (held.startsWith(`${dpRank}/`)) this.held.delete(held)
      },
      dropped: (dpRank, outcome, reason, takesId) => {
        events.push({ type: 'dropped', dpRank, outcome, reason, takesId })
      },
    }
  }
}

function key(dpRank: number, tier: number, hash: bigint): string {
  return `${dpRank}/${tier}/${hash}`
}
