import type { BlockRun } from './block-index.js'
import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import { LowerBlocks } from './lower-blocks.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import { CUT, LENGTH, LISTED, MAX_RUN, START } from './pool/edge-holders.js'
import { EdgeSweep } from './pool/edge-sweep.js'
import { fingerprintOf } from './pool/hash-table.js'

/**
 * A tier below the device (host.md 3.2): blocks are known by engine hash alone, the parent usually lies on another tier. The first
 * store of a block decides on its parent and content.
 */
export class LowerTier {
  readonly blocks = new LowerBlocks()
  /** (holder, block) pairs. */
  heldBlocks = 0
  readonly #registry: HolderRegistry
  readonly #sweep = new EdgeSweep()

  constructor(registry: HolderRegistry) {
    this.#registry = registry
  }

  store(holder: number, run: BlockRun): void {
    const { engine, local, start, count } = run
    const end = start + count
    let { hasParent } = run
    let parentLow = run.parentLow | 0
    let parentHigh = run.parentHigh | 0
    for (let block = start; block < end;) {
      const position = this.blocks.find(engine[2 * block]! | 0, engine[2 * block + 1]! | 0)
      if (this.#hasTwin(holder, hasParent, parentLow, parentHigh, engine, local, block)) return
      if (position >= 0) {
        if (!this.blocks.agrees(position, hasParent, parentLow, parentHigh, local, block)) return
        block += this.#gain(holder, position, engine, local, block, end)
      } else block += this.#add(holder, hasParent, parentLow, parentHigh, engine, local, block, end)
      hasParent = true
      parentLow = engine[2 * block - 2]! | 0
      parentHigh = engine[2 * block - 1]! | 0
    }
  }

  /** Unknown blocks are skipped. */
  remove(holder: number, engine: HashWords, start: number, count: number): void {
    for (let at = 2 * start; at < 2 * (start + count); at += 2) {
      this.#removeBlock(holder, engine[at]! | 0, engine[at + 1]! | 0)
    }
  }

  #removeBlock(holder: number, low: number, high: number): void {
    const { records, holders } = this.blocks
    const position = this.blocks.find(low, high)
    if (position < 0) return
    let edge = this.blocks.pool.ownerOf(position)
    const at = position - records.get(edge + START)
    let entry = holders.find(edge, holder)
    if (entry < 0 || records.get(entry + CUT) <= at) return
    if (at < records.get(entry + CUT) - 1) {
      edge = this.blocks.split(edge, at + 1, true)
      entry = holders.find(edge, holder)
    }
    this.#lose(edge, entry, at)
    this.blocks.trim(edge)
  }

  holds(holder: number, low: number, high: number): boolean {
    const position = this.blocks.find(low, high)
    if (position < 0) return false
    const edge = this.blocks.pool.ownerOf(position)
    const entry = this.blocks.holders.find(edge, holder)
    return (
      entry >= 0 && this.blocks.records.get(entry + CUT) > position - this.blocks.records.get(edge + START)
    )
  }

  /** Drops holders that are gone from about as many edges; false = the last edge is done. */
  sweep(edges: number): boolean {
    return this.#sweep.drop(
      this.blocks,
      edges,
      this.#registry.rankOf,
      (edge, entry) => this.#lose(edge, entry, 0),
      (edge) => this.blocks.trim(edge),
    )
  }

  /** Gives a holder the known blocks of a run, from a known one to the end of its edge at most; how many. */
  #gain(
    holder: number,
    position: number,
    engine: HashWords,
    local: HashWords,
    block: number,
    end: number,
  ): number {
    const { records, holders } = this.blocks
    let edge = this.blocks.pool.ownerOf(position)
    let from = position - records.get(edge + START)
    const limit = Math.min(records.get(edge + LENGTH) - from, end - block)
    let blocks = 1
    while (
      blocks < limit &&
      this.blocks.isSame(position + blocks, engine, local, block + blocks) &&
      !this.#hasTwinInRun(holder, engine, local, block + blocks)
    )
      blocks++
    let entry = holders.find(edge, holder)
    if (from > 0 && (entry < 0 || records.get(entry + CUT) < from)) {
      edge = this.blocks.split(edge, from, false)
      from = 0
      entry = -1
    }
    if (entry < 0) entry = holders.insert(edge, holder)
    const cut = records.get(entry + CUT)
    if (from + blocks > cut) {
      records.set(entry + CUT, from + blocks)
      this.#count(holder, from + blocks - cut)
    }
    return blocks
  }

  #hasTwinInRun(holder: number, engine: HashWords, local: HashWords, block: number): boolean {
    return this.#hasTwin(
      holder,
      true,
      engine[2 * block - 2]! | 0,
      engine[2 * block - 1]! | 0,
      engine,
      local,
      block,
    )
  }

  /** Whether the holder has the content of a block at the same place under another name: the first one stays. */
  #hasTwin(
    holder: number,
    hasParent: boolean,
    parentLow: number,
    parentHigh: number,
    engine: HashWords,
    local: HashWords,
    block: number,
  ): boolean {
    const { records, holders } = this.blocks
    const low = local[2 * block]! | 0
    const high = local[2 * block + 1]! | 0
    let edge = this.blocks.head(hasParent, parentLow, parentHigh, low, high)
    for (; edge !== 0; edge = this.blocks.nextHead(hasParent, parentLow, parentHigh, low, high)) {
      const isOther = !this.blocks.pool.hasEngine(
        records.get(edge + START),
        engine[2 * block]! | 0,
        engine[2 * block + 1]! | 0,
      )
      if (isOther && holders.find(edge, holder) >= 0) return true
    }
    const before = hasParent ? this.blocks.find(parentLow, parentHigh) : -1
    if (before < 0) return false
    const owner = this.blocks.pool.ownerOf(before)
    const next = before + 1 - records.get(owner + START)
    if (next === records.get(owner + LENGTH) || !this.blocks.pool.hasLocal(before + 1, low, high))
      return false
    if (this.blocks.pool.hasEngine(before + 1, engine[2 * block]! | 0, engine[2 * block + 1]! | 0))
      return false
    const entry = holders.find(owner, holder)
    return entry >= 0 && records.get(entry + CUT) > next
  }

  /** Adds the unknown blocks at the front of what is left of a run; how many. */
  #add(
    holder: number,
    hasParent: boolean,
    parentLow: number,
    parentHigh: number,
    engine: HashWords,
    local: HashWords,
    block: number,
    end: number,
  ): number {
    const { records, pool } = this.blocks
    const wanted = Math.min(end - block, MAX_RUN)
    const before = hasParent ? this.blocks.find(parentLow, parentHigh) : -1
    const grown = before < 0 ? 0 : this.#growable(before, holder)
    const room =
      grown === 0 ? 0 : pool.extend(before + 1, Math.min(wanted, MAX_RUN - records.get(grown + LENGTH)))
    const position = room > 0 ? before + 1 : pool.allocate(wanted)
    const reserved = room > 0 ? room : pool.granted
    pool.own(position, reserved, grown === 0 ? 1 : grown)
    const blocks = this.#name(holder, position, engine, local, block, Math.min(reserved, wanted))
    if (blocks < reserved) pool.release(position + blocks, reserved - blocks)
    this.#count(holder, blocks)
    if (room > 0) {
      records.add(grown + LENGTH, blocks)
      records.add(this.blocks.holders.first(grown) + CUT, blocks)
      return blocks
    }
    const edge = this.blocks.newEdge(position, blocks)
    this.blocks.setParent(edge, hasParent, parentLow, parentHigh)
    records.set(this.blocks.holders.insert(edge, holder) + CUT, blocks)
    return blocks
  }

  /** Writes and names blocks up to the first one whose name is taken; how many, at least one. */
  #name(
    holder: number,
    position: number,
    engine: HashWords,
    local: HashWords,
    block: number,
    count: number,
  ): number {
    const engines = this.blocks.pool.engine[position >>> BLOCK_SHIFT]!
    const locals = this.blocks.pool.local[position >>> BLOCK_SHIFT]!
    for (let index = 0; index < count; index++) {
      const from = 2 * (block + index)
      const low = engine[from]! | 0
      const high = engine[from + 1]! | 0
      if (index > 0 && this.blocks.find(low, high) >= 0) return index
      if (index > 0 && this.#hasTwinInRun(holder, engine, local, block + index)) return index
      const to = 2 * ((position + index) & BLOCK_MASK)
      engines[to] = low
      engines[to + 1] = high
      locals[to] = local[from]!
      locals[to + 1] = local[from + 1]!
      this.blocks.names.insert(fingerprintOf(low, high, 0), position + index)
    }
    return count
  }

  /** The edge that ends with a block, if only this holder has it, whole; 0 = it cannot grow. */
  #growable(position: number, holder: number): number {
    const { records } = this.blocks
    const edge = this.blocks.pool.ownerOf(position)
    const length = records.get(edge + LENGTH)
    if (position !== records.get(edge + START) + length - 1 || records.get(edge + LISTED) !== 1) return 0
    const entry = this.blocks.holders.first(edge)
    return records.get(entry) === holder && length < MAX_RUN ? edge : 0
  }

  /** Takes all blocks from `to` on from a holder. */
  #lose(edge: number, entry: number, to: number): void {
    const { records } = this.blocks
    this.#count(records.get(entry), to - records.get(entry + CUT))
    if (to === 0) this.blocks.holders.remove(edge, entry)
    else this.blocks.records.set(entry + CUT, to)
  }

  #count(holder: number, blocks: number): void {
    this.heldBlocks += blocks
    this.#registry.countLower(holder, blocks)
  }
}
