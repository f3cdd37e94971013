import type { DeviceNames } from './device-names.js'
import { type DeviceTree, ROOT } from './device-tree.js'
import type { HolderRegistry } from './holder-registry.js'
import {
  CUT,
  ENTRY_WORDS,
  FULL,
  HELD,
  INDEXED,
  KIDS,
  LENGTH,
  LISTED,
  ORPHANS,
  PARENT,
  START,
} from './pool/edge-holders.js'

/**
 * Who holds how much of an edge, and what follows from it: the names of blocks that somebody holds, the kids that parents count, the
 * blocks of each holder.
 */
export class DeviceHolding {
  readonly #tree: DeviceTree
  readonly #names: DeviceNames
  readonly #registry: HolderRegistry

  constructor(tree: DeviceTree, names: DeviceNames, registry: HolderRegistry) {
    this.#tree = tree
    this.#names = names
    this.#registry = registry
  }

  /** The holder has the edge up to `to` now, if it had it up to `from`; how many blocks are new to it. */
  cover(holder: number, edge: number, from: number, to: number): number {
    if (to === from) return 0
    const { records, holders } = this.#tree
    const known = holders.find(edge, holder)
    const entry = known >= 0 ? known : holders.insert(edge, holder)
    const cut = records.get(entry + CUT)
    if (to <= cut) return 0
    records.set(entry + CUT, to)
    if (to === records.get(edge + LENGTH)) {
      records.add(edge + FULL, 1)
      records.add(edge + ORPHANS, -records.get(entry + KIDS))
    }
    if (cut === 0) {
      records.add(edge + HELD, 1)
      this.#childJoined(records.get(edge + PARENT), holder)
    }
    const indexed = records.get(edge + INDEXED)
    if (to > indexed) {
      this.#names.add(records.get(edge + START) + indexed, to - indexed)
      records.set(edge + INDEXED, to)
    }
    this.#registry.count(holder, to - cut)
    return to - cut
  }

  /** Takes all blocks from `to` on from the holder. */
  uncover(holder: number, edge: number, entry: number, to: number): void {
    const { records, holders } = this.#tree
    const cut = records.get(entry + CUT)
    const kids = records.get(entry + KIDS)
    records.set(entry + CUT, to)
    if (cut === records.get(edge + LENGTH)) {
      records.add(edge + FULL, -1)
      records.add(edge + ORPHANS, kids)
    }
    if (to === 0) {
      records.add(edge + HELD, -1)
      if (kids === 0) holders.remove(edge, entry)
      this.#childLeft(records.get(edge + PARENT), holder)
    }
    this.#registry.count(holder, to - cut)
    if (cut < records.get(edge + INDEXED)) return
    const first = holders.first(edge)
    let indexed = 0
    for (let index = 0; index < records.get(edge + LISTED); index++) {
      indexed = Math.max(indexed, records.get(first + index * ENTRY_WORDS + CUT))
    }
    if (indexed < cut) this.#names.remove(records.get(edge + START) + indexed, cut - indexed)
    records.set(edge + INDEXED, indexed)
  }

  #childJoined(parent: number, holder: number): void {
    if (parent === ROOT) return
    const { records, holders } = this.#tree
    const known = holders.find(parent, holder)
    const entry = known >= 0 ? known : holders.insert(parent, holder)
    records.add(entry + KIDS, 1)
    if (records.get(entry + CUT) !== records.get(parent + LENGTH)) records.add(parent + ORPHANS, 1)
  }

  #childLeft(parent: number, holder: number): void {
    if (parent === ROOT) return
    const { records, holders } = this.#tree
    const entry = holders.find(parent, holder)
    records.add(entry + KIDS, -1)
    if (records.get(entry + CUT) !== records.get(parent + LENGTH)) records.add(parent + ORPHANS, -1)
    if (records.get(entry + CUT) === 0 && records.get(entry + KIDS) === 0) holders.remove(parent, entry)
  }

  /** Entries that have all of so many blocks. */
  countFull(edge: number, length: number): number {
    const { records, holders } = this.#tree
    const first = holders.first(edge)
    let full = 0
    for (let index = 0; index < records.get(edge + LISTED); index++) {
      if (records.get(first + index * ENTRY_WORDS + CUT) === length) full++
    }
    return full
  }
}
