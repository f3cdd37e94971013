import { capacityFor, grownTo } from './growth.js'

const smallest = 64
const sizeClasses = 31
const none = 255

/**
 * Which ranks hold an edge: (rank, references) pairs and the weight of a block. One holder is one pair; more are an open-addressed table
 * of 4, 8, 16 ... entries whose home is the rank itself, so that an edge that every rank holds lies in rank order. Tables live in one arena and are
 * used again by size.
 */
export class HolderSets {
  /** Holders by edge. */
  count = new Int32Array(smallest)
  /** First entry of an edge's table, in entries. */
  start = new Int32Array(smallest)
  /** Entry e: `pairs[2 * e]` the rank (-1 = empty), `pairs[2 * e + 1]` its references, at least 1. */
  pairs = new Int32Array(2 * smallest)
  /** Weight of each block of the edge, by entry. */
  weights = new Float64Array(smallest)
  #bits = new Uint8Array(smallest).fill(none)
  readonly #heads = new Int32Array(sizeClasses).fill(-1)
  #end = 0

  /** Entry of a rank, -1 when it does not hold the edge. */
  find(edge: number, rank: number): number {
    const bits = this.#bits[edge]!
    if (bits === none) return -1
    const start = this.start[edge]!
    const mask = (1 << bits) - 1
    let at = rank & mask
    for (let step = 0; step <= mask; step++) {
      const holder = this.pairs[2 * (start + at)]!
      if (holder === rank) return start + at
      if (holder < 0) return -1
      at = (at + 1) & mask
    }
    return -1
  }

  /** One more reference of a rank; true when it is the first, then of weight 1. */
  refer(edge: number, rank: number): boolean {
    if (edge >= this.count.length) this.#growEdges(edge)
    const at = this.find(edge, rank)
    if (at >= 0) {
      this.pairs[2 * at + 1]!++
      return false
    }
    const bits = this.#bits[edge]!
    const count = ++this.count[edge]!
    if (bits === none) this.#resize(edge, 0)
    else if (4 * count > 3 << bits) this.#resize(edge, bits === 0 ? 2 : bits + 1)
    this.#place(edge, rank, 1, 1)
    return true
  }

  /** Forgets a holder by its entry. */
  remove(edge: number, entry: number): void {
    const bits = this.#bits[edge]!
    const start = this.start[edge]!
    const mask = (1 << bits) - 1
    const first = entry - start
    let hole = first
    for (let at = (hole + 1) & mask; at !== first; at = (at + 1) & mask) {
      const rank = this.pairs[2 * (start + at)]!
      if (rank < 0) break
      if (((at - (rank & mask)) & mask) < ((at - hole) & mask)) continue
      this.#move(start + at, start + hole)
      hole = at
    }
    this.pairs[2 * (start + hole)] = -1
    const count = --this.count[edge]!
    if (count === 0) this.#release(edge)
    else if (bits > 3 && 8 * count <= 1 << bits) this.#resize(edge, bits - 2)
  }

  /** Gives an edge without holders those of another. */
  copy(from: number, to: number): void {
    if (to >= this.count.length) this.#growEdges(to)
    const bits = this.#bits[from]!
    const target = this.#allocate(bits)
    const source = this.start[from]!
    for (let entry = 0; entry < 1 << bits; entry++) this.#move(source + entry, target + entry)
    this.start[to] = target
    this.#bits[to] = bits
    this.count[to] = this.count[from]!
  }

  #place(edge: number, rank: number, references: number, weight: number): void {
    const start = this.start[edge]!
    const mask = (1 << this.#bits[edge]!) - 1
    let at = rank & mask
    while (this.pairs[2 * (start + at)]! >= 0) at = (at + 1) & mask
    this.pairs[2 * (start + at)] = rank
    this.pairs[2 * (start + at) + 1] = references
    this.weights[start + at] = weight
  }

  #move(from: number, to: number): void {
    this.pairs[2 * to] = this.pairs[2 * from]!
    this.pairs[2 * to + 1] = this.pairs[2 * from + 1]!
    this.weights[to] = this.weights[from]!
  }

  #resize(edge: number, bits: number): void {
    const oldBits = this.#bits[edge]!
    const old = this.start[edge]!
    this.start[edge] = this.#allocate(bits)
    this.#bits[edge] = bits
    if (oldBits === none) return
    for (let entry = old; entry < old + (1 << oldBits); entry++) {
      const rank = this.pairs[2 * entry]!
      if (rank >= 0) this.#place(edge, rank, this.pairs[2 * entry + 1]!, this.weights[entry]!)
    }
    this.#free(old, oldBits)
  }

  #release(edge: number): void {
    this.#free(this.start[edge]!, this.#bits[edge]!)
    this.#bits[edge] = none
  }

  /** A table of empty entries. */
  #allocate(bits: number): number {
    const size = 1 << bits
    let start = this.#heads[bits]!
    if (start >= 0) {
      this.#heads[bits] = this.pairs[2 * start]!
    } else {
      start = this.#end
      this.#end += size
      if (this.#end > this.weights.length) {
        const capacity = capacityFor(this.#end, this.weights.length)
        this.weights = grownTo(this.weights, capacity)
        this.pairs = grownTo(this.pairs, 2 * capacity)
      }
    }
    for (let entry = start; entry < start + size; entry++) this.pairs[2 * entry] = -1
    return start
  }

  /** Free tables of a size are chained by their first word. */
  #free(start: number, bits: number): void {
    this.pairs[2 * start] = this.#heads[bits]!
    this.#heads[bits] = start
  }

  #growEdges(edge: number): void {
    const capacity = capacityFor(edge + 1, this.count.length)
    this.count = grownTo(this.count, capacity)
    this.start = grownTo(this.start, capacity)
    this.#bits = grownTo(this.#bits, capacity, none)
  }
}
