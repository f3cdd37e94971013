import { describe, expect, test } from 'vitest'
import {
  KvIndexError,
  LifetimeRetention,
  LruRetention,
  PrefixState,
  type StoreOutcome,
  hashWords,
  highOf,
  lowOf,
  PrefixIndex,
} from '../src/index.js'
import { blocksOf } from './support/approximate-models.js'
import { MatchTable } from './support/match-table.js'
import { namesOf } from './support/runs.js'

const newIndex = (): PrefixIndex => new PrefixIndex({ blockSize: 16 })

/** Device blocks of a rank. */
function match(retention: LifetimeRetention, rank: number, path: readonly bigint[], nowMs: number): number {
  const table = new MatchTable(8)
  retention.lookup(hashWords(path), path.length, nowMs, table)
  return table.at(rank)[0]
}

/** A path that shares no block with those of other numbers. */
function ownPath(number: number, length: number): bigint[] {
  return Array.from({ length }, (_, at) => BigInt(1000 * number + at + 1))
}

describe('I4: blocks live for their lifetime', () => {
  test('of 120 s by default, up to the next full 100 ms', () => {
    const retention = new LifetimeRetention(newIndex())
    retention.insert(0, blocksOf([1n]), 1)
    retention.insert(1, blocksOf([1n]), 100)
    expect(match(retention, 0, [1n], 120_099.9)).toBe(1)
    expect(match(retention, 1, [1n], 120_099.9)).toBe(1)
    expect(match(retention, 0, [1n], 120_100)).toBe(0)
    expect(match(retention, 1, [1n], 120_100)).toBe(0)
  })

  test('and anew when they are inserted again, those alone', () => {
    const index = newIndex()
    const retention = new LifetimeRetention(index, { ttlMs: 1000 })
    retention.insert(0, blocksOf([1n, 2n, 3n]), 0)
    retention.insert(0, blocksOf([1n, 2n]), 700)
    expect(match(retention, 0, [1n, 2n, 3n], 999)).toBe(3)
    expect(match(retention, 0, [1n, 2n, 3n], 1000)).toBe(2)
    expect([index.currentSize, retention.size]).toEqual([2, 2])
    expect(match(retention, 0, [1n, 2n, 3n], 1700)).toBe(0)
    expect([index.currentSize, retention.size, retention.entriesInUse]).toEqual([0, 0, 0])
  })

  test('a budget ends an expiry early; an answer never waits for it', () => {
    const index = newIndex()
    const retention = new LifetimeRetention(index, { ttlMs: 1000 })
    retention.insert(0, blocksOf(ownPath(1, 5)), 0)
    retention.insert(1, blocksOf(ownPath(2, 5)), 500)
    expect(retention.expire(2000, 3)).toBe(false)
    expect([retention.sizeOf(0), retention.sizeOf(1)]).toEqual([2, 5])
    // The deepest went first, so that no hole is left.
    const table = new MatchTable(2)
    index.lookup(hashWords(ownPath(1, 5)), 5, table)
    expect(table.at(0)[0]).toBe(2)
    expect(retention.expire(2000, 0)).toBe(false)
    expect(match(retention, 0, ownPath(1, 5), 2000)).toBe(0)
    expect(retention.size).toBe(0)
    expect(retention.expire(2000, 0)).toBe(true)
  })

  test('a clock that jumps backwards neither revives nor keeps anything longer', () => {
    const retention = new LifetimeRetention(newIndex(), { ttlMs: 1000 })
    retention.insert(0, blocksOf([1n]), 10_000)
    retention.insert(0, blocksOf([2n]), 3000)
    expect(match(retention, 0, [1n], 3000)).toBe(1)
    expect(match(retention, 0, [2n], 10_999)).toBe(1)
    expect(match(retention, 0, [2n], 11_000)).toBe(0)
    expect(match(retention, 0, [1n], 500)).toBe(0)
    retention.insert(0, blocksOf([3n]), Number.NaN)
    expect(match(retention, 0, [3n], 11_999)).toBe(1)
    expect(match(retention, 0, [3n], 12_000)).toBe(0)
    expect(retention.entriesInUse).toBe(0)
  })

  test('a clock that is not a number from the start retains nothing for ever', () => {
    const retention = new LifetimeRetention(newIndex(), { ttlMs: 1000 })
    retention.insert(0, blocksOf([1n, 2n]), Number.NaN)
    retention.insert(0, blocksOf([1n]), 0)
    expect(match(retention, 0, [1n, 2n], 1000)).toBe(0)
    expect(retention.entriesInUse).toBe(0)
  })
})

describe('I4: beyond the bound blocks go', () => {
  test('down to 80 % of it, earliest expiry first', () => {
    const retention = new LifetimeRetention(newIndex(), { ttlMs: 1000, maxBlocks: 20 })
    for (let at = 0; at < 5; at++) retention.insert(at, blocksOf(ownPath(at, 4)), 200 * at)
    expect(retention.size).toBe(20)
    retention.insert(5, blocksOf(ownPath(5, 1)), 900)
    expect(retention.size).toBe(16)
    expect([0, 1, 2, 3, 4, 5].map((rank) => retention.sizeOf(rank))).toEqual([0, 3, 4, 4, 4, 1])
    expect(match(retention, 1, ownPath(1, 4), 900)).toBe(3)
  })

  test('of one expiry the deepest first, so that what stays can match', () => {
    const retention = new LifetimeRetention(newIndex(), { maxBlocks: 20, pruneTargetRatio: 0.5 })
    retention.insert(0, blocksOf(ownPath(0, 3)), 20)
    retention.insert(1, blocksOf(ownPath(1, 10)), 100)
    retention.insert(2, blocksOf(ownPath(2, 7)), 10)
    expect(retention.size).toBe(20)
    retention.insert(3, blocksOf(ownPath(3, 1)), 101)
    const sizes = [0, 1, 2, 3].map((rank) => retention.sizeOf(rank))
    expect(sizes).toEqual([3, 3, 3, 1])
    expect([0, 1, 2, 3].map((rank) => match(retention, rank, ownPath(rank, 10), 101))).toEqual(sizes)
  })

  test('of one depth by key as an unsigned number, then rank', () => {
    const names = [1n, 0xffff_ffffn, 1n << 32n, (1n << 32n) + 0xffff_fffen, 1n << 63n]
    const ranks = [2, 0]
    const expected = names.flatMap((name) => ranks.toReversed().map((rank) => `${rank} ${name}`))
    for (let target = 9; target >= 2; target--) {
      const index = newIndex()
      const retention = new LifetimeRetention(index, {
        maxBlocks: 10,
        pruneTargetRatio: (target + 0.5) / 10,
      })
      for (const rank of ranks) {
        for (const name of names.toReversed()) {
          retention.insert(rank, { local: hashWords([name]), sequence: hashWords([name]), count: 1 }, 50)
        }
      }
      retention.insert(7, blocksOf([1n]), 1000)
      const held = names.flatMap((name) =>
        ranks
          .toReversed()
          .filter((rank) => index.holds(rank, 0, lowOf(name), highOf(name)))
          .map((rank) => `${rank} ${name}`),
      )
      // The block that was one too many stays.
      expect(held).toEqual(expected.slice(1 - target))
    }
  })

  test('many of them over several insertions, each in time', () => {
    const retention = new LifetimeRetention(newIndex(), { maxBlocks: 20_000 })
    for (let at = 0; at < 20; at++) retention.insert(0, blocksOf(ownPath(at, 1000)), 10 * at)
    const sizes = [20, 21, 22, 23].map((at) => {
      retention.insert(1, blocksOf(ownPath(at, 1)), 5000)
      return retention.size
    })
    expect(sizes).toEqual([20_001 - 2048, 16_000, 16_001, 16_002])
    // A prompt brings no more than goes for it.
    for (let at = 24; at < 28; at++) retention.insert(2, blocksOf(ownPath(at, 1000)), 6000)
    expect(retention.size).toBe(20_002 - 4000)
  })

  test('one prompt longer than the bound keeps its beginning', () => {
    const retention = new LifetimeRetention(newIndex(), { maxBlocks: 10 })
    retention.insert(0, blocksOf(ownPath(0, 100)), 0)
    expect(match(retention, 0, ownPath(0, 100), 0)).toBe(8)
    expect([retention.size, retention.entriesInUse]).toEqual([8, 8])
  })

  test('memory stays within the bound and one prompt, or twice as much while removed ranks are forgotten', () => {
    const maxBlocks = 1000
    const retention = new LifetimeRetention(newIndex(), { maxBlocks })
    for (let at = 0; at < 3000; at++) {
      if (at % 90 === 89) retention.removeRank(at % 3)
      retention.insert(at % 3, blocksOf(ownPath(at, 10)), 7 * at)
      expect(retention.size).toBeLessThanOrEqual(maxBlocks)
      expect(retention.entriesInUse).toBeLessThanOrEqual(2 * maxBlocks)
    }
    expect(retention.size).toBeGreaterThan(100)
  })
})

describe('ranks that leave', () => {
  test('take their blocks along; another rank under the same number starts empty', () => {
    const index = newIndex()
    const retention = new LifetimeRetention(index, { ttlMs: 1000 })
    const path = ownPath(1, 20)
    retention.insert(0, blocksOf(path), 0)
    retention.insert(1, blocksOf(path), 0)
    retention.removeRank(0)
    expect([index.sizeOf(0), retention.sizeOf(0), retention.size]).toEqual([0, 0, 20])
    retention.insert(0, blocksOf(path.slice(0, 5)), 500)
    // When the blocks of the first life would expire, those of the second stay.
    expect(match(retention, 0, path, 1000)).toBe(5)
    expect([index.sizeOf(0), retention.size, retention.entriesInUse]).toEqual([5, 5, 5])
    expect(match(retention, 0, path, 1500)).toBe(0)
    expect(retention.entriesInUse).toBe(0)
  })

  test('are forgotten a little with each insertion, not at once', () => {
    const retention = new LifetimeRetention(newIndex())
    retention.insert(0, blocksOf(ownPath(0, 1000)), 0)
    retention.removeRank(0)
    retention.removeRank(0)
    retention.removeRank(7)
    expect([retention.size, retention.entriesInUse]).toEqual([0, 1000])
    retention.insert(1, blocksOf(ownPath(1, 10)), 0)
    expect(retention.entriesInUse).toBe(990)
    for (let at = 0; at < 60; at++) retention.insert(1, blocksOf(ownPath(1, 10)), 0)
    expect(retention.entriesInUse).toBe(10)
  })
})

class RefusingIndex extends PrefixIndex {
  isFull = false
  override store(...given: Parameters<PrefixIndex['store']>): StoreOutcome {
    return this.isFull ? 'capacity' : super.store(...given)
  }
}

test('what a full index refuses is not retained; what it holds lives on', () => {
  const index = new RefusingIndex({ blockSize: 16 })
  const retention = new LifetimeRetention(index, { ttlMs: 1000 })
  retention.insert(0, blocksOf([1n, 2n]), 0)
  index.isFull = true
  retention.insert(0, blocksOf([1n, 2n, 3n]), 500)
  retention.insert(1, blocksOf([1n]), 500)
  expect([retention.size, retention.sizeOf(0), index.currentSize]).toEqual([2, 2, 2])
  expect(match(retention, 0, [1n, 2n, 3n], 1400)).toBe(2)
  const [name] = namesOf([1n])
  retention.expire(1500)
  expect(index.holds(0, 0, lowOf(name!), highOf(name!))).toBe(false)
})

test.each([-1, 0.5, 32_768, 1e9, Number.NaN])('rank %s is refused, and nothing is noted down', (rank) => {
  const invalid = expect.objectContaining({ code: 'KV_INDEX_RANK_INVALID' })
  const retention = new LifetimeRetention(newIndex())
  expect(() => retention.insert(rank, blocksOf([1n]), 0)).toThrowError(invalid)
  expect(retention.entriesInUse).toBe(0)
  const lru = new LruRetention(retention)
  expect(() => lru.setCapacity(rank, 1, 9)).toThrowError(invalid)
  expect(lru.stats().ranks).toBe(0)
  const state = new PrefixState({ createIndex: newIndex })
  expect(() => state.setRank(rank, { hasEvents: false, incarnation: 1 })).toThrowError(invalid)
  state.removeRank(rank)
})

describe('options out of range', () => {
  test.each([
    [{ ttlMs: 0 }, 'ttlMs'],
    [{ ttlMs: Infinity }, 'ttlMs'],
    [{ ttlMs: Number.NaN }, 'ttlMs'],
    [{ maxBlocks: 0 }, 'maxBlocks'],
    [{ maxBlocks: 1.5 }, 'maxBlocks'],
    [{ maxBlocks: 2 ** 31 }, 'maxBlocks'],
    [{ pruneTargetRatio: -0.1 }, 'pruneTargetRatio'],
    [{ pruneTargetRatio: 1.1 }, 'pruneTargetRatio'],
    [{ pruneTargetRatio: Number.NaN }, 'pruneTargetRatio'],
  ])('%j', (options, option) => {
    const attempt = (): unknown => new LifetimeRetention(newIndex(), options)
    expect(attempt).toThrowError(expect.objectContaining({ code: 'KV_INDEX_OPTION_INVALID' }))
    try {
      attempt()
    } catch (error) {
      expect(KvIndexError.isInstance(error) && error.details).toMatchObject({ option })
    }
  })
})
