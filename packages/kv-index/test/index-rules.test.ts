import { describe, expect, test } from 'vitest'
import { DEVICE, DISK, EXTERNAL, HOST_PINNED, hashWords, highOf, lowOf } from '../src/index.js'
import { MatchTable, matchesOf } from './support/match-table.js'
import { namesOf, pathRun, runOf } from './support/runs.js'
import { subjects } from './support/subjects.js'

const path = [1n, 2n, 3n, 4n, 5n, 6n]
const names = namesOf(path)
const noBlocks = [0, 0, 0]

describe.each(subjects)('the rules, %s index', (_, create) => {
  const device = (blocks: number): number[] => [blocks, ...noBlocks]

  function indexWith(rank: number, stored: readonly bigint[] = path) {
    const index = create()
    expect(index.store(rank, DEVICE, pathRun(stored))).toBe('ok')
    return index
  }

  function remove(
    index: ReturnType<typeof create>,
    rank: number,
    removed: readonly bigint[],
    tier = DEVICE,
  ): string {
    return index.remove(rank, tier, hashWords(removed), 0, removed.length)
  }

  test('I3: a parent that only another rank holds: the store is skipped, an empty one too', () => {
    const index = indexWith(1)
    expect(index.store(2, DEVICE, pathRun([...path, 7n], 6))).toBe('parent_not_found')
    expect(index.store(2, DEVICE, runOf(names[0], [], []))).toBe('parent_not_found')
    expect(index.sizeOf(2)).toBe(0)
    expect(index.store(1, DEVICE, runOf(names[0], [], []))).toBe('ok')
    expect(index.store(2, DEVICE, runOf(undefined, [], []))).toBe('ok')
    expect(matchesOf(index, [...path, 7n], 4)).toEqual({ 1: device(6) })
  })

  test('a parent on another tier is not known to the device tier', () => {
    const index = create()
    expect(index.store(1, HOST_PINNED, pathRun(path.slice(0, 2)))).toBe('ok')
    expect(index.store(1, DEVICE, pathRun(path, 2))).toBe('parent_not_found')
    expect(index.holds(1, HOST_PINNED, lowOf(names[1]!), highOf(names[1]!))).toBe(true)
    expect(index.holds(1, DEVICE, lowOf(names[1]!), highOf(names[1]!))).toBe(false)
  })

  test('invalid_sequence comes before parent_not_found, and stores nothing', () => {
    const index = create()
    expect(index.store(1, DEVICE, runOf(names[2], names.slice(0, 3), path.slice(0, 3)))).toBe(
      'invalid_sequence',
    )
    expect(index.currentSize).toBe(0)
  })

  test('duplicate_store needs every block at its place, and at least one', () => {
    const index = indexWith(1)
    expect(index.store(1, DEVICE, pathRun(path))).toBe('duplicate_store')
    expect(index.store(1, DEVICE, pathRun(path.slice(0, 4), 2))).toBe('duplicate_store')
    expect(index.store(1, DEVICE, pathRun([...path, 7n]))).toBe('ok')
    expect(index.store(2, DEVICE, pathRun(path))).toBe('ok')
    // The same names with other content are another place.
    expect(index.store(1, DEVICE, runOf(undefined, names.slice(0, 1), [9n]))).toBe('ok')
    expect([index.sizeOf(1), index.sizeOf(2), index.currentSize]).toEqual([8, 6, 14])
  })

  test('a block removed in the middle is a hole; storing it brings back what lies behind', () => {
    const index = indexWith(1)
    expect(remove(index, 1, [names[2]!])).toBe('ok')
    expect(index.sizeOf(1)).toBe(5)
    expect(matchesOf(index, path, 2)).toEqual({ 1: device(2) })
    expect(index.holds(1, DEVICE, lowOf(names[4]!), highOf(names[4]!))).toBe(true)
    // Behind the hole: still a parent.
    expect(index.store(1, DEVICE, pathRun([...path, 7n], 6))).toBe('ok')
    expect(matchesOf(index, [...path, 7n], 2)).toEqual({ 1: device(2) })
    expect(index.store(1, DEVICE, pathRun(path.slice(0, 3), 2))).toBe('ok')
    expect(matchesOf(index, [...path, 7n], 2)).toEqual({ 1: device(7) })
    expect(remove(index, 1, [names[2]!, names[2]!])).toBe('block_not_found')
  })

  test('a hole of one rank is none of another', () => {
    const index = indexWith(1)
    index.store(2, DEVICE, pathRun(path))
    remove(index, 1, [names[0]!])
    remove(index, 2, [names[5]!])
    expect(matchesOf(index, path, 3)).toEqual({ 2: device(5) })
  })

  test('an unknown block among others: they go, and it is said', () => {
    const index = indexWith(1)
    expect(remove(index, 1, [names[5]!, 99n, names[4]!])).toBe('block_not_found')
    expect(matchesOf(index, path, 2)).toEqual({ 1: device(4) })
    expect(remove(index, 1, [])).toBe('ok')
    expect(remove(index, 2, names)).toBe('block_not_found')
    expect(index.sizeOf(1)).toBe(4)
  })

  test('one hash under two parents: held at both places, children below the latest, a removal takes both', () => {
    const index = create()
    index.store(1, DEVICE, runOf(undefined, [10n, 11n], [1n, 2n]))
    index.store(1, DEVICE, runOf(undefined, [20n, 11n], [3n, 2n]))
    expect(index.sizeOf(1)).toBe(4)
    index.store(1, DEVICE, runOf(11n, [12n], [4n]))
    expect(matchesOf(index, [1n, 2n, 4n], 2)).toEqual({ 1: device(2) })
    expect(matchesOf(index, [3n, 2n, 4n], 2)).toEqual({ 1: device(3) })
    expect(remove(index, 1, [11n])).toBe('ok')
    expect(index.sizeOf(1)).toBe(3)
    expect(matchesOf(index, [1n, 2n, 4n], 2)).toEqual({ 1: device(1) })
    expect(matchesOf(index, [3n, 2n, 4n], 2)).toEqual({ 1: device(1) })
    expect(remove(index, 1, [11n])).toBe('block_not_found')
  })

  test('one hash twice in a run, and under itself', () => {
    const index = create()
    expect(index.store(1, DEVICE, runOf(undefined, [5n, 5n, 6n, 5n], [1n, 1n, 1n, 2n]))).toBe('ok')
    expect(index.sizeOf(1)).toBe(4)
    expect(matchesOf(index, [1n, 1n, 1n, 2n], 2)).toEqual({ 1: device(4) })
    expect(remove(index, 1, [5n])).toBe('ok')
    expect([index.sizeOf(1), remove(index, 1, [6n]), index.currentSize]).toEqual([1, 'ok', 0])
  })

  test('engines with hashes of their own extend and remove their blocks of one content, and all match', () => {
    const index = create()
    for (const rank of [1, 2, 3]) index.store(rank, DEVICE, pathRun(path.slice(0, 4), 0, BigInt(rank)))
    index.store(2, DEVICE, pathRun(path, 4, 2n))
    expect(matchesOf(index, path, 4)).toEqual({ 1: device(4), 2: device(6), 3: device(4) })
    expect(remove(index, 3, namesOf(path, 2n))).toBe('block_not_found')
    expect(remove(index, 3, namesOf(path, 3n).slice(2, 4))).toBe('ok')
    expect(matchesOf(index, path, 4)).toEqual({ 1: device(4), 2: device(6), 3: device(2) })
  })

  test('one rank with two names for one content: the longer of both matches', () => {
    const index = create()
    index.store(1, DEVICE, pathRun(path.slice(0, 2), 0, 1n))
    index.store(1, DEVICE, pathRun(path, 0, 2n))
    index.store(1, DEVICE, pathRun(path.slice(0, 4), 2, 1n))
    expect(index.sizeOf(1)).toBe(10)
    expect(matchesOf(index, path, 2)).toEqual({ 1: device(6) })
    remove(index, 1, [namesOf(path, 2n)[0]!])
    expect(matchesOf(index, path, 2)).toEqual({ 1: device(4) })
  })

  test('lower tiers extend one another, behind a hole of the faster tier too', () => {
    const index = indexWith(1, path.slice(0, 2))
    index.store(1, HOST_PINNED, pathRun(path.slice(0, 4), 1))
    index.store(1, DISK, pathRun(path.slice(0, 5), 4))
    index.store(1, EXTERNAL, pathRun(path, 4))
    index.store(2, EXTERNAL, pathRun(path.slice(0, 3)))
    expect(matchesOf(index, path, 3)).toEqual({ 1: [2, 2, 1, 1], 2: [0, 0, 0, 3] })
    remove(index, 1, [names[1]!])
    expect(matchesOf(index, path, 3)).toMatchObject({ 1: [1, 3, 1, 1] })
    // Nothing at the position: what the slower tiers have behind it does not count.
    remove(index, 1, [names[1]!], HOST_PINNED)
    expect(matchesOf(index, path, 3)).toMatchObject({ 1: [1, 0, 0, 0] })
    expect(index.currentSize).toBe(1)
  })

  test('lower tiers: paths that part in the middle of a stored run', () => {
    const index = create()
    index.store(1, HOST_PINNED, pathRun(path))
    index.store(1, HOST_PINNED, pathRun([1n, 2n, 3n, 8n, 9n], 3))
    index.store(1, DEVICE, pathRun(path.slice(0, 2)))
    expect(matchesOf(index, path, 2)).toEqual({ 1: [2, 4, 0, 0] })
    expect(matchesOf(index, [1n, 2n, 3n, 8n, 9n], 2)).toEqual({ 1: [2, 3, 0, 0] })
    remove(index, 1, names.slice(0, 2))
    expect(matchesOf(index, [1n, 2n, 3n, 8n, 9n], 2)).toEqual({ 1: [0, 5, 0, 0] })
  })

  test('lower tiers: no parent check, silent removals, the first store decides', () => {
    const index = create()
    expect(index.store(1, DISK, pathRun(path, 3))).toBe('ok')
    expect(index.store(1, DISK, pathRun(path, 3))).toBe('ok')
    expect(remove(index, 2, names, DISK)).toBe('ok')
    expect(matchesOf(index, path, 3)).toEqual({})
    // Block 4 stands under block 3: the store stops there.
    expect(index.store(2, DISK, runOf(undefined, [70n, names[4]!, 71n], [1n, 5n, 6n]))).toBe('ok')
    expect(matchesOf(index, [1n, 5n, 6n], 3)).toEqual({ 2: [0, 0, 1, 0] })
    // Forgotten with its last holder: the place is free again.
    remove(index, 1, [names[4]!], DISK)
    expect(index.store(2, DISK, runOf(70n, [names[4]!, 71n], [5n, 6n]))).toBe('ok')
    expect(matchesOf(index, [1n, 5n, 6n], 3)).toEqual({ 2: [0, 0, 3, 0] })
  })

  test('lower tiers: a second name of one rank for content at one place: the first stays', () => {
    const index = create()
    index.store(1, DISK, runOf(undefined, [10n, 11n], [1n, 2n]))
    index.store(1, DISK, runOf(undefined, [20n, 21n, 22n], [1n, 2n, 3n]))
    index.store(2, DISK, runOf(undefined, [20n, 21n, 22n], [1n, 2n, 3n]))
    expect(index.holds(1, DISK, 20, 0)).toBe(false)
    expect(matchesOf(index, [1n, 2n, 3n], 3)).toEqual({ 1: [0, 0, 2, 0], 2: [0, 0, 3, 0] })
    expect(remove(index, 1, [10n], DISK)).toBe('ok')
    index.store(1, DISK, runOf(undefined, [20n, 21n, 22n], [1n, 2n, 3n]))
    expect(matchesOf(index, [1n, 2n, 3n], 3)).toEqual({ 1: [0, 0, 3, 0], 2: [0, 0, 3, 0] })
  })

  test('a rank that leaves takes every tier with it, and its number starts afresh', () => {
    const index = indexWith(1)
    index.store(2, DEVICE, pathRun(path.slice(0, 3)))
    for (const tier of [HOST_PINNED, DISK, EXTERNAL]) index.store(1, tier, pathRun(path))
    index.removeRank(1)
    index.removeRank(3)
    expect([index.sizeOf(1), index.currentSize]).toEqual([0, 3])
    expect(matchesOf(index, path, 4)).toEqual({ 2: device(3) })
    expect(index.holds(1, DISK, lowOf(names[0]!), highOf(names[0]!))).toBe(false)
    expect(index.store(1, DEVICE, pathRun(path, 1))).toBe('parent_not_found')
    expect(remove(index, 1, names)).toBe('block_not_found')
    expect(index.store(1, DEVICE, pathRun(path.slice(0, 1)))).toBe('ok')
    expect(matchesOf(index, path, 4)).toEqual({ 1: device(1), 2: device(3) })
  })

  test('a lookup writes the rows that are asked for and clears only what the last one wrote', () => {
    const index = indexWith(1)
    index.store(2, HOST_PINNED, pathRun(path))
    const table = new MatchTable(4, [-1, 3, 0])
    table.deviceBlocks[1] = 77
    index.lookup(hashWords(path), 6, table)
    expect([table.count, table.at(3), table.at(0), table.at(1)]).toEqual([
      2,
      device(6),
      [0, 6, 0, 0],
      [77, ...noBlocks],
    ])
    index.lookup(hashWords(path), 2, table)
    expect([table.count, table.at(3), table.at(0)]).toEqual([2, device(2), [0, 2, 0, 0]])
    index.lookup(hashWords(path), 0, table)
    expect([table.count, table.at(3), table.at(0), table.at(1)]).toEqual([
      0,
      device(0),
      device(0),
      [77, ...noBlocks],
    ])
  })
})
