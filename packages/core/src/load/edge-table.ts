import type { HashWords } from '@router/kv-index'
import { grownTo } from './growth.js'
import { RunPool } from './run-pool.js'

/** No edge: the parent of the first edges, and the end of an empty path. */
export const rootEdge = 0

const smallestTable = 64

/**
 * A trie of block paths whose edges are runs of hashes. A block is known by its place, the hashes from the left up to it, so hashes need
 * not be chained. An edge keeps its number while it lives, also when it loses its upper part in a split. Children are found by
 * open addressing over (parent, first hash), removed by backward shift.
 */
export class EdgeTable {
  /** Edge before, by edge; `rootEdge` for the first of a path. */
  parent = new Int32Array(smallestTable)
  /** Blocks of its run, by edge; at least 1. */
  length = new Int32Array(smallestTable)
  /** Edges alive. */
  count = 0
  readonly runs = new RunPool()
  #address = new Int32Array(smallestTable)
  #table = new Int32Array(2 * smallestTable)
  // Free edges, chained by their parent; 0 ends the list.
  #free = 0
  #next = 1

  /** The child whose run starts with the hash at an index; `rootEdge` when there is none. */
  child(parent: number, hashes: HashWords, index: number): number {
    const low = hashes[2 * index]! | 0
    const high = hashes[2 * index + 1]! | 0
    const table = this.#table
    const mask = table.length - 1
    let at = homeOf(parent, low, high) & mask
    for (let edge = table[at]!; edge !== 0; edge = table[at]!) {
      if (this.parent[edge] === parent) {
        const address = this.#address[edge]!
        if (this.runs.firstLow(address) === low && this.runs.firstHigh(address) === high) return edge
      }
      at = (at + 1) & mask
    }
    return rootEdge
  }

  /** How many leading blocks of an edge equal the hashes from `from` to `end`. */
  matching(edge: number, hashes: HashWords, from: number, end: number): number {
    const length = this.length[edge]!
    const rest = end - from
    return this.runs.matching(this.#address[edge]!, length < rest ? length : rest, hashes, from)
  }

  /** A new child; the parent must have none that starts with the same hash. */
  append(parent: number, hashes: HashWords, from: number, blocks: number): number {
    const edge = this.#newEdge()
    this.parent[edge] = parent
    this.length[edge] = blocks
    this.#address[edge] = this.runs.store(hashes, from, blocks)
    this.#link(edge)
    return edge
  }

  /** Cuts an edge behind its first `blocks`: those become a new edge, which is returned, above the old one. */
  split(edge: number, blocks: number): number {
    this.#unlink(edge)
    const upper = this.#newEdge()
    const address = this.#address[edge]!
    const length = this.length[edge]!
    this.parent[upper] = this.parent[edge]!
    this.length[upper] = blocks
    this.#address[upper] = this.runs.copy(address, 0, blocks)
    this.parent[edge] = upper
    this.length[edge] = length - blocks
    this.#address[edge] = this.runs.copy(address, blocks, length - blocks)
    this.runs.release(address, length)
    this.#link(upper)
    this.#link(edge)
    return upper
  }

  /** Whether an edge is where a search for it looks. */
  isFound(edge: number): boolean {
    const table = this.#table
    const mask = table.length - 1
    let at = this.#home(edge) & mask
    while (table[at] !== edge && table[at] !== 0) at = (at + 1) & mask
    return table[at] === edge
  }

  /** Forgets an edge, which must have no children. */
  remove(edge: number): void {
    this.#unlink(edge)
    this.runs.release(this.#address[edge]!, this.length[edge]!)
    this.length[edge] = 0
    this.parent[edge] = this.#free
    this.#free = edge
    this.count--
  }

  #newEdge(): number {
    this.count++
    if (2 * this.count > this.#table.length) this.#growTable()
    const freed = this.#free
    if (freed !== 0) {
      this.#free = this.parent[freed]!
      return freed
    }
    if (this.#next === this.parent.length) {
      this.parent = grownTo(this.parent, 2 * this.#next)
      this.length = grownTo(this.length, 2 * this.#next)
      this.#address = grownTo(this.#address, 2 * this.#next)
    }
    return this.#next++
  }

  #home(edge: number): number {
    const address = this.#address[edge]!
    return homeOf(this.parent[edge]!, this.runs.firstLow(address), this.runs.firstHigh(address))
  }

  #link(edge: number): void {
    const table = this.#table
    const mask = table.length - 1
    let at = this.#home(edge) & mask
    while (table[at] !== 0) at = (at + 1) & mask
    table[at] = edge
  }

  #unlink(edge: number): void {
    const table = this.#table
    const mask = table.length - 1
    let hole = this.#home(edge) & mask
    while (table[hole] !== edge) hole = (hole + 1) & mask
    for (let at = (hole + 1) & mask; table[at] !== 0; at = (at + 1) & mask) {
      const home = this.#home(table[at]!) & mask
      // It may move to the hole unless its home lies between the two.
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      table[hole] = table[at]!
      hole = at
    }
    table[hole] = 0
  }

  #growTable(): void {
    const old = this.#table
    this.#table = new Int32Array(2 * old.length)
    for (let at = 0; at < old.length; at++) if (old[at] !== 0) this.#link(old[at]!)
  }
}

function homeOf(parent: number, low: number, high: number): number {
  let mixed = Math.imul(low ^ Math.imul(parent, 0x9e37_79b1), 0x85eb_ca6b) ^ high
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 13)
}
