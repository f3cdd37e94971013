import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BlockIndex,
  PredictedIndex,
  PrefixState,
  type PrefixStateOptions,
  hashWords,
  PrefixIndex,
} from '../src/index.js'
import { LifetimeModel, blocksOf } from './support/approximate-models.js'
import { MatchTable } from './support/match-table.js'
import { pathRun } from './support/runs.js'

type Path = readonly bigint[]
const DEVICE = 0
const HOST = 1

/** A state with all indexes that it made. */
function newState(options: Partial<PrefixStateOptions> = {}): {
  state: PrefixState
  made: PrefixIndex[]
  send: (rank: number, path: Path, nowMs: number, attempt?: number) => void
  matches: (path: Path, nowMs: number) => number[]
  table: MatchTable
} {
  const made: PrefixIndex[] = []
  const createIndex = (): BlockIndex => {
    const index = new PrefixIndex({ blockSize: 16 })
    made.push(index)
    return index
  }
  const state = new PrefixState({ createIndex, lifetime: { ttlMs: 1000 }, ...options })
  const table = new MatchTable(4)
  return {
    state,
    made,
    table,
    send: (rank, path, nowMs, attempt = 1) =>
      state.noteDispatched({ rank, attempt, blocks: blocksOf(path), privateBlocks: 0 }, nowMs),
    matches: (path, nowMs) => {
      state.lookup(hashWords(path), path.length, nowMs, table)
      return table.all().map(([device]) => device)
    },
  }
}

const exact = { hasEvents: true, incarnation: 1 }
const approximate = { hasEvents: false, incarnation: 1 }

describe('I6: predicted entries', () => {
  const predictedTtlMs = 500

  test('raise the overlap before the event arrives, and expire', () => {
    const { state, send, matches } = newState({ predictedTtlMs })
    state.setRank(0, exact)
    send(0, [1n, 2n, 3n], 0)
    expect(matches([1n, 2n, 3n], 499)).toEqual([3, 0, 0, 0])
    expect(matches([1n, 2n, 3n], 500)).toEqual([0, 0, 0, 0])
  })

  test('are one side of the larger: events say more, less or something else', () => {
    const { state, send, matches } = newState({ predictedTtlMs })
    state.setRank(0, exact)
    state.setRank(1, exact)
    send(0, [1n, 2n], 0)
    state.index.store(0, DEVICE, pathRun([1n, 2n, 3n, 4n], 0, 9n))
    state.index.store(1, DEVICE, pathRun([1n], 0, 9n))
    send(1, [1n, 2n, 3n], 0)
    expect(matches([1n, 2n, 3n, 4n], 0)).toEqual([4, 3, 0, 0])
    expect(matches([1n, 2n, 3n, 4n], 600)).toEqual([4, 1, 0, 0])
  })

  test('never leave the process: the index that is dumped holds none of them', () => {
    const { state, made, send, matches } = newState({ predictedTtlMs })
    state.setRank(0, exact)
    const path = [1n, 2n, 3n]
    state.index.store(0, DEVICE, pathRun([1n]))
    send(0, path, 0)
    expect(matches(path, 0)[0]).toBe(3)
    const told = new PrefixIndex({ blockSize: 16 })
    told.store(0, DEVICE, pathRun([1n]))
    expect(made[0]!.dump()).toEqual(told.dump())
    // They stand in one more index, which no property leads to.
    const side = made.filter((index) => index !== state.index && index.currentSize > 0)
    expect(side.map((index) => index.currentSize)).toEqual([3])
    expect(reachable(state)).toContain(state.index)
    expect(reachable(state)).not.toContain(side[0])
  })

  test('vanish with the incarnation, and with the rank', () => {
    const { state, made, send, matches } = newState({ predictedTtlMs })
    state.setRank(0, exact)
    send(0, [1n], 0)
    state.setRank(0, { ...exact, capacityBlocks: 7 })
    expect(matches([1n], 0)).toEqual([1, 0, 0, 0])
    state.setRank(0, { ...exact, incarnation: 2 })
    expect(matches([1n], 0)).toEqual([0, 0, 0, 0])
    send(0, [1n], 0)
    state.removeRank(0)
    send(0, [1n], 0)
    expect(matches([1n], 0)).toEqual([0, 0, 0, 0])
    expect(made.map((index) => index.currentSize)).toEqual([0, 0, 0])
  })

  test('count as device blocks, which no slower tier extends over again', () => {
    const { state, send, table } = newState({ predictedTtlMs })
    const path = [1n, 2n, 3n, 4n, 5n, 6n]
    for (const [rank, sent] of [0, 3, 4, 6].entries()) {
      state.setRank(rank, exact)
      state.index.store(rank, DEVICE, pathRun(path.slice(0, 2)))
      state.index.store(rank, HOST, pathRun(path.slice(0, 4), 2))
      state.index.store(rank, 2, pathRun(path.slice(0, 5), 4))
      send(rank, path.slice(0, sent), 0)
    }
    state.lookup(hashWords(path), path.length, 0, table)
    expect(table.all()).toEqual([
      [2, 2, 1, 0],
      [3, 1, 1, 0],
      [4, 0, 1, 0],
      [6, 0, 0, 0],
    ])
  })

  test('reach the rows of whichever target is given, a larger one too', () => {
    const { state, send } = newState({ predictedTtlMs })
    for (const rank of [0, 1, 2, 3]) {
      state.setRank(rank, exact)
      send(rank, [1n, 2n, 3n].slice(0, 1 + (rank % 3)), 0)
    }
    const [small, turned, large] = [new MatchTable(2), new MatchTable(3, [2, 1, 0]), new MatchTable(300)]
    for (const table of [small, turned, large, small]) {
      state.lookup(hashWords([1n, 2n, 3n]), 3, 0, table)
    }
    expect(small.all().map(([device]) => device)).toEqual([1, 2])
    expect(turned.all().map(([device]) => device)).toEqual([3, 2, 1])
    expect(large.all().flatMap(([device]) => (device > 0 ? [device] : []))).toEqual([1, 2, 3, 1])
  })

  test('are off by default, and need a lifetime that is one', () => {
    const { state, made, send, matches } = newState()
    state.setRank(0, exact)
    send(0, [1n], 0)
    expect([matches([1n], 0)[0], state.predicted, made.length]).toEqual([0, undefined, 2])
    expect(() => newState({ predictedTtlMs: 0 })).toThrowError(
      expect.objectContaining({ code: 'KV_INDEX_OPTION_INVALID' }),
    )
  })

  test('larger of two, whatever both hold and whichever rows are asked for', () => {
    const path = fc.array(fc.bigInt({ min: 1n, max: 2n }), { maxLength: 5 })
    const step = fc.record({
      rank: fc.nat({ max: 3 }),
      path,
      isEvent: fc.boolean(),
      wait: fc.nat({ max: 300 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, isTurned) => {
        const index = new PrefixIndex({ blockSize: 16 })
        const events = new PrefixIndex({ blockSize: 16 })
        const options = { ttlMs: 500, maxBlocks: 15, pruneTargetRatio: 0.8 }
        const predicted = new PredictedIndex(new PrefixIndex({ blockSize: 16 }), options)
        const model = new LifetimeModel(options)
        const table = new MatchTable(4, isTurned ? [2, 1, 0, -1] : [0, 1, 2, 3])
        let nowMs = 0
        for (const { rank, path: blocks, isEvent, wait } of steps) {
          nowMs += wait
          if (isEvent) for (const one of [index, events]) one.store(rank, DEVICE, pathRun(blocks))
          else {
            predicted.insert(rank, blocksOf(blocks), nowMs)
            model.insert(rank, blocks, nowMs)
          }
          model.expire(nowMs)
          index.lookup(hashWords(blocks), blocks.length, table)
          predicted.raise(hashWords(blocks), blocks.length, nowMs, table)
          const found = table.all()
          const plain = new MatchTable(4)
          events.lookup(hashWords(blocks), blocks.length, plain)
          for (let one = 0; one < 4; one++) {
            const row = table.rowOfRank[one]!
            if (row < 0) continue
            expect(found[row]![0]).toBe(Math.max(plain.at(one)[0], model.match(one, blocks)))
          }
        }
        expect(predicted.size).toBe(model.size)
        expect([0, 1, 2, 3].reduce((sum, rank) => sum + predicted.sizeOf(rank), 0)).toBe(model.size)
      }),
      { seed: 4_005, numRuns: 200 },
    )
  })
})

describe('ranks with and without events', () => {
  test('I4: answer in one lookup', () => {
    const { state, send, matches } = newState()
    state.setRank(0, exact)
    state.setRank(1, approximate)
    state.setRank(2, approximate)
    state.index.store(0, DEVICE, pathRun([1n, 2n, 3n], 0, 5n))
    send(0, [1n, 2n, 3n, 4n], 0)
    send(1, [1n, 2n], 0)
    send(2, [1n], 300)
    send(3, [1n], 0)
    expect(matches([1n, 2n, 3n, 4n], 999)).toEqual([3, 2, 1, 0])
    expect(matches([1n, 2n, 3n, 4n], 1000)).toEqual([3, 0, 1, 0])
    expect(matches([1n, 2n, 3n, 4n], 5000)).toEqual([3, 0, 0, 0])
  })

  test('a rank that changes its source or its incarnation starts anew', () => {
    const { state, send, matches } = newState()
    expect(state.setRank(0, approximate)).toBe(true)
    send(0, [1n, 2n], 0)
    expect(state.setRank(0, { ...approximate, capacityBlocks: 9 })).toBe(false)
    expect(matches([1n, 2n], 0)[0]).toBe(2)
    expect(state.setRank(0, exact)).toBe(true)
    expect(matches([1n, 2n], 0)[0]).toBe(0)
    state.index.store(0, DEVICE, pathRun([1n]))
    // What was inserted before must not take away what the events say now.
    expect(matches([1n], 1000)[0]).toBe(1)
    state.setRank(0, { ...approximate, incarnation: 2 })
    expect(matches([1n], 1000)[0]).toBe(0)
    send(0, [1n], 1000)
    state.setRank(0, { ...approximate, incarnation: 3 })
    expect(matches([1n], 1000)[0]).toBe(0)
  })

  test('I4: with LRU retention ranks without events live by capacity, others by events', () => {
    const { state, send, matches } = newState({ approximateCachePolicy: 'lru' })
    state.setRank(0, { ...approximate, capacityBlocks: 3 })
    state.setRank(1, approximate)
    state.setRank(2, { ...exact, capacityBlocks: 3 })
    for (const rank of [0, 1, 2]) send(rank, [1n, 2n], 0, 7)
    expect(matches([1n, 2n], 99_999)).toEqual([2, 0, 0, 0])
    const blocks = blocksOf([1n, 2n, 3n])
    state.noteOutput({ rank: 0, attempt: 7, blocks, privateBlocks: 1 }, 2)
    expect(matches([1n, 2n, 3n], 99_999)[0]).toBe(3)
    state.noteReleased(0, 7)
    state.noteReleased(2, 7)
    send(0, [9n], 0, 8)
    expect(matches([1n, 2n, 3n], 99_999)[0]).toBe(2)
    state.setRank(0, { ...approximate, capacityBlocks: 2 })
    expect(matches([1n, 2n, 3n], 99_999)[0]).toBe(1)
    state.setRank(0, { ...approximate, incarnation: 2, capacityBlocks: 2 })
    expect([matches([9n], 99_999)[0], state.lru!.stats().leases]).toEqual([0, 0])
    state.removeRank(1)
    expect(state.lru!.stats()).toMatchObject({ ranks: 1, fallbackRanks: 0 })
  })

  test('content chunks match on both, and stay out of the other indexes', () => {
    const { state, made, matches } = newState({ predictedTtlMs: 500 })
    state.setRank(0, exact)
    state.setRank(1, approximate)
    const chunks = [1n, 2n, 3n]
    state.chunks.insert(0, blocksOf(chunks), 0)
    state.chunks.insert(1, blocksOf(chunks.slice(0, 1)), 0)
    const table = new MatchTable(4)
    state.chunks.lookup(hashWords(chunks), 3, 0, table)
    expect(table.all().map(([device]) => device)).toEqual([3, 1, 0, 0])
    expect(matches(chunks, 0)).toEqual([0, 0, 0, 0])
    expect(made.filter((index) => index.currentSize > 0)).toEqual([state.chunks.index])
    state.removeRank(0)
    state.chunks.lookup(hashWords(chunks), 3, 0, table)
    expect(table.all().map(([device]) => device)).toEqual([0, 1, 0, 0])
  })

  test('expiry now and then covers every kind', () => {
    const { state, made, send } = newState({ predictedTtlMs: 500 })
    state.setRank(0, exact)
    state.setRank(1, approximate)
    send(0, [1n, 2n], 0)
    send(1, [1n, 2n], 0)
    state.chunks.insert(1, blocksOf([5n, 6n]), 0)
    expect(state.expire(499)).toBe(true)
    const sizes = (): number[] => made.map((index) => index.currentSize)
    expect(sizes()).toEqual([2, 2, 2])
    expect(state.expire(1000, 1)).toBe(false)
    expect(sizes()).toEqual([1, 1, 1])
    expect(state.expire(1000)).toBe(true)
    expect(sizes()).toEqual([0, 0, 0])
  })
})

/** Every object that the public properties of a state lead to. */
function reachable(value: object, seen = new Set<object>()): Set<object> {
  if (seen.has(value)) return seen
  seen.add(value)
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !ArrayBuffer.isView(inner))
      reachable(inner as object, seen)
  }
  return seen
}
