import fc from 'fast-check'
import type { BlockIndex, BlockRun } from '../../src/block-index.js'
import { hashOf, hashWords, hashesOf, highOf, lowOf } from '../../src/hash-words.js'
import { DEVICE, DISK, EXTERNAL, HOST_PINNED, TIERS } from '../../src/tier.js'
import { MatchTable } from './match-table.js'
import type { NaiveIndex } from './naive-index.js'
import { namesOf, runOf } from './runs.js'

// Few of everything, so that collisions, twins, holes and refills happen all the time.

/** Ranks around the borders of words and tables. */
export const ranks = [0, 1, 2, 31, 32, 64]
/** The first of many ranks that do the same. */
const crowd = 70

/** Halves that are equal to each other's, zero, all ones. */
const halves = [0n, 1n, 2n, 0xffff_ffffn]
const words = halves.flatMap((high) => halves.map((low) => (high << 32n) | low))
/** Other halves that a multiplicative mix of 32 bits makes equal. */
const alike = [0n, 0x0000_0001_9e37_79b1n]
const contents = [...alike, 0x0000_0001_0000_0000n]
const engineHashes = [...words, alike[1]!]

type Path = readonly bigint[]

/** What the exact index and the naive one are told together. */
export type IndexCommand = fc.Command<NaiveIndex, BlockIndex>

const rank = fc.constantFrom(...ranks)
const salt = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0n) },
  { weight: 1, arbitrary: fc.constantFrom(1n, 2n) },
)

const shortPath = fc.array(fc.constantFrom(...contents), { maxLength: 5 })

/** Paths that part at one of these positions, or nowhere. */
function forkedPath(length: fc.Arbitrary<number>, forks: readonly number[]): fc.Arbitrary<Path> {
  return fc
    .record({ length, forkAt: fc.option(fc.constantFrom(...forks)), branch: fc.nat({ max: 2 }) })
    .map(({ length: blocks, forkAt, branch }) => {
      const branchOf = (at: number): number => (forkAt !== null && at >= forkAt ? branch : 0)
      return Array.from({ length: blocks }, (_, at) => BigInt(100_000 * branchOf(at) + at))
    })
}

/** Local hashes from block 0. */
export const path: fc.Arbitrary<Path> = fc.oneof(shortPath, forkedPath(fc.nat({ max: 48 }), [1, 8, 9, 24]))

/** A run of blocks as an engine announces it: some part of a path, behind the rest of it. */
function partOf(paths: fc.Arbitrary<Path>, position: fc.Arbitrary<number>): fc.Arbitrary<BlockRun> {
  return fc
    .record({ path: paths, salt, from: position, length: position })
    .map(({ path: whole, salt: ofEngine, from, length }) => {
      const start = whole.length === 0 ? 0 : from % (whole.length + 1)
      const names = namesOf(whole, ofEngine)
      return runOf(names[start - 1], names.slice(start, start + length), whole.slice(start, start + length))
    })
}

/** Names of blocks that follow one another, in the orders in which engines let go of them. */
function namesIn(paths: fc.Arbitrary<Path>, position: fc.Arbitrary<number>): fc.Arbitrary<Path> {
  const order = fc.constantFrom('from the root', 'from the end', 'twice')
  return fc
    .record({ path: paths, salt, from: position, length: position, order })
    .map(({ path: whole, salt: ofEngine, from, length, order: way }) => {
      const start = whole.length === 0 ? 0 : from % whole.length
      const names = namesOf(whole, ofEngine).slice(start, start + length)
      if (way === 'twice') return [...names, ...names]
      return way === 'from the root' ? names : names.toReversed()
    })
}

/** A run that takes no heed of content: names stand under several parents, twice in one run, and under themselves. */
const namedRun = fc
  .record({
    parent: fc.option(fc.constantFrom(...engineHashes), { nil: undefined }),
    blocks: fc.array(fc.tuple(fc.constantFrom(...engineHashes), fc.constantFrom(...contents)), {
      maxLength: 4,
    }),
  })
  .map(({ parent, blocks }) =>
    runOf(
      parent,
      blocks.map(([engine]) => engine),
      blocks.map(([, local]) => local),
    ),
  )

const someNames = fc.array(fc.constantFrom(...engineHashes), { maxLength: 4 })

interface Drawn {
  readonly tiers: fc.Arbitrary<number>
  readonly paths: fc.Arbitrary<Path>
  /** Where in a path a run begins, and how many blocks it has. */
  readonly position: fc.Arbitrary<number>
  readonly maxProbes: number
  /** Also ranks that all store the same. */
  readonly hasCrowd: boolean
}

function commandsOver({ tiers, paths, position, maxProbes, hasCrowd }: Drawn): fc.Arbitrary<IndexCommand>[] {
  const one = fc.nat({ max: 30 }).map((at) => crowd + at)
  const who = hasCrowd ? fc.oneof(rank, one) : rank
  const probes = fc.array(paths, { minLength: 1, maxLength: maxProbes })
  const stores = fc.tuple(who, tiers, partOf(paths, position), probes).map((drawn) => new Store(...drawn))
  const byMany = fc
    .tuple(fc.nat({ max: 3 }), fc.constantFrom(1, 2), tiers, partOf(paths, position), probes)
    .map((drawn) => new StoreByMany(...drawn))
  const names = fc.oneof(
    { weight: 3, arbitrary: namesIn(paths, position) },
    { weight: 2, arbitrary: someNames },
  )
  return [
    stores,
    stores,
    ...(hasCrowd ? [byMany] : []),
    fc.tuple(who, tiers, namedRun, probes).map((drawn) => new Store(...drawn)),
    fc.tuple(who, tiers, names, probes).map((drawn) => new Remove(...drawn)),
    fc
      .tuple(who, fc.nat({ max: 9 }), probes)
      .map(([one, dice, drawn]) => (dice === 0 ? new RemoveRank(one, drawn) : new Lookups(drawn))),
  ]
}

const anyTier = fc.oneof(
  { weight: 5, arbitrary: fc.constant(DEVICE) },
  { weight: 2, arbitrary: fc.constantFrom(HOST_PINNED, DISK, EXTERNAL) },
)
const short = { tiers: anyTier, paths: path, position: fc.nat({ max: 32 }), maxProbes: 3 }

/** All of them, each as often as engines would send it or more. */
export const commands = commandsOver({ ...short, hasCrowd: false })

/** The same with many ranks that store the same. */
export const crowdCommands = commandsOver({ ...short, hasCrowd: true })

const borders = [1, 2, 4095, 4096, 4097, 6000, 8192]

/** The same on the device tier, with runs of thousands of blocks, cut and joined at powers of two and near them. */
export const longCommands = commandsOver({
  tiers: fc.constant(DEVICE),
  paths: forkedPath(fc.constantFrom(...borders, 9000), borders),
  position: fc.constantFrom(0, ...borders),
  maxProbes: 1,
  hasCrowd: false,
})

abstract class Compared implements IndexCommand {
  readonly probes: readonly Path[]
  constructor(probes: readonly Path[]) {
    this.probes = probes
  }
  check(): boolean {
    return true
  }
  run(naive: NaiveIndex, index: BlockIndex): void {
    const expected = this.apply(naive)
    same('outcome', expected, this.apply(index))
    agree(naive, index, [...this.touched(), ...this.probes])
  }
  /** Paths that the command is about. */
  touched(): readonly Path[] {
    return []
  }
  abstract apply(index: BlockIndex): string
  abstract toString(): string
}

class Store extends Compared {
  readonly rank: number
  readonly tier: number
  readonly blocks: BlockRun
  constructor(who: number, where: number, blocks: BlockRun, paths: readonly Path[]) {
    super(paths)
    this.rank = who
    this.tier = where
    this.blocks = blocks
  }
  apply(index: BlockIndex): string {
    // Borrowed for the call: what stands there before and after must not matter.
    const { engine, local, count } = this.blocks
    const start = this.rank % 3
    const padded = (hashes: Uint32Array): Uint32Array => {
      const wide = new Uint32Array(2 * (start + count + 1)).fill(0xdead_beef)
      wide.set(hashes, 2 * start)
      return wide
    }
    const run = { ...this.blocks, engine: padded(engine), local: padded(local), start }
    const outcome = index.store(this.rank, this.tier, run)
    run.engine.fill(0xdead_beef)
    run.local.fill(0xdead_beef)
    return outcome
  }
  toString(): string {
    const { hasParent, parentLow, parentHigh, engine, local } = this.blocks
    const parent = hasParent ? hashOf(parentLow, parentHigh) : 'root'
    const [names, contents] = [hashesOf(engine).join(), hashesOf(local).join()]
    return `store(${this.rank}, ${TIERS[this.tier]}, ${parent}, [${names}], [${contents}])`
  }
}

/** Many ranks store the same run: more holders than a loop over them would be cheap for. */
class StoreByMany extends Compared {
  readonly stores: readonly Store[]
  constructor(first: number, step: number, where: number, blocks: BlockRun, paths: readonly Path[]) {
    super(paths)
    this.stores = Array.from(
      { length: 24 },
      (_, at) => new Store(crowd + first + step * at, where, blocks, []),
    )
  }
  apply(index: BlockIndex): string {
    return this.stores.map((store) => store.apply(index)).join()
  }
  toString(): string {
    return `[${this.stores.join(', ')}]`
  }
}

class Remove extends Compared {
  readonly rank: number
  readonly tier: number
  readonly names: readonly bigint[]
  constructor(who: number, where: number, removed: readonly bigint[], paths: readonly Path[]) {
    super(paths)
    this.rank = who
    this.tier = where
    this.names = removed
  }
  apply(index: BlockIndex): string {
    const start = this.rank % 2
    const hashes = hashWords([...Array.from({ length: start }, () => 1n), ...this.names, 2n])
    const outcome = index.remove(this.rank, this.tier, hashes, start, this.names.length)
    hashes.fill(0)
    return outcome
  }
  toString(): string {
    return `remove(${this.rank}, ${TIERS[this.tier]}, [${this.names.join()}])`
  }
}

class RemoveRank extends Compared {
  readonly rank: number
  constructor(who: number, paths: readonly Path[]) {
    super(paths)
    this.rank = who
  }
  apply(index: BlockIndex): string {
    index.removeRank(this.rank)
    return 'done'
  }
  toString(): string {
    return `removeRank(${this.rank})`
  }
}

class Lookups extends Compared {
  apply(): string {
    return 'done'
  }
  toString(): string {
    return `lookup(${this.probes.map((whole) => `[${whole.join()}]`).join()})`
  }
}

/** Rows as a host has them: not in the order of ranks; -1 for ranks that nobody asks for. */
function rowsOf(asked: readonly number[]): number[] {
  const rowOfRank = Array.from({ length: Math.max(...asked) + 2 }, () => -1)
  for (const [row, one] of asked.entries()) rowOfRank[one] = asked.length - 1 - row
  return rowOfRank
}

/** Throws where two indexes answer differently: sizes, holdings, matches of these paths with one table for all of them. */
function agree(naive: NaiveIndex, index: BlockIndex, paths: readonly Path[]): void {
  same('currentSize', naive.currentSize, index.currentSize)
  for (const one of ranks) same(`sizeOf(${one})`, naive.sizeOf(one), index.sizeOf(one))
  const everybody = [...new Set([...ranks, ...naive.ranks()])]
  for (const asked of [everybody, everybody.filter((one) => one !== 31)]) {
    const expected = new MatchTable(asked.length, rowsOf(asked))
    const actual = new MatchTable(asked.length, rowsOf(asked))
    for (const whole of paths) {
      const local = hashWords(whole)
      naive.lookup(local, whole.length, expected)
      index.lookup(local, whole.length, actual)
      same(`matches of [${whole.join()}]`, print(expected), print(actual))
    }
  }
  for (const whole of paths) sameHoldings(naive, index, namesOf(whole).at(-1) ?? words[0]!)
}

function sameHoldings(naive: NaiveIndex, index: BlockIndex, name: bigint): void {
  for (const one of ranks) {
    for (let at = 0; at < TIERS.length; at++) {
      const halfs = [lowOf(name), highOf(name)] as const
      same(
        `holds(${one}, ${TIERS[at]}, ${name})`,
        naive.holds(one, at, ...halfs),
        index.holds(one, at, ...halfs),
      )
    }
  }
}

function print(table: MatchTable): string {
  return table
    .all()
    .map((blocks, row) => (blocks.some((value) => value !== 0) ? `${row}: ${blocks.join('/')}` : ''))
    .filter((text) => text !== '')
    .join(', ')
}

function same(what: string, expected: unknown, actual: unknown): void {
  if (!Object.is(expected, actual))
    throw new Error(`${what}: the naive index says ${String(expected)}, this one ${String(actual)}`)
}
