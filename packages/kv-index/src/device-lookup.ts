import type { OverlapTarget } from './block-index.js'
import { type DeviceTree, ROOT } from './device-tree.js'
import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import { CUT, ENTRY_WORDS, HELD, HOLDERS, LENGTH, LISTED, ORPHANS, START } from './pool/edge-holders.js'
import { RECORD_MASK, RECORD_SHIFT } from './pool/record-chunks.js'

/**
 * One walk down the tree along a prompt. Holders of a child are whole holders of its parent, unless the parent counts orphans; so an
 * edge is written only where its holders are not those of the child, and who lies behind a hole is asked for below such a parent only.
 */
export class DeviceLookup {
  /** Pool position of the last matching block, by row; of rows written by the last walk. */
  ends = new Uint32Array(16)
  /** Holder behind the last match, by row; of the same rows. */
  endHolders = new Int32Array(16)
  /** Further ends of rows with twins: row, holder, position, blocks matched. Those with fewer blocks than the row are void. */
  readonly twinEnds: number[] = []
  readonly #tree: DeviceTree
  readonly #registry: HolderRegistry
  // Edges of the branch whose orphans must be told apart.
  #gaps = new Int32Array(16)
  #gapCount = 0
  // Twins to walk later: edge, blocks before it, gaps before it.
  readonly #twins: number[] = []

  constructor(tree: DeviceTree, registry: HolderRegistry) {
    this.#tree = tree
    this.#registry = registry
  }

  /** Writes device blocks and lists rows; the target must be clear. */
  walk(local: HashWords, count: number, target: OverlapTarget): void {
    const tree = this.#tree
    const { records } = tree
    if (this.twinEnds.length > 0) this.twinEnds.length = 0
    const low = local[0]!
    const high = local[1]!
    let edge = tree.child(ROOT, low, high)
    if (edge === 0) return
    if (this.ends.length < target.deviceBlocks.length) {
      this.ends = new Uint32Array(target.deviceBlocks.length)
      this.endHolders = new Int32Array(target.deviceBlocks.length)
    }
    this.#gapCount = 0
    let base = 0
    this.#keepTwins(ROOT, low, high, 0)
    for (;;) {
      const matched = this.#matching(edge, local, base, count)
      const orphans = records.get(edge + ORPHANS)
      const held = records.get(edge + HELD)
      const behind = base + matched
      let next = 0
      if (behind < count && matched === records.get(edge + LENGTH)) {
        next = tree.child(edge, local[2 * behind]!, local[2 * behind + 1]!)
        if (next !== 0) this.#keepTwins(edge, local[2 * behind]!, local[2 * behind + 1]!, behind)
      }
      const goesOn = next !== 0 && orphans === 0 && records.get(next + HELD) === held
      if (!goesOn && held > 0) this.#write(edge, base, matched, target)
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
  #matching(edge: number, local: HashWords, base: number, count: number): number {
    const { records, pool } = this.#tree
    const start = records.get(edge + START)
    const words = pool.local[start >>> BLOCK_SHIFT]!
    const length = records.get(edge + LENGTH)
    const limit = 2 * (base + (length < count - base ? length : count - base))
    const shift = 2 * (start & BLOCK_MASK) - 2 * base
    let at = 2 * base
    while (at < limit && words[at + shift] === local[at] && words[at + shift + 1] === local[at + 1]) at += 2
    return (at >> 1) - base
  }

  #write(edge: number, base: number, matched: number, target: OverlapTarget): void {
    const { chunks } = this.#tree.records
    const head = chunks[edge >>> RECORD_SHIFT]!
    const at = edge & RECORD_MASK
    const listed = head[at + LISTED]!
    const start = head[at + START]!
    const first = listed === 1 ? edge + HOLDERS : head[at + HOLDERS]!
    const words = chunks[first >>> RECORD_SHIFT]!
    const { rankOf } = this.#registry
    const { rowOfRank, deviceBlocks, rows } = target
    const { ends, endHolders } = this
    const hasGaps = this.#gapCount > 0
    const end = (first & RECORD_MASK) + listed * ENTRY_WORDS
    let count = target.count
    for (let entry = first & RECORD_MASK; entry < end; entry += ENTRY_WORDS) {
      const rank = rankOf[words[entry]!]!
      const cut = words[entry + CUT]!
      const row = rank < 0 || rank >= rowOfRank.length ? -1 : rowOfRank[rank]!
      if (row < 0 || cut === 0 || (hasGaps && !this.#isContiguous(words[entry]!))) continue
      const blocks = cut < matched ? cut : matched
      const before = deviceBlocks[row]!
      if (before >= base + blocks) {
        if (before === base + blocks) {
          this.twinEnds.push(row, words[entry]!, start + blocks - 1, before)
        }
        continue
      }
      if (before === 0) rows[count++] = row
      deviceBlocks[row] = base + blocks
      ends[row] = start + blocks - 1
      endHolders[row] = words[entry]!
    }
    target.count = count
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
