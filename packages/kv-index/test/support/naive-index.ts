import type {
  BlockIndex,
  BlockRun,
  OverlapTarget,
  RemoveOutcome,
  StoreOutcome,
} from '../../src/block-index.js'
import type { DumpEvent } from '../../src/dump.js'
import { type HashWords, hashAt, hashOf, hashWords } from '../../src/hash-words.js'
import { DEVICE, TIERS } from '../../src/tier.js'

/** A place of the device tier: this content, under this name, behind this parent. */
interface Place {
  /** `undefined` = block 0. */
  readonly parent: Place | undefined
  readonly engine: bigint
  readonly local: bigint
  readonly holders: Set<number>
  readonly children: Children
}

/** Children by local hash; those of one local hash are twins, by engine hash. */
type Children = Map<bigint, Map<bigint, Place>>

/** A block of a lower tier; its engine hash is its identity. `parent` `undefined` = block 0. */
interface LowerBlock {
  readonly parent: bigint | undefined
  readonly local: bigint
  readonly holders: Set<number>
}

/**
 * The prefix index as its rules read (host.md 3.1 to 3.4): one object per block, a set of holders each, nothing compressed. Slow and
 * obvious; what the exact index is held against. Neither clears nor bounds anything by size.
 */
export class NaiveIndex implements BlockIndex {
  readonly blockSize: number
  /** Block 0 of every path. */
  readonly #roots: Children = new Map()
  /** Rank, engine hash -> the places that the rank holds under this name, the one stored last at the end. */
  readonly #names = new Map<number, Map<bigint, Place[]>>()
  /** By tier, engine hash; that of the device tier stays empty. */
  readonly #lower: readonly Map<bigint, LowerBlock>[] = TIERS.map(() => new Map())

  constructor(options: { readonly blockSize: number }) {
    this.blockSize = options.blockSize
  }

  get currentSize(): number {
    return [...this.#names.keys()].reduce((sum, rank) => sum + this.sizeOf(rank), 0)
  }

  sizeOf(rank: number): number {
    return [...this.#namesOf(rank).values()].reduce((sum, places) => sum + places.length, 0)
  }

  /** Ranks that hold something on some tier. */
  ranks(): Set<number> {
    const lower = this.#lower.flatMap((tier) => [...tier.values()].flatMap(({ holders }) => [...holders]))
    return new Set([...this.#names.keys(), ...lower])
  }

  store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    const blocks = blocksOf(run)
    const parent = run.hasParent ? hashOf(run.parentLow, run.parentHigh) : undefined
    if (blocks.some(({ engine }) => engine === parent)) return 'invalid_sequence'
    return tier === DEVICE
      ? this.#storeDevice(rank, parent, blocks)
      : this.#storeLower(rank, this.#lower[tier]!, parent, blocks)
  }

  #storeDevice(rank: number, parentHash: bigint | undefined, blocks: readonly Block[]): StoreOutcome {
    const names = this.#namesOf(rank)
    let parent = parentHash === undefined ? undefined : names.get(parentHash)?.at(-1)
    if (parentHash !== undefined && parent === undefined) return 'parent_not_found'
    let isNew = blocks.length === 0
    for (const block of blocks) {
      const place = this.#placeAt(parent, block)
      if (!place.holders.has(rank)) isNew = true
      place.holders.add(rank)
      const others = (names.get(block.engine) ?? []).filter((other) => other !== place)
      names.set(block.engine, [...others, place])
      parent = place
    }
    this.#names.set(rank, names)
    return isNew ? 'ok' : 'duplicate_store'
  }

  #storeLower(
    rank: number,
    tier: Map<bigint, LowerBlock>,
    parentHash: bigint | undefined,
    blocks: readonly Block[],
  ): StoreOutcome {
    let parent = parentHash
    for (const { engine, local } of blocks) {
      const known = tier.get(engine)
      if (known !== undefined && (known.parent !== parent || known.local !== local)) break
      // The rank has this content at this place already, under another name: the first one stays here too.
      if (hasTwin(tier, rank, engine, parent, local)) break
      const block = known ?? { parent, local, holders: new Set<number>() }
      block.holders.add(rank)
      tier.set(engine, block)
      parent = engine
    }
    // Unlike the device tier, which tells a repeated store.
    return 'ok'
  }

  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome {
    let outcome: RemoveOutcome = 'ok'
    for (let index = start; index < start + count; index++) {
      const hash = hashAt(engine, index)
      if (tier !== DEVICE) forgetLower(this.#lower[tier]!, hash, rank)
      else if (!this.#removeDevice(rank, hash)) outcome = 'block_not_found'
    }
    return outcome
  }

  #removeDevice(rank: number, hash: bigint): boolean {
    const names = this.#namesOf(rank)
    const places = names.get(hash)
    if (places === undefined) return false
    names.delete(hash)
    for (const place of places) {
      place.holders.delete(rank)
      this.#prune(place)
    }
    return true
  }

  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean {
    const hash = hashOf(engineLow, engineHigh)
    if (tier === DEVICE) return this.#namesOf(rank).has(hash)
    return this.#lower[tier]!.get(hash)?.holders.has(rank) ?? false
  }

  removeRank(rank: number): void {
    for (const hash of this.#namesOf(rank).keys()) this.#removeDevice(rank, hash)
    this.#names.delete(rank)
    for (const tier of this.#lower) {
      for (const hash of tier.keys()) forgetLower(tier, hash, rank)
    }
  }

  lookup(local: HashWords, count: number, target: OverlapTarget): void {
    const { rowOfRank, rows, deviceBlocks, hostBlocks, diskBlocks, externalBlocks } = target
    const columns = [deviceBlocks, hostBlocks, diskBlocks, externalBlocks]
    for (const row of rows.subarray(0, target.count)) {
      for (const column of columns) column[row] = 0
    }
    target.count = 0
    const path = Array.from({ length: count }, (_, index) => hashAt(local, index))
    for (const [rank, row] of rowOfRank.entries()) {
      if (row < 0) continue
      const blocks = this.match(rank, path)
      if (blocks.every((value) => value === 0)) continue
      for (const [tier, column] of columns.entries()) column[row] = blocks[tier]!
      rows[target.count++] = row
    }
  }

  /** By tier, the blocks of a prompt that a rank holds: the device prefix, and how far each lower tier extends it. */
  match(rank: number, path: readonly bigint[]): number[] {
    // Twins make several places, and so several names, of one content.
    let places: Place[] = []
    let position = 0
    for (; position < path.length; position++) {
      const under = position === 0 ? [this.#roots] : places.map(({ children }) => children)
      const next = under
        .flatMap((children) => [...(children.get(path[position]!)?.values() ?? [])])
        .filter(({ holders }) => holders.has(rank))
      if (next.length === 0) break
      places = next
    }
    const blocks = [position]
    let names: (bigint | undefined)[] = position === 0 ? [undefined] : places.map(({ engine }) => engine)
    for (const tier of this.#lower.slice(1)) {
      const entered = position
      for (; position < path.length; position++) {
        const next: bigint[] = []
        for (const [engine, { parent, local, holders }] of tier) {
          if (local === path[position] && holders.has(rank) && names.includes(parent)) next.push(engine)
        }
        if (next.length === 0) break
        names = next
      }
      blocks.push(position - entered)
    }
    return blocks
  }

  /**
   * What every rank holds, as stores: breadth first, one per linear chain, ranks and tiers in turn. A device block behind a hole has no
   * parent to be stored below and is left out: it matches nothing.
   */
  *dump(): Iterable<DumpEvent> {
    for (const [rank, names] of this.#names) yield* this.#dumpDevice(rank, names)
    for (const [tier, blocks] of this.#lower.entries()) yield* dumpLower(tier, blocks)
  }

  *#dumpDevice(rank: number, names: ReadonlyMap<bigint, readonly Place[]>): Iterable<DumpEvent> {
    const heldAmong = (children: Children): Place[] =>
      [...children.values()]
        .flatMap((twins) => [...twins.values()])
        .filter(({ holders }) => holders.has(rank))
    const queue = heldAmong(this.#roots)
    for (const first of queue) {
      const chain = [first]
      let children = heldAmong(first.children)
      while (children.length === 1) {
        chain.push(children[0]!)
        children = heldAmong(children[0]!.children)
      }
      queue.push(...children)
      // A name with several places says nothing about which one is meant: such a chain starts at the root.
      while (chain[0]!.parent !== undefined && names.get(chain[0]!.parent.engine)!.length > 1)
        chain.unshift(chain[0]!.parent)
      yield dumpEntry(rank, DEVICE, chain[0]!.parent?.engine, chain)
    }
  }

  #namesOf(rank: number): Map<bigint, Place[]> {
    return this.#names.get(rank) ?? new Map<bigint, Place[]>()
  }

  #placeAt(parent: Place | undefined, { engine, local }: Block): Place {
    const children = parent?.children ?? this.#roots
    const twins = children.get(local) ?? new Map<bigint, Place>()
    const place = twins.get(engine) ?? { parent, engine, local, holders: new Set(), children: new Map() }
    twins.set(engine, place)
    children.set(local, twins)
    return place
  }

  /** A place with neither holders nor children goes, and then perhaps the one before it. */
  #prune(leaf: Place): void {
    let place: Place | undefined = leaf
    while (place !== undefined && place.holders.size === 0 && place.children.size === 0) {
      const siblings: Children = place.parent?.children ?? this.#roots
      const twins = siblings.get(place.local)
      // Pruned already, as the second place of a name below the first.
      if (twins?.get(place.engine) !== place) return
      twins.delete(place.engine)
      if (twins.size === 0) siblings.delete(place.local)
      place = place.parent
    }
  }
}

interface Block {
  readonly engine: bigint
  readonly local: bigint
}

function blocksOf({ engine, local, start, count }: BlockRun): Block[] {
  return Array.from({ length: count }, (_, index) => ({
    engine: hashAt(engine, start + index),
    local: hashAt(local, start + index),
  }))
}

function hasTwin(
  tier: Map<bigint, LowerBlock>,
  rank: number,
  engine: bigint,
  parent: bigint | undefined,
  local: bigint,
): boolean {
  return [...tier].some(
    ([name, block]) =>
      name !== engine && block.parent === parent && block.local === local && block.holders.has(rank),
  )
}

function forgetLower(tier: Map<bigint, LowerBlock>, hash: bigint, rank: number): void {
  const block = tier.get(hash)
  block?.holders.delete(rank)
  if (block?.holders.size === 0) tier.delete(hash)
}

function* dumpLower(tier: number, blocks: ReadonlyMap<bigint, LowerBlock>): Iterable<DumpEvent> {
  for (const [engine, { parent, local, holders }] of blocks) {
    for (const rank of holders) yield dumpEntry(rank, tier, parent, [{ engine, local }])
  }
}

function dumpEntry(
  rank: number,
  tier: number,
  parent: bigint | undefined,
  blocks: readonly Block[],
): DumpEvent {
  return {
    rank,
    tier,
    hasParent: parent !== undefined,
    parent: parent ?? 0n,
    engine: hashWords(blocks.map(({ engine }) => engine)),
    local: hashWords(blocks.map(({ local }) => local)),
  }
}
