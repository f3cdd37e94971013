import { type BatchContext, BatchReader, type EventSink, SourceMemory } from '@router/kv-events'
import { BlockHasher, type HashWords, TIERS, hashOf, hashesOf } from '@router/kv-index'
import type { KvEventOutcome, KvEventsPayload } from '../shapes/kv-events.js'
import type { Checks } from './checks.js'

const hasher = new BlockHasher()
const readers = {
  'direct reader': new BatchReader({ hasher }),
  msgpackr: new BatchReader({ hasher, readsDirectly: false }),
}

/** Reads the payload as a source of which nothing is known, directly and through msgpackr, and compares every event. */
export function evaluatePayload(payload: KvEventsPayload, checks: Checks): void {
  for (const [name, reader] of Object.entries(readers))
    checks.within(name, () => evaluateWith(reader, payload, checks))
}

function evaluateWith(reader: BatchReader, payload: KvEventsPayload, checks: Checks): void {
  const { batch, events } = payload
  const record = new EventRecord()
  const context: BatchContext = {
    blockSize: payload.router_block_size,
    socketRank: payload.socket_rank,
    imageToken: payload.image_token,
    memory: record.memory,
    holds: (dpRank, tier, low, high) => record.holds(dpRank, tier, low, high),
  }
  const header = reader.read(bytesOf(payload.payload_hex), context, record)
  checks.equal('is a batch', true, header.isBatch)
  if (!header.isBatch) return
  checks.equal('batch.ts', batch.ts, header.ts)
  checks.equal('batch.dp_rank', batch.dp_rank, header.dpRank)
  checks.equal('events.length', events.length, record.events.length)
  for (const [index, event] of record.events.entries()) {
    const expected = events[index]
    if (expected !== undefined) checks.equal(`events[${index}]`, printed(expected), printed(event))
  }
}

/** In one order of keys. */
function printed(event: KvEventOutcome): string {
  return JSON.stringify(Object.fromEntries(Object.entries(event).toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** Events as the file writes them; applies them to a set of held blocks. */
class EventRecord implements EventSink {
  readonly events: KvEventOutcome[] = []
  readonly memory = new SourceMemory()
  readonly #held = new Map<number, Set<string>>()

  stored(...[dpRank, tier, run, details]: Parameters<EventSink['stored']>): void {
    const engine = hashesOf(run.engine.subarray(2 * run.start), run.count)
    const local = hashesOf(run.local.subarray(2 * run.start), run.count)
    for (const hash of engine) this.#heldBy(dpRank).add(`${tier}/${hash}`)
    this.events.push({
      outcome: 'applied',
      type: 'stored',
      dp_rank: dpRank,
      tier: TIERS[tier]!,
      parent_hash: run.hasParent ? String(hashOf(run.parentLow, run.parentHigh)) : null,
      eagle: details.isEagle,
      blocks: engine.map((hash, index) => ({
        block_hash: String(hash),
        tokens_hash: String(local[index]),
      })),
      ...(details.hasShortTokens ? { issues: ['tokens_short'] } : {}),
    })
  }

  removed(dpRank: number, tier: number, engine: HashWords, count: number): void {
    const hashes = hashesOf(engine, count)
    for (const hash of hashes) this.#heldBy(dpRank).delete(`${tier}/${hash}`)
    this.events.push({
      outcome: 'applied',
      type: 'removed',
      dp_rank: dpRank,
      tier: TIERS[tier]!,
      block_hashes: hashes.map(String),
    })
  }

  cleared(dpRank: number): void {
    this.#held.delete(dpRank)
    this.events.push({ outcome: 'applied', type: 'cleared', dp_rank: dpRank })
  }

  dropped(...[, outcome, reason]: Parameters<EventSink['dropped']>): void {
    this.events.push({ outcome, reason })
  }

  holds(dpRank: number, tier: number, low: number, high: number): boolean {
    return this.#held.get(dpRank)?.has(`${tier}/${hashOf(low, high)}`) ?? false
  }

  #heldBy(dpRank: number): Set<string> {
    const held = this.#held.get(dpRank) ?? new Set()
    this.#held.set(dpRank, held)
    return held
  }
}

/** Whether the bytes are a batch, whatever its events. */
export function isBatch(payload: Uint8Array): boolean {
  const record = new EventRecord()
  const context: BatchContext = { blockSize: 1, socketRank: 0, memory: record.memory, holds: () => false }
  return readers['direct reader'].read(payload, context, record).isBatch
}

/** Bytes of hexadecimal text. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}
