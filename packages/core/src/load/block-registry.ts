import type { HashWords } from '@router/kv-index'
import { EdgeTable, rootEdge } from './edge-table.js'
import { grownTo } from './growth.js'
import { HolderSets } from './holder-sets.js'
import { maximumRun } from './run-pool.js'

/**
 * The prompt blocks in use, per rank, each counted once however many requests share it. One trie for all ranks: an edge is cut where a
 * path ends or branches, so that every request of a rank has either all of an edge or nothing, and one reference count per (edge, rank)
 * is enough. Edges stay cut while they live. What a request holds is named by the edge where its path ends.
 */
export class BlockRegistry {
  readonly edges = new EdgeTable()
  readonly holders = new HolderSets()
  /** Sum of the weights of a rank's blocks, by rank. A running sum: whoever counts requests sets it to 0 with the last one. */
  weight = new Float64Array(16)
  // Edges of the last `match`, those with the same holders as one.
  readonly matched = new MatchedEdges()

  /** Makes room for ranks below `ranks`. */
  reserve(ranks: number): void {
    if (ranks > this.weight.length) this.weight = grownTo(this.weight, ranks)
  }

  /** Holds the blocks of a path for one more request; returns the edge where it ends. Cost: the edges of the path, and its new blocks. */
  hold(rank: number, hashes: HashWords, count: number): number {
    const { edges, holders } = this
    let end = rootEdge
    let from = 0
    while (from < count) {
      let edge = edges.child(end, hashes, from)
      if (edge === rootEdge) {
        edge = edges.append(end, hashes, from, Math.min(count - from, maximumRun))
      } else {
        const blocks = edges.matching(edge, hashes, from, count)
        if (blocks < edges.length[edge]!) edge = this.#split(edge, blocks)
      }
      const length = edges.length[edge]!
      if (holders.refer(edge, rank)) this.weight[rank]! += length
      from += length
      end = edge
    }
    return end
  }

  /** Takes one request's hold of a path back. */
  release(rank: number, end: number): void {
    const { edges, holders } = this
    let edge = end
    while (edge !== rootEdge) {
      const parent = edges.parent[edge]!
      const entry = holders.find(edge, rank)
      const references = --holders.pairs[2 * entry + 1]!
      if (references === 0) {
        this.weight[rank]! -= holders.weights[entry]! * edges.length[edge]!
        holders.remove(edge, entry)
        if (holders.count[edge] === 0) edges.remove(edge)
      }
      edge = parent
    }
  }

  /** Weighs the blocks at the end of a path that no other request of the rank holds, up to the first shared one. */
  weigh(rank: number, end: number, weight: number): void {
    const { edges, holders } = this
    for (let edge = end; edge !== rootEdge; edge = edges.parent[edge]!) {
      const entry = holders.find(edge, rank)
      if (holders.pairs[2 * entry + 1] !== 1) return
      this.weight[rank]! += (weight - holders.weights[entry]!) * edges.length[edge]!
      holders.weights[entry] = weight
    }
  }

  /**
   * Finds the edges that begin a path, into `matched`. Holders of an edge hold all edges above it, so equal numbers of holders are equal
   * holders, and such neighbours become one entry.
   */
  match(hashes: HashWords, count: number): void {
    const { edges, holders, matched } = this
    matched.count = 0
    let parent = rootEdge
    let from = 0
    while (from < count) {
      const edge = edges.child(parent, hashes, from)
      if (edge === rootEdge) return
      const blocks = edges.matching(edge, hashes, from, count)
      const isSame = parent !== rootEdge && holders.count[edge] === holders.count[parent]
      matched.add(edge, blocks, isSame)
      from += blocks
      if (blocks < edges.length[edge]!) return
      parent = edge
    }
  }

  #split(edge: number, blocks: number): number {
    const upper = this.edges.split(edge, blocks)
    this.holders.copy(edge, upper)
    return upper
  }
}

/** A path of edges, each with how many of its blocks count. */
class MatchedEdges {
  count = 0
  edges = new Int32Array(16)
  blocks = new Int32Array(16)

  add(edge: number, blocks: number, joinsLast: boolean): void {
    if (joinsLast) {
      this.edges[this.count - 1] = edge
      this.blocks[this.count - 1]! += blocks
      return
    }
    if (this.count === this.edges.length) {
      this.edges = grownTo(this.edges, 2 * this.count)
      this.blocks = grownTo(this.blocks, 2 * this.count)
    }
    this.edges[this.count] = edge
    this.blocks[this.count++] = blocks
  }
}
