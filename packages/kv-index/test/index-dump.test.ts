import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BlockIndex,
  DEVICE,
  DISK,
  type DumpEvent,
  HOST_PINNED,
  PrefixIndex,
  hashWords,
  hashesOf,
} from '../src/index.js'
import { type IndexCommand, commands, path as anyPath, ranks } from './support/commands.js'
import { applyEntry } from './support/dump.js'
import { matchesOf } from './support/match-table.js'
import { NaiveIndex } from './support/naive-index.js'
import { namesOf, pathRun } from './support/runs.js'

/** An index, and how its dump is read. */
type Dumping = BlockIndex & { entries(): DumpEvent[] }

class NaiveDumping extends NaiveIndex implements Dumping {
  entries(): DumpEvent[] {
    return [...this.dump()]
  }
}

class ExactDumping extends PrefixIndex implements Dumping {
  entries(): DumpEvent[] {
    return [...this.dump().events]
  }
}

const dumping: readonly (readonly [name: string, create: () => Dumping])[] = [
  ['exact', () => new ExactDumping({ blockSize: 16 })],
  ['naive', () => new NaiveDumping({ blockSize: 16 })],
]

const rankLimit = Math.max(...ranks) + 1

function applyAll(index: BlockIndex, entries: readonly DumpEvent[]): void {
  for (const entry of entries) {
    const outcome = applyEntry(index, entry)
    // Parents first, and nothing whose parent is not there.
    if (outcome !== 'ok' && outcome !== 'duplicate_store') throw new Error(`a chain of a dump: ${outcome}`)
  }
}

/** An index after random commands; paths to ask for. */
function afterCommands(
  create: () => Dumping,
  check: (index: Dumping, paths: readonly (readonly bigint[])[]) => void,
): void {
  const drawn = fc.commands<NaiveIndex, BlockIndex>(commands as fc.Arbitrary<IndexCommand>[], {
    maxCommands: 150,
    size: 'max',
  })
  fc.assert(
    fc.property(drawn, fc.array(anyPath, { minLength: 20, maxLength: 20 }), (sequence, paths) => {
      const index = create()
      fc.modelRun(() => ({ model: new NaiveIndex({ blockSize: 16 }), real: index }), sequence)
      check(index, paths)
    }),
    { seed: 41, numRuns: 25, includeErrorInReport: true },
  )
}

describe.each(dumping)('I2: dump of the %s index', (_, create) => {
  const matches = (index: BlockIndex, paths: readonly (readonly bigint[])[]): unknown =>
    paths.map((one) => matchesOf(index, one, rankLimit))

  test('into an empty index: equal matches; into the naive one too', () => {
    afterCommands(create, (index, paths) => {
      const entries = index.entries()
      const copy = create()
      applyAll(copy, entries)
      expect(matches(copy, paths)).toEqual(matches(index, paths))
      const naive = new NaiveIndex({ blockSize: 16 })
      applyAll(naive, entries)
      expect(matches(naive, paths)).toEqual(matches(index, paths))
    })
  })

  test('applied twice, and to the index itself: unchanged', () => {
    afterCommands(create, (index, paths) => {
      const entries = index.entries()
      const copy = create()
      applyAll(copy, entries)
      const size = copy.currentSize
      applyAll(copy, entries)
      expect([copy.currentSize, matches(copy, paths)]).toEqual([size, matches(index, paths)])
      const own = index.currentSize
      applyAll(index, entries)
      expect([index.currentSize, matches(index, paths)]).toEqual([own, matches(copy, paths)])
    })
  })

  test('without holes every block is in it: equal sizes, and the dump of the copy says the same', () => {
    const index = create()
    for (const [rank, branch] of [1n, 2n, 3n].entries()) {
      index.store(rank, DEVICE, pathRun([1n, 2n, 3n]))
      index.store(rank, DEVICE, pathRun([1n, 2n, 3n, 10n * branch, 5n, 6n], 3))
      index.store(rank, HOST_PINNED, pathRun([1n, 2n, 3n, 10n * branch, 5n, 6n, 7n], 6))
    }
    const copy = create()
    applyAll(copy, index.entries())
    expect([0, 1, 2].map((rank) => copy.sizeOf(rank))).toEqual([6, 6, 6])
    expect(matchesOf(copy, [1n, 2n, 3n, 20n, 5n, 6n, 7n], 3)).toEqual({
      0: [3, 0, 0, 0],
      1: [6, 1, 0, 0],
      2: [3, 0, 0, 0],
    })
  })

  test('one store per linear chain and rank, parents before what continues them', () => {
    const index = create()
    index.store(1, DEVICE, pathRun([1n, 2n, 3n, 4n]))
    index.store(1, DEVICE, pathRun([1n, 2n, 8n, 9n], 2))
    index.store(2, DEVICE, pathRun([1n, 2n, 8n, 9n]))
    index.store(2, DEVICE, pathRun([1n, 2n, 3n, 4n], 2))
    index.store(2, DEVICE, pathRun([5n, 6n, 7n]))
    const chainsOf = (rank: number): unknown[] =>
      index
        .entries()
        .filter((entry) => entry.rank === rank)
        .map(({ hasParent, parent, local }) => ({
          parent: hasParent ? parent : 'root',
          blocks: hashesOf(local),
        }))
    const parent = namesOf([1n, 2n])[1]
    const shared = [
      { parent: 'root', blocks: [1n, 2n] },
      { parent, blocks: [3n, 4n] },
      { parent, blocks: [8n, 9n] },
    ]
    expect(chainsOf(1)).toHaveLength(3)
    expect(chainsOf(1)).toEqual(expect.arrayContaining(shared))
    expect(chainsOf(1)[0]).toEqual(shared[0])
    expect(chainsOf(2)).toHaveLength(4)
    expect(chainsOf(2)).toEqual(expect.arrayContaining([...shared, { parent: 'root', blocks: [5n, 6n, 7n] }]))
  })

  test('a name with two places: what hangs on the older one stays there', () => {
    const index = create()
    const run = (parent: bigint | undefined, engine: bigint[], local: bigint[]): void => {
      const entry = { rank: 1, tier: DEVICE, hasParent: parent !== undefined, parent: parent ?? 0n }
      applyEntry(index, { ...entry, engine: hashWords(engine), local: hashWords(local) })
    }
    run(undefined, [10n, 11n, 12n], [1n, 2n, 3n])
    run(11n, [13n], [4n])
    run(undefined, [20n, 11n], [5n, 2n])
    run(11n, [14n], [6n])
    const copy = create()
    applyAll(copy, index.entries())
    const paths = [
      [1n, 2n, 3n],
      [1n, 2n, 4n],
      [5n, 2n, 6n],
    ]
    expect(matches(copy, paths)).toEqual([{ 1: [3, 0, 0, 0] }, { 1: [3, 0, 0, 0] }, { 1: [3, 0, 0, 0] }])
    expect(matchesOf(copy, [1n, 2n, 6n], 2)).toEqual({ 1: [2, 0, 0, 0] })
  })

  test('nothing of a rank that left, nothing of an empty index', () => {
    const index = create()
    expect(index.entries()).toEqual([])
    index.store(1, DEVICE, pathRun([1n, 2n]))
    index.store(1, DISK, pathRun([1n, 2n]))
    index.removeRank(1)
    expect(index.entries()).toEqual([])
  })
})
