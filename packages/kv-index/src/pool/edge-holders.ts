import { RECORD_MASK, RECORD_SHIFT, type RecordChunks } from './record-chunks.js'

// Words of an edge: a run of blocks that continue one another, and who holds how much of it.

/** Edge that the first block continues; 0 = root. */
export const PARENT = 0
/** Position of the first block in the pool. */
export const START = 1
/** Blocks of the run. */
export const LENGTH = 2
/** Blocks reserved behind the run. */
export const SLACK = 3
/** A child that is found without the table; 0 = none. */
export const CHILD = 4
/** Children, all of them; those but `CHILD` stand in the table. */
export const CHILDREN = 5
/** (child, holder) pairs whose holder lacks a block of this edge: those children lie behind a hole. */
export const ORPHANS = 6
/** Entries of holders. */
export const LISTED = 7
/** Entries that hold at least one block. */
export const HELD = 8
/** Entries that hold every block. */
export const FULL = 9
/** Leading blocks that somebody holds; exactly these stand in the table of names. */
export const INDEXED = 10
/** The entry itself where there is one only; else where the list is, and how many entries it has room for. */
export const HOLDERS = 11
const ROOM = HOLDERS + 1
export const EDGE_WORDS = HOLDERS + 3

// Words of an entry.

/** How many leading blocks of the edge the holder has. 0 = none; the entry is kept while it has kids. */
export const CUT = 1
/** Children of the edge with a block that the holder has. */
export const KIDS = 2
export const ENTRY_WORDS = 3

/** The most blocks of one edge: bounds what a split costs. */
export const MAX_RUN = 1 << 12

/** The most holders of one edge. */
export const MAX_HOLDERS = 1 << 16

/** Entries of edges, ascending by holder, so that one is found by halving. */
export class EdgeHolders {
  /** Entries gathered by `gather`: holder, cut, kids. */
  scratch = new Int32Array(16 * ENTRY_WORDS)
  readonly #records: RecordChunks

  constructor(records: RecordChunks) {
    this.#records = records
  }

  /** Address of the first entry. */
  first(edge: number): number {
    const records = this.#records
    return records.get(edge + LISTED) === 1 ? edge + HOLDERS : records.get(edge + HOLDERS)
  }

  /** Address of a holder's entry, -1 when it has none. */
  find(edge: number, holder: number): number {
    const chunks = this.#records.chunks
    const words = chunks[edge >>> RECORD_SHIFT]!
    const base = edge & RECORD_MASK
    const count = words[base + LISTED]!
    if (count < 2) return count === 1 && words[base + HOLDERS] === holder ? edge + HOLDERS : -1
    const list = words[base + HOLDERS]!
    const at = lowerBound(chunks[list >>> RECORD_SHIFT]!, list & RECORD_MASK, count, holder)
    const entry = list + at * ENTRY_WORDS
    return at < count && this.#records.get(entry) === holder ? entry : -1
  }

  /** Adds an entry without blocks or kids for a holder that has none; its address. Moves other entries of the edge. */
  insert(edge: number, holder: number): number {
    const records = this.#records
    const count = records.get(edge + LISTED)
    if (count === 0) {
      this.#write(edge + HOLDERS, holder, 0, 0)
      records.set(edge + LISTED, 1)
      return edge + HOLDERS
    }
    if (count === 1) this.#toList(edge, this.gather(edge), 2)
    else if (count === records.get(edge + ROOM)) this.#resize(edge, count * 2)
    const list = records.get(edge + HOLDERS)
    const words = records.chunks[list >>> RECORD_SHIFT]!
    const base = list & RECORD_MASK
    const at = lowerBound(words, base, count, holder)
    const from = base + at * ENTRY_WORDS
    words.copyWithin(from + ENTRY_WORDS, from, base + count * ENTRY_WORDS)
    records.set(edge + LISTED, count + 1)
    const entry = list + at * ENTRY_WORDS
    this.#write(entry, holder, 0, 0)
    return entry
  }

  /** Drops an entry. Moves other entries of the edge. */
  remove(edge: number, entry: number): void {
    const records = this.#records
    const count = records.get(edge + LISTED) - 1
    records.set(edge + LISTED, count)
    if (count === 0) return
    const list = records.get(edge + HOLDERS)
    const words = records.chunks[list >>> RECORD_SHIFT]!
    const base = list & RECORD_MASK
    const at = entry - list + base
    words.copyWithin(at, at + ENTRY_WORDS, base + (count + 1) * ENTRY_WORDS)
    if (count === 1) {
      const room = records.get(edge + ROOM)
      this.#write(edge + HOLDERS, words[base]!, words[base + CUT]!, words[base + KIDS]!)
      records.release(list, room * ENTRY_WORDS)
    } else if (count * 4 <= records.get(edge + ROOM)) this.#resize(edge, count * 2)
  }

  /** Copies all entries of an edge to `scratch`; how many. */
  gather(edge: number): number {
    const count = this.#records.get(edge + LISTED)
    const length = count * ENTRY_WORDS
    if (this.scratch.length < length) this.scratch = new Int32Array(2 * length)
    const first = this.first(edge)
    const words = this.#records.chunks[first >>> RECORD_SHIFT]!
    const base = first & RECORD_MASK
    for (let at = 0; at < length; at++) this.scratch[at] = words[base + at]!
    return count
  }

  /** Forgets all entries. */
  clear(edge: number): void {
    const records = this.#records
    if (records.get(edge + LISTED) > 1)
      records.release(records.get(edge + HOLDERS), records.get(edge + ROOM) * ENTRY_WORDS)
    records.set(edge + LISTED, 0)
  }

  /** Makes the first `count` entries of `scratch` those of an edge that has none. */
  fill(edge: number, count: number): void {
    const records = this.#records
    records.set(edge + LISTED, count)
    if (count > 1) this.#toList(edge, count, 1 << (32 - Math.clz32(count - 1)))
    else if (count === 1)
      this.#write(edge + HOLDERS, this.scratch[0]!, this.scratch[CUT]!, this.scratch[KIDS]!)
  }

  #write(entry: number, holder: number, cut: number, kids: number): void {
    const words = this.#records.chunks[entry >>> RECORD_SHIFT]!
    const base = entry & RECORD_MASK
    words[base] = holder
    words[base + CUT] = cut
    words[base + KIDS] = kids
  }

  /** Writes entries of `scratch` as a list with this much room. */
  #toList(edge: number, count: number, room: number): void {
    const records = this.#records
    const list = records.allocate(room * ENTRY_WORDS)
    records.set(edge + LISTED, count)
    records.set(edge + HOLDERS, list)
    records.set(edge + ROOM, room)
    const words = records.chunks[list >>> RECORD_SHIFT]!
    const base = list & RECORD_MASK
    for (let at = 0; at < count * ENTRY_WORDS; at++) words[base + at] = this.scratch[at]!
  }

  #resize(edge: number, room: number): void {
    const count = this.gather(edge)
    this.clear(edge)
    this.#toList(edge, count, room)
  }
}

/** Index of the first entry whose holder is not below `holder`. */
function lowerBound(words: Int32Array, base: number, count: number, holder: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (words[base + middle * ENTRY_WORDS]! < holder) low = middle + 1
    else high = middle
  }
  return low
}
