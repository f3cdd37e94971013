import { describe, expect, test } from 'vitest'
import { type BlockIndex, DEVICE, DISK, HOST_PINNED, type HashWords } from '../src/index.js'
import { Churn } from './support/churn.js'
import { MatchTable } from './support/match-table.js'
import { subjects } from './support/subjects.js'

/** A run of so many blocks, named by position. */
function longRun(count: number, content = 0): { engine: HashWords; local: HashWords } {
  const engine = new Uint32Array(2 * count)
  const local = new Uint32Array(2 * count)
  for (let at = 0; at < count; at++) {
    engine[2 * at] = Math.imul(at + 1, 0x9e37_79b1)
    engine[2 * at + 1] = content
    local[2 * at] = at
    local[2 * at + 1] = content
  }
  return { engine, local }
}

function store(
  index: BlockIndex,
  rank: number,
  run: ReturnType<typeof longRun>,
  start: number,
  count: number,
): string {
  return index.store(rank, DEVICE, {
    ...run,
    hasParent: start > 0,
    parentLow: start > 0 ? run.engine[2 * start - 2]! : 0,
    parentHigh: start > 0 ? run.engine[2 * start - 1]! : 0,
    start,
    count,
  })
}

function depth(index: BlockIndex, rank: number, run: ReturnType<typeof longRun>): number {
  const table = new MatchTable(rank + 1)
  index.lookup(run.local, run.local.length >> 1, table)
  return table.at(rank)[0]
}

describe.each(subjects)('traps, %s index', (name, create) => {
  const isNaive = name === 'naive'

  test('middle removals in a run of a million blocks, and refills', () => {
    const count = isNaive ? 2000 : 1_000_000
    const removals = isNaive ? 20 : 2000
    const index = create()
    const run = longRun(count)
    expect(store(index, 1, run, 0, count)).toBe('ok')
    // From the end to the front, so that every removal cuts what a lookup finds.
    for (let hole = removals - 1; hole >= 0; hole--) {
      const at = Math.floor(((hole + 0.5) * count) / removals)
      expect(index.remove(1, DEVICE, run.engine, at, 1)).toBe('ok')
      if (hole % (removals / 10) === 0) expect(depth(index, 1, run)).toBe(at)
    }
    expect(index.currentSize).toBe(count - removals)
    for (let hole = 0; hole < removals; hole++) {
      const at = Math.floor(((hole + 0.5) * count) / removals)
      expect(store(index, 1, run, at, 1)).toBe('ok')
      const next = hole + 1 < removals ? Math.floor(((hole + 1.5) * count) / removals) : count
      if (hole % (removals / 10) === 0) expect(depth(index, 1, run)).toBe(next)
    }
    expect(depth(index, 1, run)).toBe(count)
    expect(index.currentSize).toBe(count)
  })

  test('a long run removed from the root on, block by block, while another rank keeps it', () => {
    const count = isNaive ? 300 : 50_000
    const index = create()
    const run = longRun(count)
    store(index, 1, run, 0, count)
    store(index, 2, run, 0, count)
    for (let at = 0; at < count; at++) {
      if (index.remove(1, DEVICE, run.engine, at, 1) !== 'ok') throw new Error(`block ${at} is not known`)
      if (index.sizeOf(1) !== count - at - 1) throw new Error(`size ${index.sizeOf(1)} after block ${at}`)
    }
    expect([depth(index, 1, run), depth(index, 2, run), index.currentSize]).toEqual([0, count, count])
    expect(index.remove(2, DEVICE, run.engine, 0, count)).toBe('ok')
    expect([depth(index, 2, run), index.currentSize]).toEqual([0, 0])
  })

  test('fragments: every second block goes, the others stay known and match again', () => {
    const count = isNaive ? 200 : 20_000
    const index = create()
    const run = longRun(count)
    store(index, 1, run, 0, count)
    for (let at = 1; at < count; at += 2) index.remove(1, DEVICE, run.engine, at, 1)
    expect([depth(index, 1, run), index.currentSize]).toEqual([1, count / 2])
    // From the end on: each refill joins nothing yet, the last one everything.
    for (let at = count - 1; at > 0; at -= 2) {
      if (at === 1) expect(depth(index, 1, run)).toBe(1)
      expect(store(index, 1, run, at, 1)).toBe('ok')
    }
    expect([depth(index, 1, run), index.currentSize]).toEqual([count, count])
  })

  test('runs of one block each: the next turn of each conversation is one block', () => {
    const count = isNaive ? 100 : 2000
    const index = create()
    const conversations = Array.from({ length: 8 }, (_, content) => longRun(count, content + 1))
    for (let at = 0; at < count; at++) {
      for (const run of conversations) store(index, 1, run, at, 1)
    }
    for (const run of conversations) expect(depth(index, 1, run)).toBe(count)
    for (const [content, run] of conversations.entries()) {
      if (content % 2 === 0) index.remove(1, DEVICE, run.engine, content, count - content)
    }
    expect(conversations.map((run) => depth(index, 1, run))).toEqual([0, count, 2, count, 4, count, 6, count])
  })

  test('sessions that come and go in every way leave nothing behind', () => {
    const index = create()
    const churn = new Churn(index, {
      ranks: 8,
      liveSessions: isNaive ? 20 : 200,
      tiers: [DEVICE, DEVICE, DEVICE, HOST_PINNED, DISK],
      seed: 7,
    })
    churn.start()
    for (let cycle = 0; cycle < (isNaive ? 200 : 20_000); cycle++) {
      churn.cycle()
      if (cycle % 100 === 0) expect(index.currentSize).toBe(churn.entries)
    }
    churn.drain()
    expect([index.currentSize, churn.entries]).toEqual([0, 0])
  })
})
