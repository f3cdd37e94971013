import { BLOCK_MASK, BLOCK_SHIFT, BlockPool } from './pool/block-pool.js'
import {
  CHILD,
  CHILDREN,
  CUT,
  EDGE_WORDS,
  ENTRY_WORDS,
  EdgeHolders,
  FULL,
  HELD,
  INDEXED,
  KIDS,
  LENGTH,
  LISTED,
  MAX_RUN,
  ORPHANS,
  PARENT,
  SLACK,
  START,
} from './pool/edge-holders.js'
import { HashTable, fingerprintOf } from './pool/hash-table.js'
import { RecordChunks } from './pool/record-chunks.js'

export const ROOT = 0

/**
 * The tree of edges: which run of blocks continues which. Edges are split where a path branches or a hole begins, and joined again
 * where nothing tells two of them apart. Knows who holds an edge only to keep that with the blocks.
 */
export class DeviceTree {
  readonly records = new RecordChunks()
  readonly pool = new BlockPool()
  readonly holders = new EdgeHolders(this.records)
  /** Edges, the root not counted. */
  edges = 0
  /** Children that stand beside another one with the same content. 0 = a walk need not look for twins. */
  twins = 0
  // Children of the root, and of edges all but the first, by parent and local hash of the first block.
  readonly #children = new HashTable()
  // Whether the last child found was the one outside the table.
  #isAtChild = false

  constructor() {
    const root = this.records.allocate(EDGE_WORDS)
    for (let word = 0; word < EDGE_WORDS; word++) this.records.set(root + word, 0)
  }

  get childEntries(): number {
    return this.#children.capacity
  }

  /** First child whose first block has this local hash, 0 = none. `nextTwin` gives further ones. */
  child(edge: number, low: number, high: number): number {
    const child = this.records.get(edge + CHILD)
    this.#isAtChild = child !== 0 && this.startsWith(child, low, high)
    return this.#isAtChild ? child : this.tabledChild(edge, low, high)
  }

  /** The child after the one that `child` or `nextTwin` gave, 0 = none: another engine hash for the same content. */
  nextTwin(edge: number, low: number, high: number): number {
    if (this.#isAtChild) {
      this.#isAtChild = false
      return this.tabledChild(edge, low, high)
    }
    if (!hasTabled(this.records.get(edge + CHILD), this.records.get(edge + CHILDREN))) return 0
    const fingerprint = fingerprintOf(low, high, edge)
    return this.#verified(edge, low, high, fingerprint, this.#children.next(fingerprint))
  }

  /** First child of the table with this content, 0 = none. */
  tabledChild(edge: number, low: number, high: number): number {
    if (!hasTabled(this.records.get(edge + CHILD), this.records.get(edge + CHILDREN))) return 0
    const fingerprint = fingerprintOf(low, high, edge)
    return this.#verified(edge, low, high, fingerprint, this.#children.seek(fingerprint))
  }

  /** Whether the first block of an edge has this content. */
  startsWith(edge: number, low: number, high: number): boolean {
    return this.pool.hasLocal(this.records.get(edge + START), low, high)
  }

  /** A new edge without holders below `parent`; its blocks must be written already. */
  add(parent: number, start: number, length: number, slack: number): number {
    const { records } = this
    const edge = records.allocate(EDGE_WORDS)
    records.set(edge + PARENT, parent)
    records.set(edge + START, start)
    records.set(edge + LENGTH, length)
    records.set(edge + SLACK, slack)
    records.set(edge + CHILD, 0)
    records.set(edge + CHILDREN, 0)
    records.set(edge + ORPHANS, 0)
    records.set(edge + LISTED, 0)
    records.set(edge + HELD, 0)
    records.set(edge + FULL, 0)
    records.set(edge + INDEXED, 0)
    this.pool.own(start, length + slack, edge)
    this.#link(parent, edge)
    this.edges++
    return edge
  }

  /** Drops an edge without children, with its blocks. */
  drop(edge: number): void {
    const { records } = this
    const start = records.get(edge + START)
    this.#unlink(edge)
    this.pool.release(start, records.get(edge + LENGTH) + records.get(edge + SLACK))
    this.#free(edge)
  }

  /** Cuts an edge after `at` blocks; returns the first part. The other one is its only child. */
  split(edge: number, at: number): number {
    const { records, pool } = this
    const length = records.get(edge + LENGTH)
    const start = records.get(edge + START)
    const slack = records.get(edge + SLACK)
    const child = records.get(edge + CHILD)
    const children = records.get(edge + CHILDREN)
    const indexed = records.get(edge + INDEXED)
    const orphans = records.get(edge + ORPHANS)
    const full = records.get(edge + FULL)
    const count = this.holders.gather(edge)
    this.holders.clear(edge)
    const part = records.allocate(EDGE_WORDS)
    this.edges++
    // Whoever gets the new record is written anew in the column of owners: the shorter part, unless many children name the edge.
    const isHead = hasTabled(child, children) || at <= length - at
    const head = isHead ? part : edge
    const tail = isHead ? edge : part
    if (isHead) {
      records.set(head + PARENT, records.get(edge + PARENT))
      this.#relink(edge, head)
      records.set(head + START, start)
      pool.own(start, at, head)
    } else {
      records.set(tail + CHILD, child)
      records.set(tail + CHILDREN, children)
      if (child > 0) records.set(child + PARENT, tail)
      pool.own(start + at, length - at + slack, tail)
    }
    records.set(head + CHILD, tail)
    records.set(head + CHILDREN, 1)
    records.set(tail + PARENT, head)
    records.set(tail + START, start + at)
    records.set(head + LENGTH, at)
    records.set(tail + LENGTH, length - at)
    records.set(head + SLACK, 0)
    records.set(tail + SLACK, slack)
    records.set(head + INDEXED, Math.min(indexed, at))
    records.set(tail + INDEXED, Math.max(0, indexed - at))
    records.set(head + ORPHANS, 0)
    records.set(tail + ORPHANS, orphans)
    records.set(tail + FULL, full)
    this.#deal(head, tail, at, count)
    return head
  }

  /** Joins an edge to its parent where nothing tells them apart; returns the edge that has its blocks now. */
  join(edge: number): number {
    const { records, pool } = this
    const parent = records.get(edge + PARENT)
    if (!this.#isJoinable(parent, edge)) return edge
    const start = records.get(parent + START)
    const before = records.get(parent + LENGTH)
    const behind = records.get(edge + LENGTH)
    const slack = records.get(edge + SLACK)
    const child = records.get(edge + CHILD)
    const children = records.get(edge + CHILDREN)
    const indexed = records.get(edge + HELD) === 0 ? 0 : before + records.get(edge + INDEXED)
    const count = this.holders.gather(edge)
    const entries = this.holders.scratch
    for (let at = CUT; at < count * ENTRY_WORDS; at += ENTRY_WORDS)
      if (entries[at]! > 0) entries[at]! += before
    const keepsParent = !hasTabled(child, children) && behind <= before
    const kept = keepsParent ? parent : edge
    const held = records.get(edge + HELD)
    const full = records.get(edge + FULL)
    const orphans = records.get(edge + ORPHANS)
    if (records.get(parent + CHILD) !== edge) this.#unlink(edge)
    this.holders.clear(edge)
    this.holders.clear(parent)
    if (keepsParent) {
      records.set(parent + CHILD, child)
      records.set(parent + CHILDREN, children)
      if (child > 0) records.set(child + PARENT, parent)
      pool.own(records.get(edge + START), behind + slack, parent)
      this.#free(edge)
    } else {
      this.#relink(parent, edge)
      records.set(edge + PARENT, records.get(parent + PARENT))
      records.set(edge + START, start)
      pool.own(start, before, edge)
      this.#free(parent)
    }
    records.set(kept + LENGTH, before + behind)
    records.set(kept + SLACK, slack)
    records.set(kept + INDEXED, indexed)
    records.set(kept + HELD, held)
    records.set(kept + FULL, full)
    records.set(kept + ORPHANS, orphans)
    this.holders.fill(kept, count)
    return kept
  }

  /** Same holders of all blocks, one after the other in the pool, and nothing else below. */
  #isJoinable(parent: number, edge: number): boolean {
    const { records } = this
    if (parent === ROOT || this.records.get(parent + CHILDREN) !== 1) return false
    const length = records.get(parent + LENGTH)
    const start = records.get(edge + START)
    const held = records.get(edge + HELD)
    return (
      records.get(parent + START) + length === start &&
      (start & BLOCK_MASK) !== 0 &&
      length + records.get(edge + LENGTH) <= MAX_RUN &&
      records.get(parent + ORPHANS) === 0 &&
      records.get(parent + HELD) === held &&
      records.get(parent + FULL) === held &&
      records.get(parent + LISTED) === held
    )
  }

  /** Deals the gathered entries of a cut edge to both parts. */
  #deal(head: number, tail: number, at: number, count: number): void {
    const { holders, records } = this
    const entries = holders.scratch
    const behind: number[] = []
    let heads = 0
    let tails = 0
    let full = 0
    for (let from = 0; from < count * ENTRY_WORDS; from += ENTRY_WORDS) {
      const holder = entries[from]!
      const cut = entries[from + CUT]!
      const kids = entries[from + KIDS]!
      if (cut > at || kids > 0) behind.push(holder, Math.max(0, cut - at), kids)
      if (cut > at) tails++
      if (cut >= at) full++
      if (cut === 0) continue
      const to = heads++ * ENTRY_WORDS
      entries[to] = holder
      entries[to + CUT] = Math.min(cut, at)
      entries[to + KIDS] = cut > at ? 1 : 0
    }
    holders.fill(head, heads)
    records.set(head + HELD, heads)
    records.set(head + FULL, full)
    for (const [index, word] of behind.entries()) entries[index] = word
    holders.fill(tail, behind.length / ENTRY_WORDS)
    records.set(tail + HELD, tails)
  }

  #link(parent: number, edge: number): void {
    const { records } = this
    if (this.#hasTwin(parent, edge)) this.twins++
    records.add(parent + CHILDREN, 1)
    if (parent !== ROOT && records.get(parent + CHILD) === 0) records.set(parent + CHILD, edge)
    else this.#children.insert(this.#keyOf(parent, edge), edge)
  }

  #unlink(edge: number): void {
    const { records } = this
    const parent = records.get(edge + PARENT)
    records.add(parent + CHILDREN, -1)
    if (records.get(parent + CHILD) === edge) records.set(parent + CHILD, 0)
    else this.#children.remove(this.#keyOf(parent, edge), edge)
    if (this.twins > 0 && this.#hasTwin(parent, edge)) this.twins--
  }

  /** Whether `parent` has a child with the content of an edge that is not linked. */
  #hasTwin(parent: number, edge: number): boolean {
    if (this.records.get(parent + CHILDREN) === 0) return false
    const start = this.records.get(edge + START)
    const words = this.pool.local[start >>> BLOCK_SHIFT]!
    const at = 2 * (start & BLOCK_MASK)
    return this.child(parent, words[at]!, words[at + 1]!) !== 0
  }

  /** Puts an edge with the same first block in another's place below its parent. */
  #relink(edge: number, by: number): void {
    const { records } = this
    const parent = records.get(edge + PARENT)
    if (records.get(parent + CHILD) === edge) records.set(parent + CHILD, by)
    else this.#children.replace(this.#keyOf(parent, edge), edge, by)
  }

  #free(edge: number): void {
    this.holders.clear(edge)
    this.records.release(edge, EDGE_WORDS)
    if (--this.edges === 0) this.records.reset(EDGE_WORDS)
  }

  #keyOf(parent: number, edge: number): number {
    const start = this.records.get(edge + START)
    const words = this.pool.local[start >>> BLOCK_SHIFT]!
    const at = 2 * (start & BLOCK_MASK)
    return fingerprintOf(words[at]!, words[at + 1]!, parent)
  }

  #verified(parent: number, low: number, high: number, fingerprint: number, found: number): number {
    let edge = found
    while (edge > 0 && !(this.records.get(edge + PARENT) === parent && this.startsWith(edge, low, high))) {
      edge = this.#children.next(fingerprint)
    }
    return edge > 0 ? edge : 0
  }
}

/** Whether an edge has children that the table names by its number. */
function hasTabled(child: number, children: number): boolean {
  return children > (child === 0 ? 0 : 1)
}
