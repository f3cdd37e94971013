import type { BlockRun, StoreOutcome } from './block-index.js'
import { DeviceHolding } from './device-holding.js'
import { DeviceNames } from './device-names.js'
import { DeviceTree, ROOT } from './device-tree.js'
import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import {
  CHILD,
  CHILDREN,
  CUT,
  FULL,
  HOLDERS,
  INDEXED,
  LENGTH,
  LISTED,
  MAX_RUN,
  PARENT,
  SLACK,
  START,
} from './pool/edge-holders.js'
import { EdgeSweep } from './pool/edge-sweep.js'

/** The most blocks reserved behind an edge that grows by few blocks at a time. */
const GROWTH_SLACK = 16

/** The device tier: stores, removals and the sweep of holders that are gone, over the tree and the table of names. */
export class DeviceTier {
  readonly tree = new DeviceTree()
  readonly names = new DeviceNames(this.tree)
  readonly #registry: HolderRegistry
  readonly #holding: DeviceHolding
  readonly #sweep = new EdgeSweep()

  constructor(registry: HolderRegistry) {
    this.#registry = registry
    this.#holding = new DeviceHolding(this.tree, this.names, registry)
  }

  store(holder: number, run: BlockRun): StoreOutcome {
    const { tree, names } = this
    const { records } = tree
    const { engine, local, start, count } = run
    let edge = ROOT
    let at = 0
    if (run.hasParent) {
      const parent = names.placeOf(holder, run.parentLow | 0, run.parentHigh | 0)
      if (parent < 0) return 'parent_not_found'
      edge = tree.pool.ownerOf(parent)
      at = parent - records.get(edge + START) + 1
    }
    const end = start + count
    let block = start
    let gained = 0
    while (block < end) {
      if (edge !== ROOT) {
        const matched = this.#matching(edge, at, engine, local, block, end)
        gained += this.#holding.cover(holder, edge, at, at + matched)
        names.noteStored(holder, records.get(edge + START) + at, matched)
        block += matched
        at += matched
        const length = records.get(edge + LENGTH)
        if (at < length && block < end) edge = tree.split(edge, at)
        else if (at === length) edge = tree.join(edge)
        if (block === end) break
      }
      const child = this.#childNamed(edge, engine, local, block)
      if (child === 0) {
        gained += end - block
        edge = this.#append(holder, edge, engine, local, block, end)
        break
      }
      edge = child
      at = 0
    }
    this.#joinChild(edge)
    return gained === 0 && count > 0 ? 'duplicate_store' : 'ok'
  }

  /** False when the holder does not have one of the blocks; the others are gone. */
  remove(holder: number, engine: HashWords, start: number, count: number): boolean {
    const { names } = this
    let isComplete = true
    for (let at = 2 * start; at < 2 * (start + count); at += 2) {
      const low = engine[at]! | 0
      const high = engine[at + 1]! | 0
      let position = names.placeOf(holder, low, high)
      if (position < 0) isComplete = false
      else if (names.isPlain) at += this.#removeRun(holder, position, engine, at, 2 * (start + count))
      else {
        names.forget(holder, low, high)
        for (; position >= 0; position = names.placeOf(holder, low, high)) {
          this.#removeRun(holder, position, engine, at, at + 2)
        }
      }
    }
    return isComplete
  }

  /** Drops holders that are gone from about as many edges; false = the last edge is done. */
  sweep(edges: number): boolean {
    return this.#sweep.drop(
      this.tree,
      edges,
      this.#registry.rankOf,
      (edge, entry, holder) => this.#holding.uncover(holder, edge, entry, 0),
      (edge) => this.#settle(edge),
    )
  }

  /**
   * Removes a block, and the blocks beside it that the following hashes name, up or down the edge.
   * @param at word of the first hash, @param end word behind the last one
   * @returns words of hashes done beyond the first
   */
  #removeRun(holder: number, position: number, engine: HashWords, at: number, end: number): number {
    const { records, holders, pool } = this.tree
    let edge = pool.ownerOf(position)
    let entry = holders.find(edge, holder)
    const words = pool.engine[position >>> BLOCK_SHIFT]!
    const first = 2 * (records.get(edge + START) & BLOCK_MASK)
    const mine = 2 * (position & BLOCK_MASK)
    const up = Math.min(end, at + first + 2 * records.get(entry + CUT) - mine)
    const down = Math.min(end, at + mine - first + 2)
    let to = at + 2
    while (to < up && isSame(words, mine + to - at, engine, to)) to += 2
    const isUp = to > at + 2
    while (!isUp && to < down && isSame(words, mine - to + at, engine, to)) to += 2
    const blocks = (to - at) >> 1
    const from = (mine - first) / 2 - (isUp ? 0 : blocks - 1)
    if (from + blocks < records.get(entry + CUT)) {
      // A hole: what lies behind it becomes an edge of its own.
      edge = this.tree.split(edge, from + blocks)
      entry = holders.find(edge, holder)
    }
    this.#holding.uncover(holder, edge, entry, from)
    this.#settle(edge)
    return to - at - 2
  }

  /** After blocks of an edge were lost: gives back what nobody has and nothing hangs on, upwards, and joins what is alike. */
  #settle(changed: number): void {
    const { tree } = this
    const { records, pool } = tree
    let edge = changed
    while (edge !== ROOT && records.get(edge + CHILDREN) === 0) {
      const kept = records.get(edge + INDEXED)
      const length = records.get(edge + LENGTH)
      if (kept === length) break
      if (kept === 0) {
        const parent = records.get(edge + PARENT)
        tree.drop(edge)
        edge = parent
        continue
      }
      const slack = records.get(edge + SLACK) + length - kept
      records.set(edge + LENGTH, kept)
      records.set(edge + FULL, this.#holding.countFull(edge, kept))
      if (slack > kept >> 2) pool.release(records.get(edge + START) + kept, slack)
      records.set(edge + SLACK, slack > kept >> 2 ? 0 : slack)
      break
    }
    if (edge !== ROOT) this.#joinChild(tree.join(edge))
  }

  #joinChild(edge: number): void {
    const child = edge === ROOT ? 0 : this.tree.records.get(edge + CHILD)
    if (child > 0) this.tree.join(child)
  }

  /** Blocks of an edge, from `at` on, that are those of the run. */
  #matching(
    edge: number,
    at: number,
    engine: HashWords,
    local: HashWords,
    block: number,
    end: number,
  ): number {
    const { records, pool } = this.tree
    const position = records.get(edge + START) + at
    const locals = pool.local[position >>> BLOCK_SHIFT]!
    const engines = pool.engine[position >>> BLOCK_SHIFT]!
    const limit = 2 * (block + Math.min(end - block, records.get(edge + LENGTH) - at))
    let mine = 2 * (position & BLOCK_MASK)
    let theirs = 2 * block
    while (
      theirs < limit &&
      locals[mine] === (local[theirs]! | 0) &&
      engines[mine] === (engine[theirs]! | 0) &&
      locals[mine + 1] === (local[theirs + 1]! | 0) &&
      engines[mine + 1] === (engine[theirs + 1]! | 0)
    ) {
      mine += 2
      theirs += 2
    }
    return (theirs >> 1) - block
  }

  /** The child that begins with a block of the run, by content and by name; 0 = none. */
  #childNamed(edge: number, engine: HashWords, local: HashWords, block: number): number {
    const { tree } = this
    const low = local[2 * block]! | 0
    const high = local[2 * block + 1]! | 0
    const nameLow = engine[2 * block]! | 0
    const nameHigh = engine[2 * block + 1]! | 0
    let child = tree.child(edge, low, high)
    while (child !== 0 && !tree.pool.hasEngine(tree.records.get(child + START), nameLow, nameHigh)) {
      child = tree.nextTwin(edge, low, high)
    }
    return child
  }

  /** Adds the blocks of a run from `block` on behind an edge, which the holder has whole; returns the last edge. */
  #append(
    holder: number,
    behind: number,
    engine: HashWords,
    local: HashWords,
    from: number,
    end: number,
  ): number {
    const { tree } = this
    const { records, pool } = tree
    let edge = behind
    let block = from
    const canGrow = edge !== ROOT && this.#isSoleLeaf(edge, holder)
    if (canGrow) block += this.#extend(holder, edge, engine, local, block, end)
    while (block < end) {
      const wanted = Math.min(end - block, MAX_RUN)
      const spare = canGrow && wanted < GROWTH_SLACK ? Math.min(GROWTH_SLACK, records.get(edge + LENGTH)) : 0
      const position = pool.allocate(wanted + spare)
      const blocks = Math.min(wanted, pool.granted)
      this.#write(position, engine, local, block, blocks)
      edge = tree.add(edge, position, blocks, pool.granted - blocks)
      this.#holding.cover(holder, edge, 0, blocks)
      this.names.noteStored(holder, position, blocks)
      block += blocks
    }
    return edge
  }

  #isSoleLeaf(edge: number, holder: number): boolean {
    const { records } = this.tree
    return (
      records.get(edge + CHILDREN) === 0 &&
      records.get(edge + LISTED) === 1 &&
      records.get(edge + HOLDERS) === holder &&
      records.get(edge + FULL) === 1
    )
  }

  /** Lets a leaf that one holder has alone grow where it lies; by how many blocks. */
  #extend(
    holder: number,
    edge: number,
    engine: HashWords,
    local: HashWords,
    block: number,
    end: number,
  ): number {
    const { records, pool } = this.tree
    const length = records.get(edge + LENGTH)
    const slack = records.get(edge + SLACK)
    const behind = records.get(edge + START) + length
    const wanted = Math.min(end - block, MAX_RUN - length)
    let blocks = Math.min(wanted, slack)
    if (blocks < wanted) {
      const more = pool.extend(behind + blocks, wanted - blocks)
      pool.own(behind + blocks, more, edge)
      blocks += more
      records.set(edge + SLACK, 0)
    } else records.set(edge + SLACK, slack - blocks)
    if (blocks === 0) return 0
    this.#write(behind, engine, local, block, blocks)
    records.set(edge + LENGTH, length + blocks)
    // The holder was a full one and will be one again.
    records.set(edge + FULL, 0)
    this.#holding.cover(holder, edge, length, length + blocks)
    this.names.noteStored(holder, behind, blocks)
    return blocks
  }

  #write(position: number, engine: HashWords, local: HashWords, block: number, blocks: number): void {
    const { pool } = this.tree
    const locals = pool.local[position >>> BLOCK_SHIFT]!
    const engines = pool.engine[position >>> BLOCK_SHIFT]!
    let to = 2 * (position & BLOCK_MASK)
    for (let from = 2 * block; from < 2 * (block + blocks); from++, to++) {
      locals[to] = local[from]!
      engines[to] = engine[from]!
    }
  }
}

function isSame(words: Int32Array, at: number, engine: HashWords, other: number): boolean {
  return words[at] === (engine[other]! | 0) && words[at + 1] === (engine[other + 1]! | 0)
}
