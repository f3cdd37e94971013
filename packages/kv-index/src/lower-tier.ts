import type { BlockRun } from './block-index.js'
import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import { BLOCK_MASK, BLOCK_SHIFT, BlockPool } from './pool/block-pool.js'
import {
  CHILD,
  CUT,
  EDGE_WORDS,
  ENTRY_WORDS,
  EdgeHolders,
  LENGTH,
  LISTED,
  ORPHANS,
  PARENT,
  SLACK,
  START,
} from './pool/edge-holders.js'
import { EdgeSweep } from './pool/edge-sweep.js'
import { HashTable, fingerprintOf } from './pool/hash-table.js'
import { RecordChunks } from './pool/record-chunks.js'

const MAX_RUN = 1 << 12

// Words of an edge that mean something else here: edges know the name of the block before, not an edge.
const HAS_PARENT = PARENT
const PARENT_LOW = CHILD
const PARENT_HIGH = ORPHANS

/**
 * A tier below the device (host.md 3.2): blocks are known by engine hash alone, the parent usually lies on another tier. The first
 * store of a block decides on its parent and content. Runs of blocks as edges; a walk goes from block to block by (engine hash of the one
 * before, local hash). Every block of an edge has a holder.
 */
export class LowerTier {
  readonly records = new RecordChunks()
  readonly pool = new BlockPool()
  readonly holders = new EdgeHolders(this.records)
  edges = 0
  /** (holder, block) pairs. */
  heldBlocks = 0
  readonly #registry: HolderRegistry
  readonly #names = new HashTable()
  // Edges by name of the block before and local hash of their first block.
  readonly #heads = new HashTable()
  readonly #sweep = new EdgeSweep()

  constructor(registry: HolderRegistry) {
    this.#registry = registry
    // No edge has the address 0: it means free.
    this.records.allocate(EDGE_WORDS)
  }

  /** Different blocks that somebody holds. */
  get liveBlocks(): number {
    return this.#names.size
  }

  get tableEntries(): number {
    return this.#names.capacity + this.#heads.capacity
  }

  store(holder: number, run: BlockRun): void {
    const { engine, local, start, count } = run
    const end = start + count
    let { hasParent } = run
    let parentLow = run.parentLow | 0
    let parentHigh = run.parentHigh | 0
    for (let block = start; block < end;) {
      const position = this.find(engine[2 * block]! | 0, engine[2 * block + 1]! | 0)
      if (this.#hasTwin(holder, hasParent, parentLow, parentHigh, engine, local, block)) return
      if (position >= 0) {
        if (!this.#agrees(position, hasParent, parentLow, parentHigh, local, block)) return
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
    const { records, holders } = this
    const position = this.find(low, high)
    if (position < 0) return
    let edge = this.ownerOf(position)
    const at = position - records.get(edge + START)
    let entry = holders.find(edge, holder)
    if (entry < 0 || records.get(entry + CUT) <= at) return
    if (at < records.get(entry + CUT) - 1) {
      edge = this.#split(edge, at + 1, true)
      entry = holders.find(edge, holder)
    }
    this.#lose(edge, entry, at)
    this.#trim(edge)
  }

  holds(holder: number, low: number, high: number): boolean {
    const position = this.find(low, high)
    if (position < 0) return false
    const edge = this.ownerOf(position)
    const entry = this.holders.find(edge, holder)
    return entry >= 0 && this.records.get(entry + CUT) > position - this.records.get(edge + START)
  }

  /** Drops holders that are gone from about as many edges; false = the last edge is done. */
  sweep(edges: number): boolean {
    const { pool, records, holders } = this
    const { rankOf } = this.#registry
    for (let left = edges; left > 0;) {
      const edge = this.#sweep.next(pool, records)
      if (edge < 0) return false
      left--
      if (edge === 0) continue
      left -= records.get(edge + LISTED) >> 3
      let isChanged = false
      for (let index = records.get(edge + LISTED) - 1; index >= 0; index--) {
        const entry = holders.first(edge) + index * ENTRY_WORDS
        if (rankOf[records.get(entry)]! >= 0) continue
        left -= records.get(entry + CUT) >> 3
        this.#lose(edge, entry, 0)
        isChanged = true
      }
      if (isChanged) this.#trim(edge)
    }
    return true
  }

  /** Position of a block, -1 = nobody has it. */
  find(low: number, high: number): number {
    const fingerprint = fingerprintOf(low, high, 0)
    let found = this.#names.seek(fingerprint)
    while (found >= 0 && !this.isNamed(found, low, high)) found = this.#names.next(fingerprint)
    return found
  }

  ownerOf(position: number): number {
    return this.pool.owner[position >>> BLOCK_SHIFT]![position & BLOCK_MASK]!
  }

  isNamed(position: number, low: number, high: number): boolean {
    const words = this.pool.engine[position >>> BLOCK_SHIFT]!
    const at = 2 * (position & BLOCK_MASK)
    return words[at] === low && words[at + 1] === high
  }

  hasContent(position: number, low: number, high: number): boolean {
    const words = this.pool.local[position >>> BLOCK_SHIFT]!
    const at = 2 * (position & BLOCK_MASK)
    return words[at] === low && words[at + 1] === high
  }

  /** First edge that begins with this content behind this name, 0 = none. `nextHead` gives further ones. */
  head(hasParent: boolean, parentLow: number, parentHigh: number, low: number, high: number): number {
    const fingerprint = headFingerprint(hasParent, parentLow, parentHigh, low, high)
    return this.#verifiedHead(
      fingerprint,
      hasParent,
      parentLow,
      parentHigh,
      low,
      high,
      this.#heads.seek(fingerprint),
    )
  }

  nextHead(hasParent: boolean, parentLow: number, parentHigh: number, low: number, high: number): number {
    const fingerprint = headFingerprint(hasParent, parentLow, parentHigh, low, high)
    return this.#verifiedHead(
      fingerprint,
      hasParent,
      parentLow,
      parentHigh,
      low,
      high,
      this.#heads.next(fingerprint),
    )
  }

  hasParent(edge: number): boolean {
    return this.records.get(edge + HAS_PARENT) === 1
  }

  parentLow(edge: number): number {
    return this.records.get(edge + PARENT_LOW)
  }

  parentHigh(edge: number): number {
    return this.records.get(edge + PARENT_HIGH)
  }

  #verifiedHead(
    fingerprint: number,
    hasParent: boolean,
    parentLow: number,
    parentHigh: number,
    low: number,
    high: number,
    found: number,
  ): number {
    let edge = found
    while (edge > 0) {
      const isChild = this.#continues(edge, hasParent, parentLow, parentHigh)
      if (isChild && this.hasContent(this.records.get(edge + START), low, high)) return edge
      edge = this.#heads.next(fingerprint)
    }
    return 0
  }

  #continues(edge: number, hasParent: boolean, parentLow: number, parentHigh: number): boolean {
    if (this.hasParent(edge) !== hasParent) return false
    return !hasParent || (this.parentLow(edge) === parentLow && this.parentHigh(edge) === parentHigh)
  }

  /** Whether a known block has the content and the parent that a store says. */
  #agrees(
    position: number,
    hasParent: boolean,
    parentLow: number,
    parentHigh: number,
    local: HashWords,
    block: number,
  ): boolean {
    if (!this.hasContent(position, local[2 * block]! | 0, local[2 * block + 1]! | 0)) return false
    const edge = this.ownerOf(position)
    if (position === this.records.get(edge + START))
      return this.#continues(edge, hasParent, parentLow, parentHigh)
    return hasParent && this.isNamed(position - 1, parentLow, parentHigh)
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
    const { records, holders } = this
    let edge = this.ownerOf(position)
    let from = position - records.get(edge + START)
    const limit = Math.min(records.get(edge + LENGTH) - from, end - block)
    let blocks = 1
    while (
      blocks < limit &&
      this.#isSame(position + blocks, engine, local, block + blocks) &&
      !this.#hasTwinInRun(holder, engine, local, block + blocks)
    )
      blocks++
    let entry = holders.find(edge, holder)
    if (from > 0 && (entry < 0 || records.get(entry + CUT) < from)) {
      edge = this.#split(edge, from, false)
      from = 0
      entry = -1
    }
    if (entry < 0) entry = holders.insert(edge, holder)
    const cut = records.get(entry + CUT)
    if (from + blocks > cut) {
      records.set(entry + CUT, from + blocks)
      this.heldBlocks += from + blocks - cut
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
    const { records, holders } = this
    const low = local[2 * block]! | 0
    const high = local[2 * block + 1]! | 0
    let edge = this.head(hasParent, parentLow, parentHigh, low, high)
    for (; edge !== 0; edge = this.nextHead(hasParent, parentLow, parentHigh, low, high)) {
      const isOther = !this.isNamed(
        records.get(edge + START),
        engine[2 * block]! | 0,
        engine[2 * block + 1]! | 0,
      )
      if (isOther && holders.find(edge, holder) >= 0) return true
    }
    const before = hasParent ? this.find(parentLow, parentHigh) : -1
    if (before < 0) return false
    const owner = this.ownerOf(before)
    const next = before + 1 - records.get(owner + START)
    if (next === records.get(owner + LENGTH) || !this.hasContent(before + 1, low, high)) return false
    if (this.isNamed(before + 1, engine[2 * block]! | 0, engine[2 * block + 1]! | 0)) return false
    const entry = holders.find(owner, holder)
    return entry >= 0 && records.get(entry + CUT) > next
  }

  #isSame(position: number, engine: HashWords, local: HashWords, block: number): boolean {
    return (
      this.hasContent(position, local[2 * block]! | 0, local[2 * block + 1]! | 0) &&
      this.isNamed(position, engine[2 * block]! | 0, engine[2 * block + 1]! | 0)
    )
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
    const { records, pool } = this
    const wanted = Math.min(end - block, MAX_RUN)
    const before = hasParent ? this.find(parentLow, parentHigh) : -1
    const grown = before < 0 ? 0 : this.#growable(before, holder)
    const room =
      grown === 0 ? 0 : pool.extend(before + 1, Math.min(wanted, MAX_RUN - records.get(grown + LENGTH)))
    const position = room > 0 ? before + 1 : pool.allocate(wanted)
    const reserved = room > 0 ? room : pool.granted
    pool.own(position, reserved, grown === 0 ? 1 : grown)
    const blocks = this.#name(holder, position, engine, local, block, Math.min(reserved, wanted))
    if (blocks < reserved) pool.release(position + blocks, reserved - blocks)
    this.heldBlocks += blocks
    if (room > 0) {
      records.add(grown + LENGTH, blocks)
      records.add(this.holders.first(grown) + CUT, blocks)
      return blocks
    }
    const edge = this.#newEdge(position, blocks)
    this.#setParent(edge, hasParent, parentLow, parentHigh)
    records.set(this.holders.insert(edge, holder) + CUT, blocks)
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
    const engines = this.pool.engine[position >>> BLOCK_SHIFT]!
    const locals = this.pool.local[position >>> BLOCK_SHIFT]!
    for (let index = 0; index < count; index++) {
      const from = 2 * (block + index)
      const low = engine[from]! | 0
      const high = engine[from + 1]! | 0
      if (index > 0 && this.find(low, high) >= 0) return index
      if (index > 0 && this.#hasTwinInRun(holder, engine, local, block + index)) return index
      const to = 2 * ((position + index) & BLOCK_MASK)
      engines[to] = low
      engines[to + 1] = high
      locals[to] = local[from]!
      locals[to + 1] = local[from + 1]!
      this.#names.insert(fingerprintOf(low, high, 0), position + index)
    }
    return count
  }

  /** The edge that ends with a block, if only this holder has it, whole; 0 = it cannot grow. */
  #growable(position: number, holder: number): number {
    const { records } = this
    const edge = this.ownerOf(position)
    const length = records.get(edge + LENGTH)
    if (position !== records.get(edge + START) + length - 1 || records.get(edge + LISTED) !== 1) return 0
    const entry = this.holders.first(edge)
    return records.get(entry) === holder && length < MAX_RUN ? edge : 0
  }

  #newEdge(position: number, length: number): number {
    const { records } = this
    const edge = records.allocate(EDGE_WORDS)
    records.set(edge + START, position)
    records.set(edge + LENGTH, length)
    records.set(edge + SLACK, 0)
    records.set(edge + LISTED, 0)
    this.pool.own(position, length, edge)
    this.edges++
    return edge
  }

  #setParent(edge: number, hasParent: boolean, low: number, high: number): void {
    this.records.set(edge + HAS_PARENT, hasParent ? 1 : 0)
    this.records.set(edge + PARENT_LOW, low)
    this.records.set(edge + PARENT_HIGH, high)
    this.#heads.insert(this.#headKey(edge), edge)
  }

  #headKey(edge: number): number {
    const start = this.records.get(edge + START)
    const words = this.pool.local[start >>> BLOCK_SHIFT]!
    const at = 2 * (start & BLOCK_MASK)
    const { parentLow, parentHigh } = { parentLow: this.parentLow(edge), parentHigh: this.parentHigh(edge) }
    return headFingerprint(this.hasParent(edge), parentLow, parentHigh, words[at]!, words[at + 1]!)
  }

  /** Cuts an edge after `at` blocks; returns its first or its second part. */
  #split(edge: number, at: number, wantsHead: boolean): number {
    const { records, holders, pool } = this
    const start = records.get(edge + START)
    const length = records.get(edge + LENGTH)
    const count = holders.gather(edge)
    const entries = holders.scratch.slice(0, count * ENTRY_WORDS)
    holders.clear(edge)
    const isHeadNew = at < length - at
    const key = this.#headKey(edge)
    const part = isHeadNew ? this.#newEdge(start, at) : this.#newEdge(start + at, length - at)
    const head = isHeadNew ? part : edge
    const tail = isHeadNew ? edge : part
    if (isHeadNew) {
      for (const word of [HAS_PARENT, PARENT_LOW, PARENT_HIGH])
        records.set(head + word, records.get(edge + word))
      this.#heads.replace(key, edge, head)
      records.set(tail + START, start + at)
    }
    records.set(head + LENGTH, at)
    records.set(tail + LENGTH, length - at)
    const names = pool.engine[start >>> BLOCK_SHIFT]!
    const last = 2 * ((start + at - 1) & BLOCK_MASK)
    this.#setParent(tail, true, names[last]!, names[last + 1]!)
    for (let from = 0; from < entries.length; from += ENTRY_WORDS) {
      const cut = entries[from + CUT]!
      records.set(holders.insert(head, entries[from]!) + CUT, Math.min(cut, at))
      if (cut > at) records.set(holders.insert(tail, entries[from]!) + CUT, cut - at)
    }
    return wantsHead ? head : tail
  }

  /** Takes all blocks from `to` on from a holder. */
  #lose(edge: number, entry: number, to: number): void {
    this.heldBlocks -= this.records.get(entry + CUT) - to
    if (to === 0) this.holders.remove(edge, entry)
    else this.records.set(entry + CUT, to)
  }

  /** Gives back the blocks at the end of an edge that nobody has any more. */
  #trim(edge: number): void {
    const { records, holders, pool } = this
    const first = holders.first(edge)
    let held = 0
    for (let index = 0; index < records.get(edge + LISTED); index++) {
      held = Math.max(held, records.get(first + index * ENTRY_WORDS + CUT))
    }
    const length = records.get(edge + LENGTH)
    if (held === length) return
    const start = records.get(edge + START)
    const names = pool.engine[start >>> BLOCK_SHIFT]!
    for (let position = start + held; position < start + length; position++) {
      const at = 2 * (position & BLOCK_MASK)
      this.#names.remove(fingerprintOf(names[at]!, names[at + 1]!, 0), position)
    }
    if (held === 0) this.#heads.remove(this.#headKey(edge), edge)
    pool.release(start + held, length - held)
    records.set(edge + LENGTH, held)
    if (held > 0) return
    records.release(edge, EDGE_WORDS)
    this.edges--
  }
}

function headFingerprint(
  hasParent: boolean,
  parentLow: number,
  parentHigh: number,
  low: number,
  high: number,
): number {
  const parent = hasParent ? fingerprintOf(parentLow, parentHigh, 1) : 0
  return fingerprintOf(low, high, parent)
}
