import type { HashWords } from './hash-words.js'
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
import { HashTable, fingerprintOf } from './pool/hash-table.js'
import { RecordChunks } from './pool/record-chunks.js'

// Words of an edge that mean something else here: edges know the name of the block before, not an edge.
const HAS_PARENT = PARENT
const PARENT_LOW = CHILD
const PARENT_HIGH = ORPHANS

/**
 * The blocks of a lower tier: runs as edges, found by name, and by (name of the block before, content) where an edge begins. Every block of
 * an edge has a holder.
 */
export class LowerBlocks {
  readonly records = new RecordChunks()
  readonly pool = new BlockPool()
  readonly holders = new EdgeHolders(this.records)
  edges = 0
  /** Positions by engine hash; a name stands once. */
  readonly names = new HashTable()
  // Edges by name of the block before and local hash of their first block.
  readonly #heads = new HashTable()

  constructor() {
    // No edge has the address 0: it means free.
    this.records.allocate(EDGE_WORDS)
  }

  /** Different blocks that somebody holds. */
  get liveBlocks(): number {
    return this.names.size
  }

  get tableEntries(): number {
    return this.names.capacity + this.#heads.capacity
  }

  /** Position of a block, -1 = nobody has it. */
  find(low: number, high: number): number {
    const fingerprint = fingerprintOf(low, high, 0)
    let found = this.names.seek(fingerprint)
    while (found >= 0 && !this.pool.hasEngine(found, low, high)) found = this.names.next(fingerprint)
    return found
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
      if (isChild && this.pool.hasLocal(this.records.get(edge + START), low, high)) return edge
      edge = this.#heads.next(fingerprint)
    }
    return 0
  }

  #continues(edge: number, hasParent: boolean, parentLow: number, parentHigh: number): boolean {
    if (this.hasParent(edge) !== hasParent) return false
    return !hasParent || (this.parentLow(edge) === parentLow && this.parentHigh(edge) === parentHigh)
  }

  /** Whether a known block has the content and the parent that a store says. */
  agrees(
    position: number,
    hasParent: boolean,
    parentLow: number,
    parentHigh: number,
    local: HashWords,
    block: number,
  ): boolean {
    if (!this.pool.hasLocal(position, local[2 * block]! | 0, local[2 * block + 1]! | 0)) return false
    const edge = this.pool.ownerOf(position)
    if (position === this.records.get(edge + START))
      return this.#continues(edge, hasParent, parentLow, parentHigh)
    return hasParent && this.pool.hasEngine(position - 1, parentLow, parentHigh)
  }

  isSame(position: number, engine: HashWords, local: HashWords, block: number): boolean {
    return (
      this.pool.hasLocal(position, local[2 * block]! | 0, local[2 * block + 1]! | 0) &&
      this.pool.hasEngine(position, engine[2 * block]! | 0, engine[2 * block + 1]! | 0)
    )
  }

  newEdge(position: number, length: number): number {
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

  setParent(edge: number, hasParent: boolean, low: number, high: number): void {
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
  split(edge: number, at: number, wantsHead: boolean): number {
    const { records, holders, pool } = this
    const start = records.get(edge + START)
    const length = records.get(edge + LENGTH)
    const count = holders.gather(edge)
    const entries = holders.scratch.slice(0, count * ENTRY_WORDS)
    holders.clear(edge)
    const isHeadNew = at < length - at
    const key = this.#headKey(edge)
    const part = isHeadNew ? this.newEdge(start, at) : this.newEdge(start + at, length - at)
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
    this.setParent(tail, true, names[last]!, names[last + 1]!)
    for (let from = 0; from < entries.length; from += ENTRY_WORDS) {
      const cut = entries[from + CUT]!
      records.set(holders.insert(head, entries[from]!) + CUT, Math.min(cut, at))
      if (cut > at) records.set(holders.insert(tail, entries[from]!) + CUT, cut - at)
    }
    return wantsHead ? head : tail
  }

  /** Gives back the blocks at the end of an edge that nobody has any more. */
  trim(edge: number): void {
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
      this.names.remove(fingerprintOf(names[at]!, names[at + 1]!, 0), position)
    }
    if (held === 0) this.#heads.remove(this.#headKey(edge), edge)
    pool.release(start + held, length - held)
    records.set(edge + LENGTH, held)
    if (held > 0) return
    records.release(edge, EDGE_WORDS)
    if (--this.edges === 0) records.reset(EDGE_WORDS)
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
