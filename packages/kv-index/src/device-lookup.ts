import type { OverlapTarget } from './block-index.js'
import { type DeviceTree, ROOT } from './device-tree.js'
import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import {
  CHILD,
  CHILDREN,
  CUT,
  ENTRY_WORDS,
  HELD,
  HOLDERS,
  LENGTH,
  LISTED,
  ORPHANS,
  START,
} from './pool/edge-holders.js'
import { RECORD_MASK, RECORD_SHIFT } from './pool/record-chunks.js'

/**
 * One walk down the tree along a prompt. Holders of a child are whole holders of its parent, unless the parent counts orphans; so an
 * edge is written only where its holders are not those of the child, and who lies behind a hole is asked for below such a parent only.
 */
export class DeviceLookup {
  /** Pool position of the last matching block, by row; of rows written by the last walk. */
  ends = new Int32Array(16)
  /** Holder behind the last match, by row; of the same rows. */
  endHolders = new Int32Array(16)
  /** Further ends of rows with twins: row, holder, position, blocks matched. Those with fewer blocks than the row are void. */
  readonly twinEnds: number[] = []
  readonly #tree: DeviceTree
  readonly #registry: HolderRegistry
  // Row by holder, -1 = nobody asks for it; of this `rowOfRank` and this version of the registry.
  #rowOfHolder = new Int32Array(0)
  #rowOfRank: Int32Array | undefined
  #version = -1
  // Edges of the branch whose orphans must be told apart.
  #gaps = new Int32Array(16)
  #gapCount = 0
  // Twins to walk later: edge, blocks before it, gaps before it.
  readonly #twins: number[] = []

  constructor(tree: DeviceTree, registry: HolderRegistry) {
    this.#tree = tree
    this.#registry = registry
  }

  /**
   * Writes device blocks and lists rows; the target must be clear.
   * @param keepsEnds whether lower tiers will go on from the ends
   * @param stopsEarly whether an edge with one holder is the last one
   */
  walk(
    local: HashWords,
    count: number,
    target: OverlapTarget,
    keepsEnds: boolean,
    stopsEarly: boolean,
  ): void {
    const tree = this.#tree
    const { chunks } = tree.records
    if (this.twinEnds.length > 0) this.twinEnds.length = 0
    let low = local[0]! | 0
    let high = local[1]! | 0
    let edge = tree.child(ROOT, low, high)
    if (edge === 0) return
    if (keepsEnds && this.ends.length < target.deviceBlocks.length) {
      this.ends = new Int32Array(target.deviceBlocks.length)
      this.endHolders = new Int32Array(target.deviceBlocks.length)
    }
    if (target.rowOfRank !== this.#rowOfRank || this.#registry.version !== this.#version)
      this.#takeRows(target.rowOfRank)
    this.#gapCount = 0
    if (tree.twins > 0) this.#keepTwins(ROOT, low, high, 0)
    let base = 0
    for (;;) {
      const words = chunks[edge >>> RECORD_SHIFT]!
      const at = edge & RECORD_MASK
      const length = words[at + LENGTH]!
      const matched = this.#matching(words[at + START]!, length, local, base, count)
      const behind = base + matched
      let next = 0
      const isLast = stopsEarly && words[at + HELD] === 1
      if (matched === length && behind < count && words[at + CHILDREN] !== 0 && !isLast) {
        low = local[2 * behind]! | 0
        high = local[2 * behind + 1]! | 0
        if (tree.twins > 0) {
          next = tree.child(edge, low, high)
          if (next !== 0) this.#keepTwins(edge, low, high, behind)
        } else {
          next = words[at + CHILD]!
          if (next === 0 || !tree.startsWith(next, low, high)) next = tree.tabledChild(edge, low, high)
        }
      }
      const held = words[at + HELD]!
      const orphans = words[at + ORPHANS]!
      // The same holders go on: what is written below counts.
      const goesOn =
        next !== 0 && orphans === 0 && chunks[next >>> RECORD_SHIFT]![(next & RECORD_MASK) + HELD] === held
      if (!goesOn && held > 0) this.#write(edge, base, matched, target, keepsEnds)
      if (next !== 0) {
        if (orphans > 0) this.#noteGap(edge)
        edge = next
        base = behind
      } else if (this.#twins.length > 0) {
        this.#gapCount = this.#twins.pop()!
        base = this.#twins.pop()!
        edge = this.#twins.pop()!
      } else return
    }
  }

  #keepTwins(parent: number, low: number, high: number, base: number): void {
    const tree = this.#tree
    let twin = tree.nextTwin(parent, low, high)
    for (; twin !== 0; twin = tree.nextTwin(parent, low, high)) {
      const isGap = tree.records.get(parent + ORPHANS) > 0
      if (isGap) this.#noteGap(parent)
      this.#twins.push(twin, base, this.#gapCount)
      if (isGap) this.#gapCount--
    }
  }

  #noteGap(edge: number): void {
    if (this.#gapCount === this.#gaps.length) {
      const grown = new Int32Array(2 * this.#gapCount)
      grown.set(this.#gaps)
      this.#gaps = grown
    }
    this.#gaps[this.#gapCount++] = edge
  }

  /** Blocks of an edge that are those of the prompt from `base` on. */
  #matching(start: number, length: number, local: HashWords, base: number, count: number): number {
    const words = this.#tree.pool.local[start >>> BLOCK_SHIFT]!
    const from = 2 * base
    const limit = from + 2 * (length < count - base ? length : count - base)
    const shift = 2 * (start & BLOCK_MASK) - from
    let at = from
    while (
      at < limit &&
      words[at + shift] === (local[at]! | 0) &&
      words[at + shift + 1] === (local[at + 1]! | 0)
    )
      at += 2
    return (at - from) >> 1
  }

  #write(edge: number, base: number, matched: number, target: OverlapTarget, keepsEnds: boolean): void {
    const { chunks } = this.#tree.records
    const head = chunks[edge >>> RECORD_SHIFT]!
    const at = edge & RECORD_MASK
    const listed = head[at + LISTED]!
    const first = listed === 1 ? edge + HOLDERS : head[at + HOLDERS]!
    const words = chunks[first >>> RECORD_SHIFT]!
    const rowOfHolder = this.#rowOfHolder
    const { deviceBlocks, rows } = target
    const hasGaps = this.#gapCount > 0
    const from = first & RECORD_MASK
    const end = from + listed * ENTRY_WORDS
    const whole = base + matched
    let { count } = target
    for (let entry = from; entry < end; entry += ENTRY_WORDS) {
      const holder = words[entry]!
      const row = rowOfHolder[holder]!
      const cut = words[entry + CUT]!
      if (row < 0 || cut === 0 || (hasGaps && !this.#isContiguous(holder))) continue
      const blocks = cut < matched ? base + cut : whole
      const before = deviceBlocks[row]!
      if (before === 0) rows[count++] = row
      else if (before >= blocks) {
        if (before === blocks) this.twinEnds.push(row, holder, head[at + START]! + blocks - base - 1, blocks)
        continue
      }
      deviceBlocks[row] = blocks
      if (keepsEnds) {
        this.ends[row] = head[at + START]! + blocks - base - 1
        this.endHolders[row] = holder
      }
    }
    target.count = count
  }

  #takeRows(rowOfRank: Int32Array): void {
    const { rankOf, version } = this.#registry
    this.#rowOfRank = rowOfRank
    this.#version = version
    if (this.#rowOfHolder.length < rankOf.length) this.#rowOfHolder = new Int32Array(rankOf.length)
    for (let holder = 0; holder < rankOf.length; holder++) {
      const rank = rankOf[holder]!
      this.#rowOfHolder[holder] = rank < 0 || rank >= rowOfRank.length ? -1 : rowOfRank[rank]!
    }
  }

  /** Whether a holder has every block of the edges above where some holders have not. */
  #isContiguous(holder: number): boolean {
    const { records, holders } = this.#tree
    for (let index = 0; index < this.#gapCount; index++) {
      const edge = this.#gaps[index]!
      const entry = holders.find(edge, holder)
      if (entry < 0 || records.get(entry + CUT) !== records.get(edge + LENGTH)) return false
    }
    return true
  }
}
