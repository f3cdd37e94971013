import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ColumnMemory } from '../src/column-memory.js'
import { hostLoopsFor } from '../src/host-loops.js'
import { BlockRegistry } from '../src/load/block-registry.js'
import { HolderSets } from '../src/load/holder-sets.js'
import { RunPool, maximumRun } from '../src/load/run-pool.js'
import { hashesOfPath } from './support/ledgers.js'

const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + index)

describe('the registry of blocks', () => {
  it('gives back everything that it took, and takes no more the second time', () => {
    const registry = new BlockRegistry()
    registry.reserve(300)
    const paths = numbers(300).map((path) =>
      hashesOfPath([...numbers(50 + (path % 7)), ...numbers(path % 90, 1000 * path)]),
    )
    const round = (): void => {
      const ends = paths.map((path, rank) => registry.hold(rank, path, path.length / 2))
      expect(registry.edges.count).toBeGreaterThan(200)
      for (const at of numbers(300).map((index) => (index * 7) % 300)) registry.release(at, ends[at]!)
      expect([registry.edges.count, registry.edges.runs.taken, Math.max(...registry.weight)]).toEqual([
        0, 0, 0,
      ])
    }
    round()
    const { capacity } = registry.edges.runs
    const entries = registry.holders.weights.length
    for (let again = 0; again < 20; again++) round()
    expect([registry.edges.runs.capacity, registry.holders.weights.length]).toEqual([capacity, entries])
  })

  it('keeps a path in one edge until another ends or branches within it', () => {
    const registry = new BlockRegistry()
    const whole = hashesOfPath(numbers(128))
    registry.hold(0, whole, 128)
    registry.hold(1, whole, 128)
    expect(registry.edges.count).toBe(1)
    registry.hold(2, whole, 100)
    expect(registry.edges.count).toBe(2)
    registry.hold(2, hashesOfPath([...numbers(40), 999]), 41)
    expect(registry.edges.count).toBe(4)
  })

  it('names edges with the same holders as one', () => {
    const registry = new BlockRegistry()
    for (let rank = 0; rank < 3; rank++)
      for (const blocks of [10, 20, 30]) registry.hold(rank, hashesOfPath(numbers(blocks)), blocks)
    registry.hold(0, hashesOfPath(numbers(35)), 35)
    registry.match(hashesOfPath(numbers(50)), 50)
    const { matched } = registry
    expect([matched.count, ...matched.blocks.subarray(0, 2)]).toEqual([2, 30, 5])
    registry.match(hashesOfPath([...numbers(15), 99]), 16)
    expect([matched.count, matched.blocks[0]]).toEqual([1, 15])
    registry.match(hashesOfPath([99]), 1)
    expect(matched.count).toBe(0)
  })
})

describe('the holders of an edge', () => {
  it('equal a map of ranks, through growing and shrinking', () => {
    const rank = fc.oneof(
      fc.nat({ max: 2000 }),
      fc.nat({ max: 30 }).map((index) => index * 64),
    )
    const change = fc.record({ rank, comes: fc.boolean() })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 400, size: 'max' }), (changes) => {
        const holders = new HolderSets()
        const slow = new Map<number, number>()
        for (const { rank: holder, comes } of changes) {
          if (comes) {
            expect(holders.refer(5, holder)).toBe(!slow.has(holder))
            slow.set(holder, (slow.get(holder) ?? 0) + 1)
          } else if (slow.has(holder)) {
            holders.remove(5, holders.find(5, holder))
            slow.delete(holder)
          }
          expect([holders.count[5], holders.find(5, 2001)]).toEqual([slow.size, -1])
          const wrong = [...slow].filter(
            ([one, references]) => holders.pairs[2 * holders.find(5, one) + 1] !== references,
          )
          if (wrong.length > 0) expect(wrong).toEqual([])
        }
      }),
      { seed: 17, numRuns: 60 },
    )
  })

  it('shrink with them: what a large edge gave back serves the next', () => {
    const holders = new HolderSets()
    for (let edge = 1; edge < 9; edge++) {
      for (let rank = 0; rank < 4096; rank++) holders.refer(edge, rank)
      for (let rank = 0; rank < 4090; rank++) holders.remove(edge, holders.find(edge, rank))
      expect(holders.count[edge]).toBe(6)
      for (let rank = 4090; rank < 4096; rank++) expect(holders.find(edge, rank)).toBeGreaterThanOrEqual(0)
    }
    // One edge of so many takes half of that, for its table and those that it outgrew.
    expect(holders.weights.length).toBe(2 * 16_384)
  })
})

describe('the pool of runs', () => {
  it('keeps what is stored, over many chunks', () => {
    const pool = new RunPool()
    const run = hashesOfPath(numbers(maximumRun))
    const addresses = numbers(40).map((index) => pool.store(run, 0, maximumRun - index))
    for (const [index, address] of addresses.entries()) {
      expect(pool.matching(address, maximumRun - index, run, 0)).toBe(maximumRun - index)
    }
    expect(pool.capacity).toBeGreaterThan(2 * 65_536)
    for (const [index, address] of addresses.entries()) pool.release(address, maximumRun - index)
    expect(pool.taken).toBe(0)
  })

  it('hands out what is left of a chunk', () => {
    const pool = new RunPool()
    const run = hashesOfPath(numbers(maximumRun))
    pool.store(run, 0, 1)
    // The first chunk is too short for the last of 16; then the second one is full too.
    for (let taken = 0; taken < 31; taken++) pool.store(run, 0, maximumRun)
    const { capacity } = pool
    expect(capacity).toBe(2 * 65_536)
    for (const blocks of [2048, 1024, 512, 4, 2]) pool.store(run, 0, blocks)
    expect(pool.capacity).toBe(capacity)
  })
})

describe('the loop that adds to a column', () => {
  it('gives the same in WebAssembly and without, and touches nothing behind the last row', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true })
    const columns = [true, false].map((webAssembly) => {
      const memory = new ColumnMemory(webAssembly)
      const [source, target] = [memory.column('float64'), memory.column('float64')]
      return { loops: hostLoopsFor(memory), source, target }
    })
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 16, maxLength: 16 }),
        fc.integer(),
        fc.nat({ max: 16 }),
        (values, addend, count) => {
          for (const { loops, source, target } of columns) {
            source.view.set(values)
            target.view.fill(7)
            loops.add(source, addend, target, count)
            expect([...target.view]).toEqual(values.map((one, row) => (row < count ? one + addend : 7)))
          }
        },
      ),
      { seed: 3, numRuns: 300 },
    )
  })
})
