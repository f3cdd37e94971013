import { hashOf, hashesOf, type HashWords, TIERS, PrefixIndex } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SourceMemory } from '../src/convert/source-memory.js'
import { BatchReader } from '../src/decode/batch-reader.js'
import type { BatchContext, EventSink } from '../src/normalised.js'
import type { Value } from './support/encode.js'
import { batch, cleared, removed } from './support/events.js'
import { liveFrames } from './support/machine-log.js'
import { store, TestWorker } from './support/worker.js'

const reader = new BatchReader()
const LARGEST = 12

/** The same events one by one, with a count per block, and no bound on anything. */
class PlainModel implements EventSink {
  readonly index = new PrefixIndex({ blockSize: 4 })
  readonly memory = new SourceMemory()
  readonly ids = new Map<number, number>()
  readonly #counts = new Map<string, number>()
  readonly #context: BatchContext = {
    blockSize: 4,
    socketRank: 0,
    memory: this.memory,
    holds: (dpRank, tier, low, high) => this.index.holds(10 + dpRank, tier, low, high),
  }

  take(payload: Uint8Array): void {
    reader.read(payload, this.#context, this)
  }

  stored(...[dpRank, tier, run]: Parameters<EventSink['stored']>): void {
    this.#count(dpRank)
    const held = hashesOf(run.engine, run.count).map((hash) => this.#holds(dpRank, tier, hash))
    const outcome = this.index.store(10 + dpRank, tier, run)
    if (outcome !== 'ok' && outcome !== 'duplicate_store') return
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

  dropped(...[dpRank, , , consumesEventId]: Parameters<EventSink['dropped']>): void {
    if (consumesEventId) this.#count(dpRank)
  }

  #count(dpRank: number): void {
    this.ids.set(dpRank, (this.ids.get(dpRank) ?? 0) + 1)
  }

  #holds(dpRank: number, tier: number, hash: bigint): boolean {
    return this.index.holds(10 + dpRank, tier, Number(hash & 0xffff_ffffn), Number(hash >> 32n))
  }
}

const hash = fc.integer({ min: 1, max: LARGEST })
const medium = fc.constantFrom('GPU', 'GPU', 'GPU', 'CPU', 'DISK')
/** Blocks that follow one another, as engines announce them; and any others. */
const hashes = fc.oneof(
  fc
    .tuple(hash, fc.integer({ min: 0, max: 5 }))
    .map(([first, count]) =>
      Array.from({ length: count }, (_, index) => ((first + index - 1) % LARGEST) + 1),
    ),
  fc.array(hash, { maxLength: 4 }),
)
const event = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(hashes, fc.boolean(), medium).map(([list, isRoot, where]): Value[] => {
      const before = (list[0] ?? 1) - 1
      return store(list, isRoot || before === 0 ? null : before, where)
    }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(hashes, hash, medium).map(([list, parent, where]) => store(list, parent, where)),
  },
  { weight: 8, arbitrary: fc.tuple(hashes, medium).map(([list, where]) => removed(list, { medium: where })) },
  { weight: 1, arbitrary: fc.constant(cleared) },
)
const someBatches = fc.array(
  fc.record({
    events: fc.array(event, { maxLength: 12, size: 'max' }),
    dpRank: fc.integer({ min: 0, max: 1 }),
    budget: fc.constantFrom(1, 2, 3, 7, 1000),
  }),
  { maxLength: 12, size: 'max' },
)

const everyHash = Array.from({ length: LARGEST }, (_, index) => index + 1)

describe('the pipeline', () => {
  it('leaves what its events leave one by one, however small the steps', () => {
    let removals = 0
    fc.assert(
      fc.property(someBatches, (batches) => {
        const one = new TestWorker()
        const model = new PlainModel()
        for (const [sequence, { events, dpRank, budget }] of batches.entries()) {
          const payload = batch(events, dpRank)
          model.take(payload)
          one.feed.sequence.live(liveFrames(sequence, payload), 0)
          while (one.feed.step(budget, 0));
        }
        for (const dpRank of [0, 1]) {
          expect(one.worker.nextEventId(dpRank)).toBe(model.ids.get(dpRank) ?? 0)
          expect(one.index.sizeOf(10 + dpRank)).toBe(model.index.sizeOf(10 + dpRank))
          for (const tier of TIERS.keys()) {
            const expected = everyHash.filter((one) => model.index.holds(10 + dpRank, tier, one, 0))
            expect(one.held(everyHash, dpRank, tier)).toEqual(expected)
          }
        }
        removals += one.worker.counters.deduplicatedBlocks
      }),
      { seed: 7, numRuns: 400 },
    )
    expect(removals).toBeGreaterThan(200)
  })
})
