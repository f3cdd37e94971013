import { TIERS } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Value } from './support/encode.js'
import { batch, cleared, removed } from './support/events.js'
import { liveFrames } from './support/machine-log.js'
import { PlainModel } from './support/plain-model.js'
import { store, TestWorker } from './support/worker.js'

const LARGEST = 12

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
