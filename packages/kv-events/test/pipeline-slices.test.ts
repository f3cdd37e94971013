import { BlockHasher, hashOf, PrefixIndex } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SourceMemory } from '../src/convert/source-memory.js'
import { BatchReader } from '../src/decode/batch-reader.js'
import { BatchApplier } from '../src/pipeline/batch-applier.js'
import { RankStates } from '../src/pipeline/rank-states.js'
import type { Value } from './support/encode.js'
import { batch, cleared, removed, stored } from './support/events.js'
import { liveFrames } from './support/machine-log.js'
import { PlainModel } from './support/plain-model.js'
import { store, TestWorker } from './support/worker.js'

/** Blocks of one call of the index. */
const SLICE = 2048
const hashes = Array.from({ length: 9000 }, (_, index) => index + 1)

const tokens = hashes.flatMap((hash) => [hash, 1, 2, 3])
/** One object for every third block. */
const objects = hashes.map((hash) => {
  return hash % 3 > 0 ? null : [`${hash.toString(16).padStart(16, '0')}${'0'.repeat(48)}`]
})

class CountingHasher extends BlockHasher {
  blocks = 0
  override hashLocal(...call: Parameters<BlockHasher['hashLocal']>): void {
    super.hashLocal(...call)
    this.blocks += call[2].count
  }
}

class CountingIndex extends PrefixIndex {
  blocks = 0
  override store(...call: Parameters<PrefixIndex['store']>): ReturnType<PrefixIndex['store']> {
    this.blocks += call[2].count
    return super.store(...call)
  }
  override remove(...call: Parameters<PrefixIndex['remove']>): ReturnType<PrefixIndex['remove']> {
    this.blocks += call[4]
    return super.remove(...call)
  }
}

const salted = (salt: string, list: readonly number[], parent: number | null = null, medium = 'GPU') =>
  stored({ hashes: list, parent, salt, medium, tokens: list.flatMap((hash) => [hash, 1, 2, 3]) })

function counting(): {
  readonly one: TestWorker
  readonly index: CountingIndex
  readonly hasher: CountingHasher
} {
  const hasher = new CountingHasher()
  const index = new CountingIndex({ blockSize: 4 })
  return { one: new TestWorker({ index, reader: new BatchReader({ hasher }) }), index, hasher }
}

describe('a turn stores, removes and hashes no more than a slice', () => {
  it.each<[string, readonly Value[], readonly number[]]>([
    ['a store', [store(hashes)], hashes],
    ['a store with a salt', [salted('s', hashes)], hashes],
    ['a store that inherits its salt', [salted('s', [90_000]), store(hashes, 90_000)], hashes],
    ['a store without a salt where others have one', [salted('s', [90_000]), store(hashes)], hashes],
    ['a store in front of a salted one', [store(hashes), salted('s', [90_000])], hashes],
    ['a store that continues others', [store([90_000]), store(hashes, 90_000)], hashes],
    ['a removal behind it', [salted('s', hashes), removed(hashes.slice(100))], hashes.slice(0, 100)],
    ['a store with objects', [stored({ hashes, tokens, extraKeys: objects })], hashes],
    ['a store of pairs', [stored({ hashes, tokens: tokens.map((token) => [token, token + 1]) })], hashes],
    ['many events', hashes.map((hash) => store([hash], hash === 1 ? null : hash - 1)), hashes],
  ])('%s', (_, events, expected) => {
    const { one, index, hasher } = counting()
    one.feed.sequence.live(liveFrames(0, batch(events)), 0)
    let steps = 0
    let isLeft = true
    while (isLeft) {
      const [indexed, hashed, size] = [index.blocks, hasher.blocks, index.sizeOf(10)]
      isLeft = one.feed.step(1, 0)
      steps++
      expect(index.blocks - indexed).toBeLessThanOrEqual(SLICE + 1)
      expect(hasher.blocks - hashed).toBeLessThanOrEqual(SLICE + 1)
      const held = one.held(hashes)
      if (index.sizeOf(10) >= size) expect(held).toEqual(hashes.slice(0, held.length))
    }
    expect(steps).toBeGreaterThanOrEqual(5)
    expect(one.held(hashes)).toEqual(expected)
    // Blocks hash the same, whatever slice they are in.
    const plain = new PlainModel()
    plain.take(batch(events))
    expect(blocksOf(index)).toEqual(blocksOf(plain.index))
  })

  it('a store that is refused is not hashed', () => {
    const { one, hasher } = counting()
    one.send([store([1]), store(hashes, 99_000)])
    expect(hasher.blocks).toBeLessThanOrEqual(SLICE + 1)
    expect(one.worker.counters.stored).toMatchObject({ ok: 1, parent_not_found: 1 })
  })
})

describe('salts of a store in many steps', () => {
  it('are learned when it is in', () => {
    const one = new TestWorker().send([salted('s', hashes), store([30_000], hashes.length)])
    const plain = new PlainModel()
    plain.take(batch([salted('s', hashes), salted('s', [30_000], hashes.length)]))
    expect(blocksOf(one.index as PrefixIndex)).toEqual(blocksOf(plain.index))
    expect(one.send([store([1])]).send([store([40_000], 1)]).worker.counters.dropped).toEqual({
      ambiguous_cache_namespace: 1,
    })
  })

  it('of a block that the event before has removed are not inherited', () => {
    const events = [salted('s', [1, 2]), removed([1]), store([3], 1, 'CPU'), store([4], 2, 'CPU')]
    const one = new TestWorker().send(events)
    const plain = new PlainModel()
    plain.take(batch(events))
    expect(blocksOf(one.index as PrefixIndex)).toEqual(blocksOf(plain.index))
    expect(one.held([3, 4], 0, 1)).toEqual([3, 4])
  })

  it('are learned of the blocks that are in when the index is full', () => {
    const one = new TestWorker({ index: new PrefixIndex({ blockSize: 4, maxBlocks: 5000 }) })
    one.send([salted('s', hashes)])
    expect(one.worker.counters.stored).toMatchObject({ ok: 0, capacity: 1 })
    expect(one.held(hashes)).toEqual(hashes.slice(0, 2 * SLICE))
    // A hash that has a salt and is stored without one is ambiguous.
    one.send([store([2 * SLICE + 1]), store([60_000], 2 * SLICE + 1)])
    expect(one.worker.counters.dropped).toEqual({})
    one.send([store([2 * SLICE]), store([60_001], 2 * SLICE)])
    expect(one.worker.counters.dropped).toEqual({ ambiguous_cache_namespace: 1 })
  })

  it.each([
    ['dropped', 'rebuilding', (one: TestWorker) => one.worker.rankDropped(0, 0)],
    ['gone', 'live', (one: TestWorker) => one.worker.removeRank(0)],
  ])('are not learned when the rank is %s meanwhile', (_, state, lose) => {
    const one = new TestWorker()
    one.feed.sequence.live(liveFrames(0, batch([salted('s', hashes)])), 0)
    while (one.index.sizeOf(10) < hashes.length) one.feed.step(1, 0)
    expect(one.held(hashes)).toEqual(hashes)
    one.index.removeRank(10)
    lose(one)
    one.run()
    expect(one.worker.reports).toMatchObject([{ state }])
    one.sendAs(1, [store([1]), store([2], 1)])
    expect(one.worker.counters.dropped).toEqual({})
    expect(one.held([1, 2])).toEqual([1, 2])
  })
})

it('sockets that share a reader may each be in the middle of a batch', () => {
  const one = new TestWorker()
  const feeds = [
    one.feed,
    one.socket({ socketRank: 1, hasReplay: false }),
    one.socket({ socketRank: 2, hasReplay: false }),
  ]
  for (const [dpRank, feed] of feeds.entries()) {
    const list = hashes.slice(dpRank)
    feed.sequence.live(liveFrames(0, batch([salted(`s${dpRank}`, list), store([50_000], 9000)], dpRank)), 0)
  }
  for (let isLeft = true; isLeft;) isLeft = feeds.map((feed) => feed.step(1, 0)).includes(true)
  for (const dpRank of feeds.keys()) {
    const alone = new PlainModel()
    alone.take(batch([salted(`s${dpRank}`, hashes.slice(dpRank)), store([50_000], 9000)], dpRank))
    const mine = blocksOf(one.index as PrefixIndex).filter((line) => line.startsWith(`${10 + dpRank} `))
    expect(mine).toEqual(blocksOf(alone.index))
  }
})

const few = 9
const hash = fc.integer({ min: 1, max: few })
const run = fc.tuple(hash, fc.integer({ min: 1, max: 8 })).map(([first, count]) => {
  return Array.from({ length: count }, (_, index) => ((first + index - 1) % few) + 1)
})
const salt = fc.constantFrom(undefined, undefined, undefined, 's', 't')
const medium = fc.constantFrom('GPU', 'GPU', 'GPU', 'CPU', 'DISK')
const event = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(run, salt, medium, fc.boolean()).map(([list, own, where, isRoot]): Value[] => {
      const before = list[0]! - 1
      const parent = isRoot || before === 0 ? null : before
      return own === undefined ? store(list, parent, where) : salted(own, list, parent, where)
    }),
  },
  { weight: 7, arbitrary: fc.tuple(run, medium).map(([list, where]) => removed(list, { medium: where })) },
  { weight: 1, arbitrary: fc.constant(cleared) },
)
const someBatches = fc.array(
  fc.record({ events: fc.array(event, { maxLength: 10, size: 'max' }), budget: fc.constantFrom(1, 4, 1000) }),
  { maxLength: 10, size: 'max' },
)

it('events in slices leave what they leave in one go, and teach the same salts', () => {
  let inherited = 0
  fc.assert(
    fc.property(someBatches, fc.integer({ min: 1, max: 4 }), (batches, blocksPerCall) => {
      const index = new PrefixIndex({ blockSize: 4 })
      const memory = new SourceMemory()
      const states = new RankStates(index, (dpRank) => 10 + dpRank)
      const applier = new BatchApplier({
        states,
        memory,
        reader: new BatchReader(),
        socketRank: 0,
        blocksPerCall,
      })
      const plain = new PlainModel(blocksPerCall)
      for (const { events, budget } of batches) {
        const payload = batch(events)
        plain.take(payload)
        applier.begin(payload)
        while (applier.hasWork) {
          const spent = applier.apply(budget)
          if (spent >= budget + Math.max(blocksPerCall, 1)) expect.fail(`${spent} blocks of ${budget}`)
        }
      }
      expect(blocksOf(index)).toEqual(blocksOf(plain.index))
      expect(states.counters.dropped).toEqual(Object.fromEntries(plain.drops))
      for (let one = 1; one <= few; one++) {
        expect(memory.saltOf(0, one, 0)).toBe(plain.memory.saltOf(0, one, 0))
        expect(memory.isAmbiguous(0, one, 0)).toBe(plain.memory.isAmbiguous(0, one, 0))
        if (memory.saltOf(0, one, 0) !== undefined) inherited++
      }
    }),
    { seed: 11, numRuns: 600 },
  )
  expect(inherited).toBeGreaterThan(200)
})

/** Every block that an index holds, with what it hangs on, in one order. */
function blocksOf(index: PrefixIndex): string[] {
  const lines = index.dump().events.flatMap(({ rank, tier, hasParent, parent, engine, local }) => {
    return Array.from({ length: engine.length >> 1 }, (_, block) => {
      const [own, content] = [engine, local].map((words) => hashOf(words[2 * block]!, words[2 * block + 1]!))
      const before =
        block > 0 ? hashOf(engine[2 * block - 2]!, engine[2 * block - 1]!) : hasParent ? parent : 'root'
      return `${rank} ${tier} ${before} ${own} ${content}`
    })
  })
  return lines.toSorted()
}
