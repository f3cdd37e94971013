import { describe, expect, test } from 'vitest'
import {
  KvIndexError,
  LifetimeRetention,
  LruRetention,
  hashWords,
  hashesOf,
  PrefixIndex,
} from '../src/index.js'
import { blocksOf } from './support/approximate-models.js'
import { MatchTable } from './support/match-table.js'
import { namesOf } from './support/runs.js'

type Path = readonly bigint[]

/** Incarnation 1, no time, and what left the index in words. */
class Bench {
  readonly index = new PrefixIndex({ blockSize: 16 })
  readonly lifetime = new LifetimeRetention(this.index, { ttlMs: 1000 })
  readonly lru = new LruRetention(this.lifetime)
  readonly #paths = new Map<bigint, string>()

  acquire(rank: number, attempt: number, path: Path, privateBlocks = 0, nowMs = 0): string {
    this.#learn(path)
    return this.lru.acquire(rank, 1, attempt, blocksOf(path), privateBlocks, nowMs)
  }
  materialize(rank: number, attempt: number, path: Path, from: number, privateBlocks = 0): void {
    this.#learn(path)
    this.lru.materialize(rank, attempt, blocksOf(path), from, privateBlocks)
  }
  match(rank: number, path: Path, nowMs = 0): number {
    const table = new MatchTable(8)
    this.lifetime.lookup(hashWords(path), path.length, nowMs, table)
    return table.at(rank)[0]
  }
  /** Of the last call. */
  get evicted(): string[] {
    return hashesOf(this.lru.evicted, this.lru.evictedCount).map((name) => this.#paths.get(name) ?? 'unknown')
  }
  #learn(path: Path): void {
    for (const [at, name] of namesOf(path).entries()) this.#paths.set(name, path.slice(0, at + 1).join('.'))
  }
}

function withCapacity(capacity: number): Bench {
  const bench = new Bench()
  bench.lru.setCapacity(0, 1, capacity)
  return bench
}

const long = (first: bigint, length: number): bigint[] =>
  Array.from({ length }, (_, at) => first * 100_000n + BigInt(at))

describe('I4: LRU retention keeps what the capacity allows', () => {
  test('released longest ago goes first, of one release the deepest, however it was acquired', () => {
    const bench = withCapacity(6)
    bench.acquire(0, 1, [1n, 2n, 3n])
    bench.acquire(0, 2, [4n, 5n, 6n])
    bench.lru.release(0, 2)
    bench.lru.release(0, 1)
    bench.acquire(0, 3, [7n, 8n, 9n, 10n])
    expect(bench.evicted).toEqual(['4.5.6', '4.5', '4', '1.2.3'])
    expect([bench.match(0, [4n, 5n, 6n]), bench.match(0, [1n, 2n, 3n])]).toEqual([0, 2])
    expect(bench.index.sizeOf(0)).toBe(6)
  })

  test('what is referred to stays beyond any capacity, and leaves with its release', () => {
    const bench = withCapacity(2)
    bench.acquire(0, 1, [1n, 2n, 3n], 2)
    expect(bench.evicted).toEqual([])
    expect(bench.lru.stats()).toMatchObject({ resident: 5, active: 5, private: 2, overCapacity: 3 })
    bench.lru.release(0, 1)
    expect(bench.evicted).toEqual(['1.2.3'])
    expect(bench.lru.stats()).toMatchObject({ resident: 2, active: 0, inactive: 2, overCapacity: 0 })
  })

  test('private blocks push cached ones out, those of output too', () => {
    const bench = withCapacity(4)
    bench.acquire(0, 1, [1n, 2n, 3n])
    bench.lru.release(0, 1)
    bench.acquire(0, 2, [4n], 1)
    expect(bench.evicted).toEqual(['1.2.3'])
    bench.materialize(0, 2, [4n], 1, 2)
    expect(bench.evicted).toEqual(['1.2'])
    bench.materialize(0, 2, [4n, 5n], 1, 0)
    expect(bench.evicted).toEqual([])
    expect(bench.match(0, [4n, 5n])).toBe(2)
  })

  test('a block leaves the index with its last copy only', () => {
    const bench = withCapacity(3)
    bench.acquire(0, 1, [1n])
    bench.acquire(0, 2, [1n])
    bench.materialize(0, 1, [1n, 2n], 1)
    bench.materialize(0, 2, [1n, 2n], 1)
    bench.lru.release(0, 1)
    bench.lru.setCapacity(0, 1, 2)
    expect([bench.evicted, bench.lru.stats().evictedTotal, bench.match(0, [1n, 2n])]).toEqual([[], 1, 2])
    bench.lru.release(0, 2)
    bench.lru.setCapacity(0, 1, 1)
    expect([bench.evicted, bench.lru.stats().evictedTotal, bench.match(0, [1n, 2n])]).toEqual([['1.2'], 2, 1])
  })

  test('from the first miss on every block is new, resident or not', () => {
    const bench = withCapacity(10)
    bench.acquire(0, 1, [1n])
    bench.materialize(0, 1, [1n, 2n], 1)
    bench.acquire(0, 2, [1n])
    bench.materialize(0, 2, [1n, 2n], 1)
    bench.lru.release(0, 1)
    // The first copy of 1.2 and nothing else is evicted; then 1.2 is resident, as its second copy.
    bench.lru.setCapacity(0, 1, 2)
    bench.lru.setCapacity(0, 1, 10)
    bench.acquire(0, 3, [1n, 2n, 3n])
    expect(bench.lru.stats().resident).toBe(3)
    bench.acquire(0, 4, [1n, 9n, 3n])
    expect(bench.lru.stats().resident).toBe(5)
  })

  test('less capacity evicts at once; another incarnation forgets without evicting', () => {
    const bench = withCapacity(9)
    bench.acquire(0, 1, [1n, 2n, 3n])
    bench.lru.release(0, 1)
    bench.acquire(0, 2, [1n])
    bench.lru.setCapacity(0, 1, 2)
    expect(bench.evicted).toEqual(['1.2.3'])
    bench.lru.setCapacity(0, 2, 2)
    expect([bench.evicted, bench.index.sizeOf(0), bench.lru.stats().leases]).toEqual([[], 0, 0])
    expect(bench.acquire(0, 3, [1n])).toBe('ignored')
    expect(bench.match(0, [1n])).toBe(0)
    bench.lru.release(0, 2)
    expect(bench.lru.stats()).toMatchObject({ inactive: 0, evictedTotal: 1 })
  })
})

describe('attempts', () => {
  test('a live one is refused and changes nothing; a released one may come again', () => {
    const bench = withCapacity(9)
    bench.lru.setCapacity(1, 1, 9)
    bench.acquire(0, 5, [1n], 1)
    const before = bench.lru.stats()
    expect(() => bench.acquire(0, 5, [2n], 1)).toThrowError(
      expect.objectContaining({ code: 'KV_INDEX_ATTEMPT_DUPLICATE', details: { rank: 0, attempt: 5 } }),
    )
    expect(bench.lru.stats()).toEqual(before)
    expect(bench.match(0, [2n])).toBe(0)
    expect(bench.acquire(1, 5, [2n])).toBe('lru')
    bench.lru.release(0, 5)
    expect(bench.acquire(0, 5, [2n])).toBe('lru')
  })

  test('released twice or never acquired: nothing happens, on any rank', () => {
    const bench = withCapacity(3)
    bench.acquire(0, 1, [1n, 2n])
    bench.acquire(0, 2, [1n])
    bench.lru.release(0, 2)
    bench.lru.release(0, 2)
    bench.lru.release(0, 3)
    bench.lru.release(6, 1)
    bench.materialize(0, 3, [1n, 2n, 3n], 2)
    bench.materialize(6, 1, [1n, 2n, 3n], 2)
    expect(bench.lru.stats()).toMatchObject({ leases: 1, active: 2, inactive: 0 })
  })

  test('numbers that differ beyond 32 bits are different', () => {
    const bench = withCapacity(9)
    bench.acquire(0, 1, [1n])
    bench.acquire(0, 2 ** 32 + 1, [2n])
    bench.acquire(0, Number.MAX_SAFE_INTEGER, [3n])
    bench.lru.release(0, 2 ** 32 + 1)
    expect(bench.lru.stats()).toMatchObject({ leases: 2, active: 2, inactive: 1 })
  })
})

describe('I4: a rank without capacity falls back to lifetime', () => {
  test.each([undefined, 0, Number.NaN])('capacity %s', (capacity) => {
    const bench = new Bench()
    bench.lru.setCapacity(0, 1, capacity)
    expect([bench.lru.modeOf(0), bench.lru.modeOf(1)]).toEqual(['ttl', 'ignored'])
    expect(bench.acquire(0, 1, [1n, 2n], 1, 0)).toBe('ttl')
    expect(bench.acquire(0, 1, [1n], 1, 500)).toBe('ttl')
    bench.materialize(0, 1, [1n, 2n, 3n], 2)
    bench.lru.release(0, 1)
    expect(bench.match(0, [1n, 2n, 3n], 999)).toBe(2)
    expect(bench.match(0, [1n, 2n, 3n], 1000)).toBe(1)
    expect(bench.match(0, [1n, 2n, 3n], 1500)).toBe(0)
    expect(bench.lru.stats()).toMatchObject({ ranks: 0, fallbackRanks: 1, fallbackActivations: 1, leases: 0 })
  })

  test('until its next incarnation or a reset', () => {
    const bench = withCapacity(9)
    bench.acquire(0, 1, [1n])
    bench.lru.setCapacity(0, 1, 0)
    expect([bench.lru.modeOf(0), bench.match(0, [1n])]).toEqual(['ttl', 0])
    bench.lru.setCapacity(0, 1, 9)
    bench.lru.setCapacity(0, 1, undefined)
    expect(bench.lru.stats()).toMatchObject({ fallbackRanks: 1, fallbackActivations: 1 })
    bench.acquire(0, 2, [2n])
    bench.lru.setCapacity(0, 2, 9)
    expect([bench.lru.modeOf(0), bench.match(0, [2n])]).toEqual(['lru', 0])
    bench.lru.setCapacity(0, 2, 0)
    bench.lru.resetRank(0)
    expect(bench.acquire(0, 3, [3n])).toBe('ignored')
    bench.lru.setCapacity(0, 2, 9)
    expect(bench.lru.stats()).toMatchObject({ ranks: 1, fallbackRanks: 0, fallbackActivations: 2 })
  })
})

describe('memory', () => {
  test('is bounded by capacities and leases, over many requests', () => {
    const bench = withCapacity(500)
    bench.lru.setCapacity(1, 1, 300)
    for (let attempt = 0; attempt < 3000; attempt++) {
      const rank = attempt % 2
      bench.acquire(rank, attempt, long(BigInt(attempt % 700), 1 + (attempt % 40)), attempt % 3)
      if (attempt >= 8) bench.lru.release(rank, attempt - 8)
      expect(bench.lru.copiesInUse).toBeLessThanOrEqual(800)
      expect(bench.index.currentSize).toBeLessThanOrEqual(800)
    }
    expect(bench.lru.stats().evictedTotal).toBeGreaterThan(10_000)
    expect(bench.lru.copiesInUse).toBeGreaterThan(600)
  })

  test('of a cleared rank comes back with later calls, what was referred to as well', () => {
    const bench = withCapacity(2000)
    bench.acquire(0, 1, long(1n, 600))
    bench.acquire(0, 2, long(1n, 300))
    bench.acquire(0, 3, long(2n, 400))
    bench.lru.release(0, 3)
    bench.lru.resetRank(0)
    expect([bench.index.currentSize, bench.lru.copiesInUse]).toEqual([0, 1000])
    bench.lru.setCapacity(0, 1, 2000)
    expect(bench.acquire(0, 1, long(1n, 10))).toBe('lru')
    expect(bench.lru.copiesInUse).toBe(1010 - 22)
    for (let attempt = 10; attempt < 100; attempt++) bench.acquire(0, attempt, long(1n, 10))
    expect([bench.lru.copiesInUse, bench.index.currentSize]).toEqual([10, 10])
    expect(bench.lru.stats()).toMatchObject({ leases: 91, active: 10, resident: 10 })
  })
})

test('an index that was full when a prompt came is told again with the next', () => {
  const bench = withCapacity(9)
  const store = bench.index.store.bind(bench.index)
  bench.index.store = () => 'capacity'
  bench.acquire(0, 1, [1n, 2n])
  expect(bench.match(0, [1n, 2n])).toBe(0)
  bench.index.store = store
  bench.acquire(0, 2, [1n, 2n, 3n])
  expect(bench.match(0, [1n, 2n, 3n])).toBe(3)
})

test('errors are told from others by their marker', () => {
  const bench = withCapacity(1)
  bench.acquire(0, 0, [])
  try {
    bench.acquire(0, 0, [])
    expect.unreachable()
  } catch (error) {
    expect(KvIndexError.isInstance(error)).toBe(true)
  }
})
